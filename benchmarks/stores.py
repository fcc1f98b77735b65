"""Tasks by the million, some 475 bytes each, and the stores that they are put into."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from task_core.models import Record, format_timestamp
from task_core.store import ROOTS, Codec, Engine, Store
from task_core.store.collection import Node
from task_core.store.sqlite import SqliteDatabase

__all__ = [
    "GROUP",
    "TEXT",
    "Content",
    "Entry",
    "flat",
    "forest",
    "grouped_id",
    "heartbeat_list",
    "save",
    "task_id",
    "tasks_v1_list",
]

CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When the first task was made; the others follow second by second."""

GROUP: Final = 50
"""Tasks of a tree, its root among them."""

TEXT: Final = "Compare what was said with what was done, and write down 差异 on one page. "
"""What requests and descriptions are made of."""

_PATIENCE: Final = 600.0
"""Seconds to wait for the log of a new database to be put back."""

Item = dict[str, JsonValue]

Entry = tuple[Item, str]
"""A task and its parent."""


@dataclass(frozen=True)
class Content:
    """What is put into a store."""

    codec: Codec[Any]
    entries: Callable[[int], Iterator[Entry]]
    """Makes so many tasks, parents first."""

    def records(self, count: int) -> Iterator[tuple[Record, str]]:
        """Yield so many records, each with its parent."""
        for item, parent in self.entries(count):
            yield self.codec.kind.record_type.model_validate(item), parent


def task_id(number: int) -> str:
    """Return the id of a task in a list."""
    return f"task-{number:06d}"


def grouped_id(number: int) -> str:
    """Return the id of a task in a forest: that of its root, and its place below."""
    root, place = divmod(number, GROUP)
    return f"g{root:05d}.{place}" if place else f"g{root:05d}"


def heartbeat_list(active: int | None) -> Callable[[int], Iterator[Entry]]:
    """Return what makes tasks of heartbeat-mcp: the last ``active`` are Pending, or all, and the others Complete."""

    def entries(count: int) -> Iterator[Entry]:
        for number in range(count):
            yield _heartbeat_task(number, is_active=active is None or number >= count - active), ROOTS

    return entries


def tasks_v1_list(count: int) -> Iterator[Entry]:
    """Yield tasks of tasks-v1-mcp."""
    for number in range(count):
        yield _tasks_v1_task(number), ROOTS


def forest(count: int) -> Iterator[Entry]:
    """Yield trees of ``GROUP`` tasks for hierarchy-mcp, each a root with its subtasks."""
    for number in range(count):
        yield _hierarchy_task(number), grouped_id(number - number % GROUP) if number % GROUP else ROOTS


def flat(count: int) -> Iterator[Entry]:
    """Yield roots without subtasks for hierarchy-mcp."""
    for number in range(count):
        yield _hierarchy_task(number), ROOTS


def save(path: Path, engine: Engine, content: Content, count: int) -> None:
    """Make the store at ``path`` with so many tasks, as the server would have left it."""
    records = content.records(count)
    if engine is Engine.SQLITE:
        store = Store(SqliteDatabase(path, fsync=False), content.codec.kind, lock_seconds=_PATIENCE)
        with store.transaction() as work:
            work.load(records)
        with store.transaction():
            pass  # by now the log has been put back into the database
        store.close()
    else:
        path.write_bytes(_document(content.codec, records))


def _document(codec: Codec[Any], records: Iterable[tuple[Record, str]]) -> bytes:
    nodes = [Node(record.id, parent, record.to_json()) for record, parent in records]
    return codec.document(codec.encode(nodes), {})


def _moment(number: int) -> str:
    return format_timestamp(CREATED + timedelta(seconds=number))


def _hierarchy_task(number: int) -> Item:
    return {
        "id": grouped_id(number),
        "name": f"Write part {number}",
        "description": TEXT * 3,
        "completion_criteria": ["a page, no more"],
        "constraints": ["no new source"],
    }


def _heartbeat_task(number: int, *, is_active: bool) -> Item:
    moment = _moment(number)
    return {
        "id": task_id(number),
        "status": "Pending" if is_active else "Complete",
        "raw_user_request": f"Request {number}. {TEXT}",
        "ideas": ["read it twice"],
        "result": None if is_active else "done",
        "created_at": moment,
        "updated_at": moment,
        "completed_at": None if is_active else moment,
    }


def _tasks_v1_task(number: int) -> Item:
    moment = _moment(number)
    return {
        "id": task_id(number),
        "title": f"Question {number}",
        "description": TEXT * 2,
        "category": "tech",
        "priority": ("low", "medium", "high")[number % 3],
        "tags": ["space", f"tag_{number % 17}"],
        "topic_id": f"space_industry_{number % 1_000}",
        "source": "manual_note",
        "created_at": moment,
        "updated_at": moment,
    }
