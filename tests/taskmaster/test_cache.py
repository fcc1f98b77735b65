"""Answers that are kept while nothing changes, and work that goes on behind an answer (TM-75 to TM-79)."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp.client import Client
from pydantic import JsonValue

from task_core.models import utc_now
from task_core.warning_list import WarningList
from taskmaster_mcp.direct.changing import set_task_status_direct
from taskmaster_mcp.direct.operations import Operations, Progress
from taskmaster_mcp.direct.reading import get_task_direct
from taskmaster_mcp.direct.registry import Cache, ProjectRegistry, Target
from taskmaster_mcp.errors import Refused
from taskmaster_mcp.project.lock import locate_foreign_lock
from taskmaster_mcp.settings import TaskmasterSettings
from tests.taskmaster.conftest import NOW, Object, ServedProject, item, tag


@pytest.mark.requirement("TM-75")
def test_no_answer_is_older_than_an_acknowledged_change_while_others_read(project: ServedProject) -> None:
    project.write({"master": tag(*(item(number, details="x" * 200) for number in range(1, 30)))})
    registry = ProjectRegistry(TaskmasterSettings(task_master_project_root=str(project.root)), WarningList(), utc_now)
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            get_task_direct(Target(registry), ids=["1"])

    with ThreadPoolExecutor(2) as threads:
        try:
            readers = [threads.submit(read) for _ in range(2)]
            for number in range(12):
                word = ("pending", "review")[number % 2 == 0]
                assert set_task_status_direct(Target(registry), ids=["1"], status=word).error is None
                assert get_task_direct(Target(registry), ids=["1"]).data["status"] == word
        finally:
            is_over.set()
        assert [reader.result() for reader in readers] == [None, None]


@pytest.mark.requirement("TM-75", "TM-76", "TM-77")
async def test_an_answer_comes_from_the_cache_until_a_file_changes(project: ServedProject) -> None:
    calls: list[tuple[str, Object]] = [
        *(("get_tasks", {}), ("get_task", {"id": "2"}), ("next_task", {}), ("list_tags", {})),
        ("validate_dependencies", {}),
    ]
    for tool, arguments in calls:
        first, second = await project.answer(tool, **arguments), await project.answer(tool, **arguments)
        assert (first["fromCache"], second["fromCache"]) == (False, True)
        assert first["data"] == second["data"]
    other = project.another()
    async with Client(other.sdk) as client:
        await client.call_tool("add_task", {"title": "elsewhere"})
    fresh = await project.answer("get_tasks")
    assert (fresh["fromCache"], fresh["data"]["total"]) == (False, 4)
    project.put(
        ".taskmaster/reports/task-complexity-report.json", {"complexityAnalysis": [{"taskId": 1, "complexityScore": 5}]}
    )
    assert (await project.answer("get_tasks"))["data"]["tasks"][0]["complexityScore"] == 5
    stats = await project.call("cache_stats")
    assert stats == {"hits": 5, "misses": 7, "invalidations": 2, "size": 5, "maxSize": 200, "ttl": None}


@pytest.mark.requirement("TM-75", "TM-76")
def test_the_cache_keeps_what_was_used_last_and_nothing_of_an_unsure_state() -> None:
    cache = Cache()
    states = iter(range(10))
    assert cache.get_cached_or_execute("x", lambda: next(states), dict) == ({}, False)
    assert cache.statistics()["size"] == 0
    for number in range(201):
        cache.get_cached_or_execute(number, lambda: 1, dict)
    assert cache.get_cached_or_execute(0, lambda: 1, dict)[1] is False
    assert cache.get_cached_or_execute(200, lambda: 1, dict)[1] is True
    assert cache.statistics()["size"] == 200
    for number in range(3):
        cache.get_cached_or_execute(f"large {number}", lambda: 1, lambda: {"text": "x" * 7_000_000})
    assert cache.statistics()["size"] == 2


@pytest.mark.requirement("TM-75", "TM-76", "TM-77")
def test_a_slow_answer_of_an_older_state_does_not_replace_that_of_another_thread() -> None:
    cache, state = Cache(), [0]
    has_read, has_changed = threading.Event(), threading.Event()

    def read_slowly() -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {"state": state[0]}
        has_read.set()
        assert has_changed.wait(60)
        return found

    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(cache.get_cached_or_execute, "key", lambda: state[0], read_slowly)
        assert has_read.wait(60)
        state[0] = 1
        assert cache.get_cached_or_execute("key", lambda: state[0], lambda: {"state": 1}) == ({"state": 1}, False)
        has_changed.set()
        assert slow.result() == ({"state": 0}, False)
    assert cache.get_cached_or_execute("key", lambda: state[0], dict) == ({"state": 1}, True)
    counts = cache.statistics()
    assert (counts["hits"], counts["misses"], counts["invalidations"], counts["size"]) == (1, 2, 0, 1)


@pytest.mark.requirement("TM-79")
def test_the_last_hundred_operations_are_known() -> None:
    others = Operations(lambda: NOW)
    first = str(others.start(lambda _: ("done", None))["operationId"])
    while not others.status(first)["endTime"]:
        pass
    for _ in range(101):
        last = str(others.start(lambda _: (None, "failed"))["operationId"])
        while not others.status(last)["endTime"]:
            pass
    with pytest.raises(Refused, match="No operation has the id"):
        others.status(first)
    others.close()


@pytest.mark.requirement("TM-79")
def test_a_hundred_operations_may_wait_and_one_more_is_refused_until_one_has_ended() -> None:
    operations, may_end = Operations(lambda: NOW), threading.Event()

    def work(_: Progress) -> tuple[str, None]:
        assert may_end.wait(60)
        return "done", None

    first, *_ = [str(operations.start(work)["operationId"]) for _ in range(100)]
    with pytest.raises(Refused, match="100 operations have not ended yet"):
        operations.start(work)
    may_end.set()
    while not operations.status(first)["endTime"]:
        pass
    assert operations.start(work)["status"] == "ACCEPTED"
    operations.close()


@pytest.mark.requirement("TM-79")
def test_the_end_of_the_process_waits_for_a_save_and_stops_what_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskmaster_mcp.direct.operations._SAVE_SECONDS", 60)
    operations = Operations(lambda: NOW)
    is_begun, may_end = threading.Event(), threading.Event()

    def save(_: Progress) -> tuple[str, None]:
        is_begun.set()
        assert may_end.wait(60)
        return "saved", None

    def write_files(report: Progress) -> tuple[str, None]:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            report(1, 2)
        return "too long", None

    saving = str(operations.start(save)["operationId"])
    assert is_begun.wait(60)
    writing = str(operations.start(write_files)["operationId"])
    threading.Timer(0.05, may_end.set).start()
    operations.close()
    assert operations.status(saving)["result"] == "saved"
    assert operations.status(writing)["result"] is None


@pytest.mark.requirement("TM-2", "TM-10", "TM-79")
async def test_a_fault_in_the_background_has_a_code_and_a_trace(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Path) -> bool:
        raise ZeroDivisionError("secret")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", fail)
        accepted = await project.call("generate", background=True, format="md")
        end = time.monotonic() + 60
        while (found := await project.call("get_operation_status", operationId=accepted["operationId"]))[
            "endTime"
        ] is None:
            assert time.monotonic() < end
    assert (found["status"], found["error"]["code"]) == ("failed", "UNEXPECTED_ERROR")
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in json.dumps(found)


@pytest.mark.requirement("TM-28", "TM-83")
async def test_files_are_generated_without_the_locks_of_the_tasks(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.replace
    seen: list[bool] = []

    def look(source: str, target: str) -> None:
        seen.append(locate_foreign_lock(project.path).exists())
        rename(source, target)

    monkeypatch.setattr(os, "replace", look)
    assert (await project.call("generate"))["written"] == 3
    assert seen == [False] * 3
