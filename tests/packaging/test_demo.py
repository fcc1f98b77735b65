"""The demo runs as a newcomer runs it, and touches nothing of theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.projects import ROOT

DEMO = ROOT / "examples" / "demo.py"


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEMO), *options], capture_output=True, check=False, encoding="utf-8", timeout=60
    )


@pytest.mark.parametrize("own", [False, True], ids=["sample", "own file"])
def test_the_demo_shows_a_session_and_leaves_the_file_as_it_was(own: bool, tmp_path: Path) -> None:
    file = tmp_path / "MY-HEARTBEAT.md" if own else ROOT / "examples" / "HEARTBEAT.md"
    if own:
        file.write_text("# Mine\n\n## TODO\n- feed the cat\n", "utf-8")
    before = file.read_bytes()
    done = demo("--file", str(file)) if own else demo()
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == ([file] if own else [])
    errand = "feed the cat" if own else "牛乳を買う"
    steps = ["task_create", "task_update", "append_ideas", "Complete", "task_list", errand]
    assert [step for step in steps if step not in done.stdout] == []


@pytest.mark.parametrize(
    ("part", "steps"),
    [
        ("hierarchy", ["createTask", "ExecutionOrder", "Parent Task", "66%", "All tasks are done."]),
        ("tasks-v1", ["create_task", "研究航天产业的成本结构", "space_industry", "InvalidTransition", "canceled"]),
    ],
)
def test_each_part_of_the_demo_works_alone(part: str, steps: list[str]) -> None:
    done = demo("--part", part)
    assert done.returncode == 0, done.stderr
    assert [step for step in steps if step not in done.stdout] == []


def test_the_demo_says_when_there_is_no_such_file(tmp_path: Path) -> None:
    done = demo("--file", str(tmp_path / "none.md"))
    assert done.returncode == 2
    assert "the file does not exist" in done.stderr
