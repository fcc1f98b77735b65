"""Documents with any number of tasks, some 475 bytes each, written as a person or another program would write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import JsonValue

__all__ = ["CREATED", "GROUP", "TEXT", "forest", "grouped_id", "heartbeat_list", "task_id", "tasks_v1_list"]

CREATED: Final = "2026-01-01T00:00:00.000000Z"
"""When all tasks were made."""

GROUP: Final = 50
"""Tasks of a tree, its root among them."""

TEXT: Final = "Compare what was said with what was done, and write down 差异 on one page. "
"""What requests and descriptions are made of."""

Item = dict[str, JsonValue]


def task_id(number: int) -> str:
    """Return the id of a task in a list."""
    return f"task-{number:06d}"


def grouped_id(number: int) -> str:
    """Return the id of a task in a forest: that of its root, and its place below."""
    root, place = divmod(number, GROUP)
    return f"g{root:04d}.{place}" if place else f"g{root:04d}"


def heartbeat_list(count: int, active: int) -> bytes:
    """Return a document of heartbeat-mcp whose last ``active`` tasks are Pending and all others Complete."""
    tasks = [_heartbeat_task(number, is_active=number >= count - active) for number in range(count)]
    index: Item = {task_id(number): number for number in range(count)}
    return _document(tasks, b',\n"id_to_index": ' + _dump(index))


def tasks_v1_list(count: int) -> bytes:
    """Return a document of tasks-v1-mcp."""
    return _document([_tasks_v1_task(number) for number in range(count)])


def forest(count: int) -> bytes:
    """Return a document of hierarchy-mcp with trees of ``GROUP`` tasks, each a root with its subtasks."""
    trees = [range(first, min(first + GROUP, count)) for first in range(0, count, GROUP)]
    return b"[\n" + b",\n".join(b"\n".join(_tree_lines(tree)) for tree in trees) + b"\n]\n"


def _tree_lines(numbers: range) -> Iterator[bytes]:
    root, *below = numbers
    yield _head(root) + (b"" if below else b"]}")
    for number in below:
        yield b"  " + _head(number) + (b"]}" if number == below[-1] else b"]},")
    if below:
        yield b"]}"


def _head(number: int) -> bytes:
    task: Item = {
        "id": grouped_id(number),
        "name": f"Write part {number}",
        "description": TEXT * 3,
        "status": "todo",
        "completion_criteria": ["a page, no more"],
        "constraints": ["no new source"],
        "resolution": None,
    }
    return _dump(task)[:-1] + b',"tasks":['


def _heartbeat_task(number: int, *, is_active: bool) -> Item:
    return {
        "id": task_id(number),
        "status": "Pending" if is_active else "Complete",
        "raw_user_request": f"Request {number}. {TEXT}",
        "raw_reference": None,
        "ideas": ["read it twice"],
        "result": None if is_active else "done",
        "result_file": None,
        "created_at": CREATED,
        "updated_at": CREATED,
        "completed_at": None if is_active else CREATED,
        "claude_session_id": None,
        "extra_fields": {},
    }


def _tasks_v1_task(number: int) -> Item:
    return {
        "id": task_id(number),
        "title": f"Question {number}",
        "description": TEXT * 2,
        "category": "tech",
        "status": "pending",
        "priority": ("low", "medium", "high")[number % 3],
        "tags": ["space", f"tag_{number % 17}"],
        "topic_id": "space_industry",
        "source": "manual_note",
        "created_at": CREATED,
        "updated_at": CREATED,
    }


def _document(tasks: Sequence[Item], index: bytes = b"") -> bytes:
    return b'{\n"version": 1,\n"tasks": [\n' + b",\n".join(map(_dump, tasks)) + b"\n]" + index + b"\n}\n"


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
