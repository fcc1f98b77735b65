"""Stores with up to a million tasks, some 475 bytes each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from task_core.models import format_timestamp
from task_core.store import ROOTS, Engine, Store
from task_core.store.collection import Node
from task_core.store.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from benchmarks.subjects import Subject

__all__ = ["GROUP", "TEXT", "Entry", "forest", "grouped_id", "heartbeat_list", "save", "task_id", "tasks_v1_list"]

CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The creation of the first task; the others follow second by second."""

GROUP: Final = 50
"""Tasks of a tree, with its root."""

TEXT: Final = "Compare what was said with what was done, and write down 差异 on one page. "
"""The text that requests and descriptions consist of."""

Entry = tuple[dict[str, JsonValue], str]
"""A task and its parent."""


def task_id(number: int) -> str:
    """Return the id of a task in a list."""
    return f"task-{number:06d}"


def grouped_id(number: int) -> str:
    """Return the id of a task in a forest: that of its root, and its place below."""
    root, place = divmod(number, GROUP)
    return f"g{root:05d}.{place}" if place else f"g{root:05d}"


def heartbeat_list(count: int, active: int | None = None) -> Iterator[Entry]:
    """Yield tasks of heartbeat-mcp: the last ``active`` are Pending, or all, and the others Complete."""
    for number in range(count):
        moment, is_active = _moment(number), active is None or number >= count - active
        item: dict[str, JsonValue] = {
            "id": task_id(number),
            "status": "Pending" if is_active else "Complete",
            "raw_user_request": f"Request {number}. {TEXT}",
            "ideas": ["read it twice"],
            "result": None if is_active else "done",
            "created_at": moment,
            "updated_at": moment,
            "completed_at": None if is_active else moment,
        }
        yield item, ROOTS


def tasks_v1_list(count: int) -> Iterator[Entry]:
    """Yield tasks of tasks-v1-mcp."""
    for number in range(count):
        item: dict[str, JsonValue] = {
            "id": task_id(number),
            "title": f"Question {number}",
            "description": TEXT * 2,
            "category": "tech",
            "priority": ("low", "medium", "high")[number % 3],
            "tags": ["space", f"tag_{number % 17}"],
            "topic_id": f"space_industry_{number % 1_000}",
            "source": "manual_note",
            "created_at": _moment(number),
            "updated_at": _moment(number),
        }
        yield item, ROOTS


def forest(count: int) -> Iterator[Entry]:
    """Yield trees of ``GROUP`` tasks for hierarchy-mcp, each a root with its subtasks."""
    for number in range(count):
        item: dict[str, JsonValue] = {
            "id": grouped_id(number),
            "name": f"Write part {number}",
            "description": TEXT * 3,
            "completion_criteria": ["a page, no more"],
            "constraints": ["no new source"],
        }
        yield item, grouped_id(number - number % GROUP) if number % GROUP else ROOTS


def save(path: Path, engine: Engine, subject: Subject, count: int) -> None:
    """Make the store at ``path`` with so many tasks, as the server would have left it."""
    codec = subject.record.codec
    records = ((codec.kind.record_type.model_validate(item), parent) for item, parent in subject.entries(count))
    if engine is Engine.SQLITE:
        store = Store(SqliteDatabase(path, fsync=False), codec.kind, lock_seconds=600)
        with store.transaction() as work:
            work.load(records)
        with store.transaction():
            pass  # by now the log has been put back into the database
        store.close()
    else:
        nodes = [Node(record.id, parent, record.to_json()) for record, parent in records]
        path.write_bytes(codec.document(codec.encode(nodes), {}))


def _moment(number: int) -> str:
    return format_timestamp(CREATED + timedelta(seconds=number))
