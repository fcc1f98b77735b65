"""Machines whose clocks are hours apart share one list: moments and ids follow the order of the commits (EN-16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.arguments import TaskCreate, TaskList, TaskUpdate
from heartbeat_mcp.codec import CODEC as HEARTBEAT
from heartbeat_mcp.passes import TaskFile
from heartbeat_mcp.service import HeartbeatService
from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.task_rules import TaskMaker
from task_core.models import Clock
from task_core.store import open_store
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import CreateTaskArguments, ListTasksArguments, UpdateTaskArguments
from tasks_v1_mcp.codec import CODEC as TASKS_V1
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.settings import TasksSettings
from tests.core.notes import in_background, open_folder
from tests.postgres import store_url, what_postgres_lacks

pytestmark = pytest.mark.requirement("EN-16")

ENGINES = ("sqlite", *(["postgresql"] if what_postgres_lacks() is None else []))
"""The databases: a document has only the clock of the machine that it is on."""

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

each_engine = pytest.mark.parametrize("engine", ENGINES)


class WrongClock:
    """A clock that may jump or stand still."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def place(engine: str, folder: Path) -> dict[str, object]:
    if engine == "postgresql":
        return {"task_store": store_url(), "task_tenant": str(folder)}
    return {"task_store": f"{engine}:{folder / 'store'}", "task_fsync": False}


class Person:
    """tasks-v1 on one machine."""

    def __init__(self, engine: str, folder: Path, clock: Clock) -> None:
        settings_ = TasksSettings.model_validate(place(engine, folder))
        self.store = open_store(settings_, TASKS_V1, WarningList(), clock=clock)
        self._service = TaskService(self.store, Random(7))

    def create(self) -> str:
        return self._service.create_task(CreateTaskArguments.model_validate({"title": "t"})).id

    def change(self, task_id: str, number: int) -> datetime:
        arguments = UpdateTaskArguments.model_validate({"id": task_id, "description": str(number)})
        return self._service.update_task(arguments).updated_at

    def created(self) -> list[tuple[str, datetime]]:
        """Return ids and moments of all tasks, in the order that clients see, the oldest first."""
        page = self._service.list_tasks(ListTasksArguments.model_validate({"limit": 100}))
        return [(task.id, task.created_at) for task in page.tasks][::-1]


class Agent:
    """heartbeat on one machine, without HEARTBEAT.md."""

    def __init__(self, engine: str, folder: Path, clock: Clock) -> None:
        settings_ = HeartbeatSettings.model_validate({**place(engine, folder), "heartbeat_file_path": None})
        self.store = open_store(settings_, HEARTBEAT, WarningList(), clock=clock)
        maker = TaskMaker(Archive(), clock, Random(7), lambda _field, _reference: None)
        self._service = HeartbeatService(TaskFile(self.store), maker, WarningList(), retention_days=7)

    def create(self) -> str:
        return self._service.create_task(TaskCreate.model_validate({"raw_user_request": "t"})).id

    def change(self, task_id: str, number: int) -> datetime:
        arguments = TaskUpdate.model_validate({"task_id": task_id, "updates": {"result": str(number)}})
        return self._service.update_task(arguments).updated_at

    def created(self) -> list[tuple[str, datetime]]:
        page = self._service.list_tasks(TaskList.model_validate({"limit": 100}))
        return [(task.id, task.created_at) for task in page.tasks]


Machine = Person | Agent

each_server = pytest.mark.parametrize("server", [Person, Agent], ids=["tasks-v1", "heartbeat"])

steps = st.lists(st.tuples(st.integers(0, 1), st.integers(-6 * 3600, 6 * 3600), st.booleans()), min_size=2, max_size=12)


@each_server
@each_engine
@settings(max_examples=4)
@given(steps)
def test_moments_and_ids_rise_with_the_changes_whatever_the_clocks_say(
    engine: str, server: Callable[[str, Path, Clock], Machine], history: list[tuple[int, int, bool]]
) -> None:
    with open_folder() as folder:
        clocks = [WrongClock(), WrongClock()]
        machines = [server(engine, folder, clock) for clock in clocks]
        made: list[str] = []
        moments: list[datetime] = []
        for number, (who, seconds, creates) in enumerate(history):
            clocks[who].now += timedelta(seconds=seconds)
            if creates or not made:
                made.append(machines[who].create())
                moments.append(dict(machines[1 - who].created())[made[-1]])
            else:
                moments.append(machines[who].change(made[number % len(made)], number))
            assert moments[-1] >= clocks[who].now
        for machine in machines:
            assert [task_id for task_id, _ in machine.created()] == made
            machine.store.close()
        assert strictly_rise(moments)
        assert server is Agent or strictly_rise(made)


@each_server
@each_engine
def test_moments_follow_the_order_of_commits_when_machines_write_at_once(
    tmp_path: Path, engine: str, server: Callable[[str, Path, Clock], Machine]
) -> None:
    ahead = NOON + timedelta(hours=5)
    machines = [server(engine, tmp_path, clock) for clock in (lambda: NOON, lambda: ahead, lambda: NOON)]
    store = machines[0].store
    token = store.changes(None, 1).token

    def work(machine: Machine) -> None:
        for _ in range(5):
            machine.create()

    with in_background() as start:
        start(*(lambda machine=machine: work(machine) for machine in machines * 2))
    changed = [name for name, _ in store.changes(token, 100).records]  # in the order of commits
    created = machines[1].created()
    assert len(changed) == 30
    assert [task_id for task_id, _ in created] == changed
    assert strictly_rise([moment for _, moment in created])


def strictly_rise(values: Sequence[str] | Sequence[datetime]) -> bool:
    return sorted({*values}) == [*values]
