"""People, editors, git and two servers, which are killed, work on one store and one HEARTBEAT.md (HB-12, HB-18)."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from typing_extensions import override

from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.mirror.document import read_document
from heartbeat_mcp.mirror.entries import render_entry
from heartbeat_mcp.mirror.section import Part
from heartbeat_mcp.models import HeartbeatStatus
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.errors import InvalidArguments, TaskError
from task_core.models import utc_now
from tests.core.faults import EFFECTS, Fault, watched
from tests.heartbeat.parts import Parts, parts_of
from tests.heartbeat.shared_file import EDITS, SharedFile, conflict_of, resolved

WAYS = st.sampled_from([SharedFile.save, SharedFile.save, SharedFile.save_in_place])

INDEXES = st.integers(0, 9)
"""Which of some things: how many there are may differ when the same rules run again, as locks wait by chance."""

SERVERS = st.sampled_from([0, 1])

Tasks = dict[str, dict[str, set[str | None]]]


def is_free(machine: SharedLives) -> bool:
    """Whether nobody is saving the file just now."""
    return machine.file.writer is None


def is_whole(machine: SharedLives) -> bool:
    return is_free(machine) and not machine.file.is_in_conflict


class SharedLives(RuleBasedStateMachine):
    """Each rule is something that somebody does to the files."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.offset = timedelta()
        self.tasks: Tasks = {}
        """What each task may hold in its fields: what was acknowledged, and what a killed server may have stored."""

    @initialize()
    def start(self) -> None:
        self.file = SharedFile(self.folder)
        self.servers = [self.server(), self.server()]

    @override
    def teardown(self) -> None:
        try:
            self.file.finish()
            self.file.check()
            if self.file.is_in_conflict:
                self.file.save(resolved(self.file.text, "both").encode())
            self.come_to_rest()
        finally:
            shutil.rmtree(self.folder)

    def clock(self) -> datetime:
        return utc_now() + self.offset

    def server(self) -> Parts:
        """Return a server as a new process would start it; only a call of the machine lets it look at the file."""
        values = {"heartbeat_file_path": self.folder / "HEARTBEAT.md", "task_fsync": False}
        parts = parts_of(HeartbeatSettings.model_validate(values), self.clock)
        parts.file.close()
        return parts

    # What agents do

    def create(self, server: Parts, request: str) -> None:
        task = server.service.create_task(TaskCreate.model_validate({"raw_user_request": request}))
        self.tasks[task.id] = {"raw_user_request": {task.raw_user_request}}

    def update(self, server: Parts, task_id: str, result: str, status: HeartbeatStatus) -> None:
        known = self.tasks[task_id].setdefault("result", {None})
        known.add(result)
        arguments = {"task_id": task_id, "updates": {"result": result, "status": status.value}}
        server.service.update_task(TaskUpdate.model_validate(arguments))
        known.intersection_update({result})

    def work(self, data: st.DataObject) -> Callable[[Parts], None]:
        """Return what an agent lets a server do."""
        word = self.file.word().replace("word", "agent")
        stored = [task_id for task_id in self.tasks if f'"{task_id}"' in self.store]
        what = data.draw(st.sampled_from(["create", "list", "clean", "update", "update"]))
        status, index = data.draw(st.sampled_from(HeartbeatStatus)), data.draw(INDEXES)
        if what == "update" and stored:
            return lambda server: self.update(server, stored[index % len(stored)], f"result {word}", status)
        if what == "clean":
            return lambda server: server.service.clean()
        return self.look if what == "list" else lambda server: self.create(server, f"create {word}")

    @property
    def store(self) -> str:
        path = self.folder / "heartbeat_state.json"
        return path.read_text("utf-8") if path.exists() else ""

    @staticmethod
    def look(server: Parts) -> None:
        server.service.list_tasks(TaskList(include_archived=True))

    @rule(data=st.data(), number=SERVERS)
    def call(self, data: st.DataObject, number: int) -> None:
        with suppress(InvalidArguments):  # the task has just been archived
            self.work(data)(self.servers[number])

    @rule(data=st.data(), number=SERVERS, at=st.integers(1, 40))
    def kill(self, data: st.DataObject, number: int, at: int) -> None:
        """Let none of the server's calls to the system have an effect from number ``at`` on, and start another."""
        work = self.work(data)
        with watched(Fault(at, errno.EIO, for_good=True), EFFECTS - {"flock"}), suppress(TaskError):
            work(self.servers[number])
        self.servers[number] = self.server()

    @rule(number=SERVERS)
    def restart(self, number: int) -> None:
        self.servers[number] = self.server()
        self.servers[number].service.clean()

    @rule(wait=st.sampled_from([timedelta(seconds=20), timedelta(seconds=31), timedelta(days=8)]))
    def wait(self, wait: timedelta) -> None:
        self.offset += wait

    # What people, editors and git do

    def draft(self, data: st.DataObject) -> bytes:
        """Return what a person makes of the file, or of what their editor has read of it long ago."""
        text = self.version(data.draw(INDEXES), self.file.data, self.file.data).decode()
        for edit in data.draw(st.lists(st.sampled_from(list(EDITS)), min_size=1, max_size=3)):
            text = EDITS[edit](text, self.file.word())
        return text.encode()

    def version(self, index: int, *others: bytes) -> bytes:
        """Return one of the ``others``, or of what was committed."""
        found = [*others, *self.file.versions]
        return found[index % len(found)]

    @precondition(is_whole)
    @rule(data=st.data(), way=WAYS)
    def edit(self, data: st.DataObject, way: Callable[[SharedFile, bytes], None]) -> None:
        way(self.file, self.draft(data))

    @precondition(is_whole)
    @rule(data=st.data())
    def edit_slowly(self, data: st.DataObject) -> None:
        draft = self.draft(data)
        self.file.save_slowly(draft, len(draft) * data.draw(st.sampled_from([0, 1, 2])) // 2)

    @precondition(is_whole)
    @rule(form=st.sampled_from(["- {}\n", "\nsee {}\n", "## TODO\n- {}\n"]), half=st.sampled_from([0, 6]))
    def append_slowly(self, form: str, half: int) -> None:
        self.file.append_slowly(form.replace("{}", self.file.word()).encode(), half)

    @rule()
    def finish(self) -> None:
        self.file.finish()

    @precondition(is_whole)
    @rule()
    def commit(self) -> None:
        self.file.versions.append(self.file.data)

    @precondition(is_whole)
    @rule(index=INDEXES)
    def check_out(self, index: int) -> None:
        self.file.check_out(self.version(index))

    @precondition(is_whole)
    @rule(index=INDEXES)
    def merge(self, index: int) -> None:
        self.file.check_out(conflict_of(self.file.text, self.version(index).decode()).encode())

    @precondition(lambda self: is_free(self) and self.file.is_in_conflict)
    @rule(side=st.sampled_from(["ours", "theirs", "both"]), way=WAYS)
    def resolve(self, side: str, way: Callable[[SharedFile, bytes], None]) -> None:
        way(self.file, resolved(self.file.text, side).encode())

    # What must be true

    @invariant()
    def nothing_is_lost(self) -> None:
        self.file.check()
        found = self.file.tasks()
        for task_id, fields in self.tasks.items():
            assert [name for name, known in fields.items() if found[task_id][name] not in known] == []

    @precondition(is_whole)
    @rule()
    def come_to_rest(self) -> None:
        """Let all servers look, and once more when half a minute has passed: now the section shows the tasks."""
        for _ in range(2):
            for server in self.servers:
                self.look(server)
            self.offset += timedelta(seconds=31)
        self.nothing_is_lost()
        units = read_document(self.file.data, "TODO").units
        active = self.servers[0].service.list_tasks(TaskList()).tasks
        assert [unit.text for unit in units if unit.part is Part.ENTRY] == [render_entry(task) for task in active]
        assert [unit.text for unit in units if unit.part is Part.BULLET] == []


def live(count: int) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        SharedLives, settings=settings(max_examples=count, stateful_step_count=20, suppress_health_check=slow)
    )


@pytest.mark.requirement("HB-9", "HB-12", "HB-17", "HB-18", "D2", "ST-2", "H1", "H3")
def test_whoever_writes_the_file_loses_nothing_to_the_servers() -> None:
    live(6)


@pytest.mark.by_hand
def test_whoever_writes_the_file_many_times_loses_nothing_to_the_servers() -> None:
    live(int(os.environ.get("TEST_LIVES", "20")))
