"""A cause of a warning that has passed and comes back is reported a second time (WARN-2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat_mcp.arguments import TaskCreate, TaskUpdate
from tests.heartbeat.acts import HeartbeatBench
from tests.heartbeat.conftest import Desk, call, other_holder

pytestmark = pytest.mark.requirement("WARN-2")


def finish_a_task(bench: HeartbeatBench) -> None:
    task = bench.service.create_task(TaskCreate.model_validate({"raw_user_request": "x"}))
    bench.warnings.take()
    arguments = {"task_id": task.id, "updates": {"status": "Complete", "completed_at": "2020-01-01T00:00:00Z"}}
    bench.service.update_task(TaskUpdate.model_validate(arguments))


def test_an_archive_that_cannot_be_written_is_reported_each_time(tmp_path: Path) -> None:
    bench, archive = HeartbeatBench(tmp_path), tmp_path / "heartbeat_archive.jsonl"
    for _ in range(2):
        finish_a_task(bench)
        archive.mkdir()
        for _ in range(2):
            bench.service.clean()
        (warning,) = bench.warnings.take()
        assert warning.startswith("Finished tasks stay in the store: the archive cannot be written")
        archive.rmdir()
        bench.service.clean()
        assert bench.warnings.take() == []
        archive.unlink()


def test_a_clean_up_that_the_lock_prevents_is_reported_each_time(tmp_path: Path) -> None:
    bench = HeartbeatBench(tmp_path)
    bench.service.clean()
    for _ in range(2):
        with other_holder(tmp_path / "heartbeat_state.json.lock"):
            for _ in range(2):
                bench.service.clean()
            (warning,) = bench.warnings.take()
            assert warning.startswith("The store was locked")
        bench.service.clean()
        assert bench.warnings.take() == []


async def test_a_line_that_is_not_taken_in_is_reported_each_time(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    server = desk.server(task_lock_timeout="0.2")
    await call(server, "task_create", raw_user_request="x")
    for line in ("- buy milk\n", "- buy bread\n"):
        desk.heartbeat.write_text(desk.heartbeat.read_text("utf-8") + line, "utf-8")
        with desk.hold():
            pages = [await call(server, "task_list") for _ in range(2)]
        pages.append(await call(server, "task_list"))
        # The clean-up, which waits for the lock beside the calls, has warnings of its own.
        assert [sum("were not taken in" in text for text in page.get("warnings", ())) for page in pages] == [1, 0, 0]
