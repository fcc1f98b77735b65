"""How often a call asks PostgreSQL, and for how much: what a network of some milliseconds multiplies (EN-10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest
from pydantic import JsonValue

from hierarchy_mcp.arguments import CompleteTask, CreateTask, StartTask
from hierarchy_mcp.codec import CODEC as HIERARCHY
from hierarchy_mcp.service import HierarchyService
from hierarchy_mcp.settings import HierarchySettings
from task_core.store import open_store
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import CreateTaskArguments, ListTasksArguments, UpdateTaskArguments
from tasks_v1_mcp.codec import CODEC as TASKS_V1
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.settings import TasksSettings
from tests.hosted.postgres_proxy import Moment, Proxy, open_proxy
from tests.postgres import needs_postgres, shared_server, store_url

pytestmark = [needs_postgres, pytest.mark.requirement("EN-10")]


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    store_url()
    with open_proxy(shared_server().sockets) as opened:
        yield opened


class Cost(NamedTuple):
    """What a call costs: how often it waits for the server, and what the server carries out."""

    exchanges: int
    statements: int


class Desk:
    """Two servers over one database, which have answered calls before."""

    def __init__(self, url: str, tenant: str) -> None:
        values = {"task_store": url, "task_tenant": tenant}
        person, trees = TasksSettings.model_validate(values), HierarchySettings.model_validate(values)
        self._stores = open_store(person, TASKS_V1, WarningList()), open_store(trees, HIERARCHY, WarningList())
        self.person = TaskService(self._stores[0], Random(7))
        self.trees = HierarchyService(self._stores[1], strict_roots=False, rng=Random(7))
        for number in range(30):
            self.task = self.person.create_task(CreateTaskArguments.model_validate({"title": f"t{number}"})).id
        self.nest("root", 8)
        self.nest("other", 8)

    def nest(self, name: str, levels: int) -> None:
        """Create a tree this deep, with two leaves ``NAME.a`` and ``NAME.b`` at its end."""
        tree: JsonValue = {"name": name, "id": name, "tasks": [{"name": leaf, "id": f"{name}.{leaf}"} for leaf in "ab"]}
        for level in range(levels - 2):
            tree = {"name": f"{name} {level}", "id": f"{name}-{level}", "tasks": [tree]}
        self.trees.create_task(CreateTask.model_validate(tree))

    def close(self) -> None:
        """Let go of all connections."""
        for store in self._stores:
            store.close()


def create(desk: Desk) -> object:
    return desk.person.create_task(CreateTaskArguments.model_validate({"title": "x"}))


def get(desk: Desk) -> object:
    return desk.person.get_task(desk.task)


def list_page(desk: Desk) -> object:
    return desk.person.list_tasks(ListTasksArguments.model_validate({"limit": 10}))


def replace(desk: Desk) -> object:
    return desk.person.update_task(UpdateTaskArguments.model_validate({"id": desk.task, "title": "y"}))


def start(desk: Desk) -> object:
    return desk.trees.start_task(StartTask(id="root.a"))


def complete(desk: Desk) -> object:
    return desk.trees.complete_task(CompleteTask(id="root.a", resolution="done"))


def insert(desk: Desk) -> object:
    return desk.trees.create_task(CreateTask.model_validate({"name": "x", "parentId": "root", "insertIndex": 1}))


def get_tree(desk: Desk) -> object:
    return desk.trees.get_task("root")


CALLS: Final[Mapping[Callable[[Desk], object], Cost]] = {
    create: Cost(3, 12),
    get: Cost(3, 5),
    list_page: Cost(4, 6),
    replace: Cost(3, 11),
    start: Cost(30, 91),
    complete: Cost(43, 106),
    insert: Cost(17, 28),
    get_tree: Cost(6, 8),
}
"""Calls in an order in which each works, and what each may cost at most; the tree has eight levels."""


def test_what_calls_cost_is_counted_and_does_not_grow(proxy: Proxy, tmp_path: Path) -> None:
    desk = Desk(proxy.url(store_url()), str(tmp_path))
    found: dict[str, Cost] = {}
    for call, cost in CALLS.items():
        proxy.forget()
        call(desk)
        purges = sum("DELETE FROM commits" in statement for statement in proxy.statements)  # now and then, by chance
        counted = Cost(proxy.exchanges, len(proxy.statements) - purges)
        if counted.exchanges > cost.exchanges or counted.statements > cost.statements:
            found[call.__name__] = counted
        assert counted.exchanges > 1
    desk.close()
    assert found == {}


def test_statements_stay_prepared_from_call_to_call(proxy: Proxy, tmp_path: Path) -> None:
    desk = Desk(proxy.url(store_url()), str(tmp_path))
    kinds: list[str] = []
    for _ in range(16):
        get(desk)
        create(desk)
    proxy.plan = lambda step: kinds.append(step.kind) if step.moment is Moment.BEFORE else None
    get(desk)
    list_page(desk)
    desk.close()
    assert "E" in kinds
    assert kinds.count("P") == 2  # the statements of a page, which was not asked for before
