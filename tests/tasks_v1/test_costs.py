"""What a call costs does not grow with the number of tasks: steps of the database are counted, not seconds (EN-2)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product

import pytest
from typing_extensions import override

from task_core.errors import TaskNotFound
from task_core.files import Wait
from task_core.server.overview import MAX_SUMMED
from task_core.store import MemoryDatabase, Store
from task_core.store.database import Connection
from tasks_v1_mcp.arguments import CreateTaskArguments, ListOrder, ListTasksArguments, MoveTaskArguments
from tasks_v1_mcp.models import KIND, Category, Priority, StoredTask, V1Status
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.view import TasksView
from tests.tasks_v1.conftest import make_task, put, service_over


class CountingDatabase(MemoryDatabase):
    """Rows in memory that count the steps of the virtual machine of SQLite, ten at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @contextmanager
    @override
    def reading(self) -> Iterator[Connection]:
        with super().reading() as session:
            yield self._watched(session)

    @override
    def begin(self, wait: Wait) -> Connection:
        return self._watched(super().begin(wait))

    def _watched(self, session: Connection) -> Connection:
        session.sqlite.set_progress_handler(self._count, 10)
        return session

    def _count(self) -> None:
        self.steps += 10


def create(service: TaskService, _: Store[StoredTask]) -> None:
    service.create_task(CreateTaskArguments(title="new"))


def get(service: TaskService, _: Store[StoredTask]) -> None:
    service.get_task(make_task(50).id)


def miss(service: TaskService, _: Store[StoredTask]) -> None:
    with suppress(TaskNotFound):
        service.get_task(make_task(50).id[:-1])


def move(service: TaskService, _: Store[StoredTask]) -> None:
    service.update_task_status(MoveTaskArguments(id=make_task(50).id, status=V1Status.CANCELED))


def summary(_: TaskService, store: Store[StoredTask]) -> None:
    TasksView(store).overview(MAX_SUMMED)


def pages(order: ListOrder) -> Callable[[TaskService, Store[StoredTask]], None]:
    """Return what reads two pages in an order, with their totals."""

    def read(service: TaskService, _: Store[StoredTask]) -> None:
        cursor = service.list_tasks(ListTasksArguments(order_by=order)).next_cursor
        assert service.list_tasks(ListTasksArguments(order_by=order, cursor=cursor)).tasks
        assert service.list_tasks(
            ListTasksArguments(order_by=order, status=(V1Status.PENDING, V1Status.DONE))
        ).next_cursor

    return read


ACTS = {
    "create": create,
    "get": get,
    "an id that is not known": miss,
    "move": move,
    "summary": summary,
    **{order.value: pages(order) for order in ListOrder},
}


def steps(count: int) -> dict[str, int]:
    """Return the steps of each act among so many tasks."""
    database = CountingDatabase()
    store = Store(database, KIND)
    kinds = [*product(V1Status, Category, Priority)]
    fields = ("status", "category", "priority")
    put(
        store,
        (make_task(number, **dict(zip(fields, kinds[number % len(kinds)], strict=True))) for number in range(count)),
    )
    service = service_over(store)
    found = {}
    for name, act in ACTS.items():
        before = database.steps
        act(service, store)
        found[name] = database.steps - before
    return found


@pytest.mark.requirement("EN-2", "V1-1", "V1-2", "V1-3", "RES-3")
def test_no_call_takes_more_steps_among_many_tasks_than_among_few() -> None:
    few, many = steps(200), steps(1_000)
    assert {name: (few[name], many[name]) for name in ACTS if many[name] > 1.2 * few[name] + 100} == {}
    assert min(many.values()) > 0
