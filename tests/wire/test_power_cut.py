"""A power cut may take the last names of HEARTBEAT.md back: its folder is seldom synced; the store stays (HB-13)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tests.wire.kills import attached, tracing_problem
from tests.wire.line_client import LineClient

TEXT = "# Me\n\nnotes\n\n## TODO\n\n- water the plants\n- [x] pay the rent\n\n## Later\n\nmore\n"


def serve(path: Path) -> LineClient:
    command = (sys.executable, "-m", "heartbeat_mcp")
    return LineClient(command=command, environment={"HEARTBEAT_FILE_PATH": str(path)})


def called(client: LineClient, tool: str, **arguments: JsonValue) -> dict[str, Any]:
    result = client.call(tool, **arguments)
    assert not result["isError"]
    content: dict[str, Any] = result["structuredContent"]
    return content


def stored(client: LineClient) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = called(client, "task_list", include_completed=True)["tasks"]
    return tasks


@pytest.mark.requirement("HB-12", "HB-13")
@pytest.mark.parametrize("cut", [0, 2], ids=["taken in", "with changes"])
def test_a_section_that_is_a_moment_old_is_brought_in_step_at_the_next_start(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text(TEXT)
    former = [tmp_path / str(number) for number in range(3)]
    with serve(path) as client:
        called(client, "task_list")
        shutil.copy2(path, former[0])
        one = called(client, "task_create", raw_user_request="one")
        two = called(client, "task_create", raw_user_request="two", ideas=["x"])
        shutil.copy2(path, former[1])
        called(client, "task_update", task_id=one["id"], updates={"status": "Running"})
        called(client, "task_update", task_id=two["id"], updates={"status": "Complete", "result": "yes"})
        shutil.copy2(path, former[2])
        called(client, "task_create", raw_user_request="three")
        before, newest = stored(client), path.read_bytes()
        client.process.kill()
        client.process.wait()
    assert [task["raw_user_request"] for task in before] == ["water the plants", "pay the rent", "one", "two", "three"]
    shutil.copy2(former[cut], path)
    assert path.read_bytes() != newest
    with serve(path) as client:
        assert stored(client) == before
        assert path.read_bytes() == newest


@pytest.mark.requirement("HB-12", "HB-13", "D1")
def test_a_line_that_became_a_task_does_not_come_back_by_a_power_cut(tmp_path: Path) -> None:
    if problem := tracing_problem():
        pytest.skip(problem)
    path, trace = tmp_path / "HEARTBEAT.md", tmp_path / "trace"
    path.write_text(TEXT)
    with serve(path) as client:
        called(client, "task_list")
        with attached(client.process.pid, "-f", "-y", "-e", "trace=rename,renameat,renameat2,fsync", output=trace):
            path.write_text(path.read_text().replace("\n## Later", "- buy milk\n\n## Later"))
            assert "buy milk" in [task["raw_user_request"] for task in stored(client)]
            called(client, "task_create", raw_user_request="another")
    calls = trace.read_text("utf-8").splitlines()
    names = [number for number, call in enumerate(calls) if "rename" in call and "HEARTBEAT.md" in call]
    synced = ["fsync(" in call and f"<{tmp_path}>" in call for call in calls]
    assert len(names) == 2
    # The first replacement takes the line away and is lasting at once; the second one only adds an entry.
    assert any(synced[names[0] : names[0] + 3])
    assert not any(synced[names[1] : names[1] + 3])
