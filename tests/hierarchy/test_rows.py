"""A tree is rows: what a call costs, counted as steps of the database, and where rows are put (EN-4, EN-7, EN-10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hierarchy_mcp.arguments import CompleteTask, CreateTask, ListTasks, StartTask, UpdateTask
from hierarchy_mcp.models import KIND, HierarchyStatus, HierarchyTask
from hierarchy_mcp.service import HierarchyService
from task_core.files import Wait
from task_core.store import ROOTS, MemoryDatabase, Selection, Store
from task_core.store.database import Connection, Database
from task_core.store.sqlite import SqliteDatabase

Entry = tuple[HierarchyTask, str]


class CountedService:
    """The service over a database whose steps are counted: those of transactions, and those of snapshots."""

    def __init__(self, database: Database, entries: Iterator[Entry]) -> None:
        self.steps = 0
        self.statements: Counter[str] = Counter()
        self._database = database
        self.store = Store(database, KIND)
        self.service = HierarchyService(self.store, strict_roots=False, rng=Random(7))
        with self.store.transaction() as work:
            work.load(entries)
            work.set_fields({"loaded": True})
        writer = database.begin(Wait(1))
        assert isinstance(writer, Connection)
        self._watch(writer)
        database.end()
        with database.reading() as reader:
            assert isinstance(reader, Connection)
            self._watch(reader)

    def _watch(self, connection: Connection) -> None:
        connection.sqlite.set_progress_handler(self._step, 1)
        connection.sqlite.set_trace_callback(self._note)

    def _step(self) -> None:
        self.steps += 1

    def _note(self, statement: str) -> None:
        self.statements[statement.split()[0]] += 1

    def cost(self, call: Callable[[], object]) -> int:
        """Return how many steps the database took for a call."""
        self.steps = 0
        call()
        return self.steps

    def written(self, call: Callable[[], object]) -> int:
        """Return how many rows of tasks a call added or changed, each as often as it was."""
        self.statements.clear()
        call()
        return self.statements["UPDATE"] + self.statements["INSERT"]

    @property
    def order(self) -> list[str]:
        """The ids of the roots."""
        with self.store.read() as tasks:
            return tasks.child_ids(ROOTS)


def task(name: str, status: HierarchyStatus = HierarchyStatus.TODO) -> HierarchyTask:
    return HierarchyTask(id=name, name=name, status=status)


def grown(count: int, below: int, *, done: tuple[int, int]) -> Iterator[Entry]:
    """Yield ``count`` roots with so many subtasks each; those before ``done``, a root and a subtask, are done."""
    for number in range(count):
        yield task(f"r{number:03}", HierarchyStatus.DONE if number < done[0] else HierarchyStatus.TODO), ROOTS
        for place in range(below):
            status = HierarchyStatus.DONE if (number, place) < done else HierarchyStatus.TODO
            yield task(f"r{number:03}-{place}", status), f"r{number:03}"


NewCounted = Callable[[Iterator[Entry]], CountedService]

NEW = CreateTask(name="x")


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.by_hand), "sqlite"])
def new_counted(request: pytest.FixtureRequest, tmp_path: Path) -> NewCounted:
    """Make desks on each engine that writes rows alone."""

    def make(entries: Iterator[Entry]) -> CountedService:
        number = len([*tmp_path.iterdir()])
        path = tmp_path / f"{number}.db"
        return CountedService(
            MemoryDatabase() if request.param == "memory" else SqliteDatabase(path, fsync=False), entries
        )

    return make


@pytest.mark.requirement("EN-2", "EN-4", "EN-10")
def test_a_call_costs_the_same_in_four_thousand_tasks_as_in_a_thousand(new_counted: NewCounted) -> None:
    calls: dict[str, Callable[[HierarchyService], object]] = {
        "start": lambda service: service.start_task(StartTask(id="r012")),
        "start another": lambda service: service.start_task(StartTask(id="r013")),
        "complete": lambda service: service.complete_task(CompleteTask(id="r012-31", resolution="x")),
        "get": lambda service: service.get_task("r012-31"),
        "list": lambda service: service.list_tasks(ListTasks(depth=0, limit=20)),
        "list below": lambda service: service.list_tasks(ListTasks.model_validate({"parentId": "r012", "limit": 20})),
        "create last": lambda service: service.create_task(NEW),
        "create first": lambda service: service.create_task(NEW.model_copy(update={"insert_index": 0})),
        "create below": lambda service: service.create_task(NEW.model_copy(update={"parent_id": "r012"})),
        "create first below": lambda service: service.create_task(
            NEW.model_copy(update={"parent_id": "r012", "insert_index": 0})
        ),
        "move": lambda service: service.update_task(UpdateTask.model_validate({"id": "r013-9", "parentId": "r014"})),
        "delete": lambda service: service.delete_task("r014-9"),
    }
    few, *more = (new_counted(grown(*shape, done=(12, 31))) for shape in ((22, 62), (66, 62), (22, 190)))
    for name, call in calls.items():
        cost = few.cost(partial(call, few.service))
        assert (name, [counted.cost(partial(call, counted.service)) for counted in more]) == (name, [cost] * 2)


@pytest.mark.requirement("EN-4")
def test_what_a_start_and_a_completion_cost_grows_with_the_depth_alone(new_counted: NewCounted) -> None:
    costs: dict[int, int] = {}
    for levels in (10, 20, 30):
        counted = new_counted((task(f"r{level}"), f"r{level - 1}" if level else ROOTS) for level in range(levels))
        leaf = f"r{levels - 1}"
        start = partial(counted.service.start_task, StartTask(id="r0"))
        complete = partial(counted.service.complete_task, CompleteTask(id=leaf, resolution="x"))
        costs[levels] = counted.cost(start) + counted.cost(complete)
    assert costs[30] - costs[20] <= 1.2 * (costs[20] - costs[10])


@pytest.mark.requirement("EN-4", "EN-7")
def test_however_often_a_task_is_put_at_one_place_few_rows_are_written(new_counted: NewCounted) -> None:
    many = 500
    for index in (0, 1, many // 2):
        counted = new_counted((task(f"r{number}"), ROOTS) for number in range(many))
        one = counted.written(partial(counted.service.create_task, NEW))
        new = NEW.model_copy(update={"insert_index": index})
        added = [f"x{number}" for number in range(100)]
        written = [
            counted.written(partial(counted.service.create_task, new.model_copy(update={"id": name}))) for name in added
        ]
        order = counted.order
        assert order[index : index + 100] == added[::-1]
        assert [name for name in order if name[0] == "r"] == [f"r{number}" for number in range(many)]
        assert (min(written), max(written) <= one + 2 * 256, sum(written) <= 100 * (one + 20)) == (one, True, True)


@pytest.mark.requirement("EN-4", "R1.2", "R2.4")
@pytest.mark.parametrize("parent", [ROOTS, "p"])
@settings(max_examples=20)
@given(steps=st.lists(st.tuples(st.none() | st.integers(0, 40), st.none() | st.integers(0, 40)), max_size=80))
def test_tasks_that_are_added_and_moved_keep_the_order_of_a_list(
    parent: str, steps: list[tuple[int | None, int | None]]
) -> None:
    store = Store(MemoryDatabase(), KIND)
    plain: list[str] = []
    with store.transaction() as work:
        if parent:
            work.add(task(parent))
        for number, (which, place) in enumerate(steps):
            is_new = which is None or not plain
            name = f"x{number}" if is_new or which is None else plain.pop(which % len(plain))
            index = None if place is None else place % (len(plain) + 1)
            if is_new:
                work.add(task(name), parent, index)
            else:
                work.move(name, parent, index)
            plain.insert(len(plain) if index is None else index, name)
    with store.read() as tasks:
        assert tasks.child_ids(parent) == [found.id for found in tasks.children(parent)] == plain
        for number, name in enumerate(plain):
            assert tasks.count_children(parent, before=name) == number
            assert tasks.count_children(parent, after=name) == len(plain) - number - 1


@pytest.mark.requirement("EN-2", "EN-4")
def test_the_kept_counts_are_those_of_the_rows_after_every_kind_of_change() -> None:
    counted = CountedService(MemoryDatabase(), grown(3, 4, done=(0, 2)))
    service = counted.service
    service.create_task(CreateTask.model_validate({"name": "x", "id": "x", "tasks": [{"name": "y", "id": "y"}]}))
    service.start_task(StartTask(id="r001"))
    service.update_task(UpdateTask.model_validate({"id": "r000", "status": "todo"}))
    service.update_task(UpdateTask.model_validate({"id": "r002-1", "parentId": "y"}))
    service.update_task(UpdateTask.model_validate({"id": "y", "parentId": None, "insertIndex": 0}))
    service.complete_task(CompleteTask(id="x", resolution="now a leaf"))
    service.delete_task("r002")
    with counted.store.read() as tasks:
        nodes = tasks.nodes()
        states = {node.id: tasks.get(node.id).status for node in nodes}
        for parent in (ROOTS, *states):
            below = Counter(str(states[node.id]) for node in nodes if node.parent == parent)
            assert tasks.child_states(parent) == below
            assert tasks.count_children(parent) == below.total()
            assert tasks.count_children(parent, is_open=True) == below.total() - below["done"]
        counts = {status: tasks.count(Selection(states=(status.value,))) for status in HierarchyStatus}
        assert (counts, len(tasks)) == (
            {status: [*states.values()].count(status) for status in HierarchyStatus},
            len(states),
        )
