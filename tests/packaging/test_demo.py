"""The demo runs as a newcomer runs it, and touches nothing of theirs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from tests.packaging.projects import ROOT

pytestmark = pytest.mark.long  # `.ci/run check` runs the demo itself

DEMO = ROOT / "examples" / "demo.py"


def demo(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEMO), *options],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=600,
    )


def words_in(picture: Path) -> list[str]:
    """Return what a picture says: how it is drawn may differ between versions of rich."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text("utf-8"))
    return unescape(" ".join(texts)).split()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the whole demo shows; it leaves nothing behind but the marks of the settings that it used."""
    home, temporary = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("temporary")
    sample = (ROOT / "examples" / "HEARTBEAT.md").read_bytes()
    done = demo(COLUMNS="80", HOME=str(home), TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr == ""
    assert (ROOT / "examples" / "HEARTBEAT.md").read_bytes() == sample
    marks = home / ".cache" / "mcp-task-core"
    left = [path for path in (*home.rglob("*"), *temporary.rglob("*")) if path.is_file() and marks not in path.parents]
    assert left == []
    return done.stdout


def test_the_whole_demo_is_short_and_ends_with_what_to_type_next(whole: str) -> None:
    lines = whole.splitlines()
    assert len(lines) < 80
    assert max(len(line) for line in lines if "packages/" not in line) <= 80  # a command is not broken
    end = lines[next(number for number, line in enumerate(lines) if line.startswith("your turn")) :]
    assert [line.strip() for line in end if "heartbeat-mcp" in line] == [
        "uv tool install ./packages/heartbeat-mcp",
        "heartbeat-mcp install",
    ]


def test_the_demo_has_a_part_for_each_server(whole: str) -> None:
    parts = {
        "heartbeat": ["task_create", "task_update", "append_ideas", "Complete", "task_list", "牛乳を買う"],
        "hierarchy": ["createTask", "ExecutionOrder", "Parent Task", "66%", "All tasks are done."],
        "tasks-v1": ["create_task", "研究航天产业的成本结构", "space_industry", "InvalidTransition", "canceled"],
        "an account": ["[1/6]", "Added user 1.", "cortex-backend serves on", "Logged in to", "Created task #1."],
        "cortex": ["bug/task-1-fix-the-login", "submit_pr", "REVIEW", "NotMerged", "[6/6]", "DONE", "Merge the fix"],
    }
    shown = " ".join(whole.split())
    assert [step for steps in parts.values() for step in steps if step not in shown] == []


def test_the_picture_of_the_demo_is_what_it_shows_and_loads_nothing(tmp_path: Path) -> None:
    committed, new = ROOT / "docs" / "demo.svg", tmp_path / "demo.svg"
    done = demo("--part", "heartbeat", "--svg", str(new), COLUMNS="200", TERM="dumb")
    assert done.returncode == 0, done.stderr
    assert words_in(new) == words_in(committed), "run `python3 hatchw run demo-picture`"
    assert {"heartbeat-mcp:", "task_create", "牛乳を買う", "→", "Complete"} <= {*words_in(new)}
    text = committed.read_text("utf-8")
    assert set(re.findall(r"https?://[^\s\"')]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<script|<image|@import|@font-face|url\((?!#)", text)


def test_what_differs_in_each_run_is_not_recorded(tmp_path: Path) -> None:
    done = demo("--part", "cortex", "--svg", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stderr
    assert "cortex" not in done.stdout


def test_the_demo_shows_a_session_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "MY-HEARTBEAT.md"
    file.write_text("# Mine\n\n## TODO\n- feed the cat\n", "utf-8")
    before = file.read_bytes()
    done = demo("--file", str(file))
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
    steps = ["task_create", "task_update", "append_ideas", "Complete", "task_list", "feed the cat"]
    assert [step for step in steps if step not in done.stdout] == []


def test_the_demo_says_when_there_is_no_such_file(tmp_path: Path) -> None:
    done = demo("--file", str(tmp_path / "none.md"))
    assert done.returncode == 2
    assert "the file does not exist" in done.stderr
