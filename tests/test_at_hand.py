"""When a task can be looked up at once: nothing has to be waited for, and no document read (SPEED-1, D7)."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.arguments import TaskCreate as ToDo
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.passes import TaskFile
from heartbeat_mcp.service import HeartbeatService
from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.task_rules import TaskMaker
from task_core.models import utc_now
from task_core.store import MemoryDatabase, Store
from task_core.store import open_store as open_tasks
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, add, in_background, open_store
from tests.heartbeat.life import Life


def touch(path: Path) -> None:
    """Give a file another identity, as whoever writes it does."""
    os.utime(path, (1, 1))


@pytest.mark.requirement("SPEED-1", "D7", "EN-6")
def test_a_document_is_at_hand_until_another_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    store = open_store(path)
    assert not store.can_answer_now()
    add(store, "walls")
    assert store.can_answer_now()
    touch(path)
    assert not store.can_answer_now()
    with store.read() as notes:
        assert len(notes) == 1
    assert store.can_answer_now()
    path.unlink()
    assert not store.can_answer_now()


@pytest.mark.requirement("SPEED-1", "L1")
def test_nothing_is_at_hand_where_the_document_cannot_be_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    store = open_store(folder / "notes.json")
    add(store, "walls")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_bytes(b"")  # what is below a file cannot be asked for
    assert not store.can_answer_now()


@pytest.mark.requirement("SPEED-1", "TOOL-7")
def test_rows_are_always_at_hand_even_while_another_writes(tmp_path: Path) -> None:
    for store in (Store(MemoryDatabase(), NOTES), open_store(tmp_path / "notes.db")):
        add(store, "walls")
        with store.transaction() as notes, in_background() as start:
            notes.get("walls")
            assert store.can_answer_now()

            def look(store: Store[Note] = store) -> None:
                with store.read() as seen:
                    assert "walls" in seen

            for thread in start(look):
                thread.join()


@pytest.mark.requirement("SPEED-1", "D7")
def test_a_to_do_is_at_hand_until_another_writes_the_store_or_the_section(tmp_path: Path) -> None:
    life = Life(tmp_path)
    task = life.service.create_task(ToDo.model_validate({"raw_user_request": "a"}))
    for path in (life.state, life.path):
        assert life.service.can_answer_now()
        touch(path)
        assert not life.service.can_answer_now()
        assert life.service.get_task(task.id) == task
    assert life.service.can_answer_now()


@pytest.mark.requirement("TOOL-7", "HB-19")
def test_a_to_do_is_not_at_hand_while_the_section_must_follow_the_store(tmp_path: Path) -> None:
    life = Life(tmp_path)
    task = life.service.create_task(ToDo.model_validate({"raw_user_request": "cat"}))
    life.state.write_text(life.state.read_text().replace("cat", "dog"))
    with life.parts.store.read() as seen:  # as a watcher does it
        assert task.id in seen
    assert not life.service.can_answer_now()
    assert life.service.get_task(task.id).raw_user_request == "dog"
    assert life.service.can_answer_now()


@pytest.mark.requirement("SPEED-1", "HB-8")
def test_a_to_do_of_a_server_without_a_section_is_at_hand_once_it_is_cleaned(tmp_path: Path) -> None:
    warnings = WarningList()
    store = open_tasks(HeartbeatSettings(task_store=f"sqlite:{tmp_path}/tasks.db"), CODEC, warnings)
    maker = TaskMaker(Archive(), utc_now, Random(7), lambda _field, _value: None)
    service = HeartbeatService(TaskFile(store), maker, warnings, retention_days=7)
    assert not service.can_answer_now()
    service.clean()
    assert service.can_answer_now()
