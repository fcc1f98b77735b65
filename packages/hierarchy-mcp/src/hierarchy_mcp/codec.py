"""The document of this server: a bare array of nested root tasks, each on lines of its own (R4.6, ST-1)."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Final

from pydantic import JsonValue, ValidationError
from typing_extensions import override

from hierarchy_mcp.lines import TreeReader
from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.tree import MAX_LEVELS, fold
from task_core.errors import DuplicateKey
from task_core.store import Codec
from task_core.store.encoding import Damaged, Decoded, Kept, Newer, in_pieces
from task_core.store.lines import Lines
from task_core.strict_json import NotJson, loads
from task_core.text import escape_invisible, shorten

__all__ = ["ForestCodec"]

_INDENT: Final = b"  "

_START: Final = b"[\n"
"""Before the first task."""


_ECHO_LIMIT: Final = 100
"""Characters of an id of the document that a warning repeats at most."""

_VERSION: Final = 1
"""This format, which has no number in it; a later one would be an object that says its own."""


class ForestCodec(Codec[Task]):
    """Reads and writes the array; what a person wrote against the rules is put right and told."""

    @override
    def decode_written(self, data: bytes, last: Decoded[Task]) -> Decoded[Task] | None:
        """Read a document with a task a line and nothing else; trees that stand as at ``last`` are taken from there."""
        if not data.startswith(_START) or last.kept.unread:
            return None
        try:
            roots = TreeReader(last.records.values()).read(data[len(_START) :].split(b"\n"))
        except (ValueError, IndexError):
            return None
        records = {root.id: root for root in roots}
        before = last.lines.by_id() if last.lines else {}
        known = {name: line for name, line in before.items() if records.get(name) is last.records[name]}
        lines = Lines.of({name: known.get(name) or self.encode(root) for name, root in records.items()})
        is_as_written = len(records) == len(roots) and self.assemble(lines, Kept()) == data
        return Decoded(records, lines=lines) if is_as_written and len(_active_leaves(roots)) <= 1 else None

    @override
    def decode_any(self, data: bytes) -> Decoded[Task]:
        """Return the root tasks; what is no task is kept unread, and a repeated id gets a number behind it."""
        items = _parsed(data)
        if isinstance(items, dict) and isinstance(version := items.get("version"), int) and version > _VERSION:
            raise Newer(version, _VERSION)
        if not isinstance(items, list):
            raise Damaged("it is not a JSON array")
        reader = _Reader(items)
        roots = {}
        unread = []
        for position, item in enumerate(items, start=1):
            root = reader.root(item, str(position))
            if root is None:
                unread.append(item)
            else:
                roots[root.id] = root
        roots = reader.with_one_active(roots)
        return Decoded(roots, Kept(unread=tuple(unread)), tuple(reader.faults))

    @override
    def pieces(self, lines: Lines, kept: Kept) -> Sequence[bytes]:
        """Return the array, with what is no task after the tasks."""
        parts = [*lines.data, *map(_dump, kept.unread)]
        return in_pieces(_START, parts, b"\n]\n") if parts else [b"[]\n"]

    @override
    def encode(self, record: Task) -> bytes:
        """Return the lines of one tree; each task keeps the bytes of its own line."""
        parts: list[bytes] = []
        waiting: list[tuple[Task | bytes, bytes, bytes]] = [(record, b"", b"")]
        while waiting:
            node, indent, tail = waiting.pop()
            if isinstance(node, bytes):
                parts.append(indent + node + tail)
                continue
            below = _below(node, indent + _INDENT)
            parts.append(indent + node.head_json + (b"" if below else b"]}" + tail))
            if below:
                waiting.append((b"]}", indent, tail))
                waiting.append((below[-1], indent + _INDENT, b""))
                waiting.extend((child, indent + _INDENT, b",") for child in reversed(below[:-1]))
        return b"\n".join(parts)


@dataclass(slots=True)
class _Draft:
    """A task that was read, without its subtasks yet."""

    task: Task
    item: Mapping[str, JsonValue]
    place: str
    level: int
    unread: list[JsonValue] = field(default_factory=list)


class _Reader:
    """Makes tasks of the items of one document and notes what it puts right."""

    def __init__(self, items: Sequence[JsonValue]) -> None:
        self.faults: list[str] = []
        self._ids: set[str] = set()
        self._numbers: dict[str, Iterator[int]] = {}
        self._written = {str(task["id"]) for task in _objects(items) if "id" in task}

    def root(self, item: JsonValue, place: str) -> Task | None:
        """Return the tree that stands at ``place``, or None where there is no task."""
        draft = self._draft(item, place, 1)
        return fold(draft, self._below, self._made) if draft else None

    def with_one_active(self, roots: Mapping[str, Task]) -> Mapping[str, Task]:
        """Return the roots with at most one leaf in progress, the first (R3.17)."""
        extra = _active_leaves(tuple(roots.values()))[1:]
        self.faults += [f"Task '{_echo(name)}' is todo again: only one task may be in progress." for name in extra]
        return {name: _with_todo(root, frozenset(extra)) for name, root in roots.items()} if extra else roots

    def _draft(self, item: JsonValue, place: str, level: int) -> _Draft | None:
        if level > MAX_LEVELS:
            raise Damaged(f"a tree has more than {MAX_LEVELS} levels")
        try:
            task = self._numbered(Task.model_validate(_without_tasks(item)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"])) or "task"
            self.faults.append(f"Task {place} is not valid ({where}: {first['msg']}); it was kept in the file unread.")
            return None
        return _Draft(task, _members(item), place, level)

    def _numbered(self, task: Task) -> Task:
        if task.id in self._ids:
            numbers = self._numbers.setdefault(task.id, count(2))
            free = next(name for number in numbers if (name := f"{task.id}-{number}") not in self._written)
            self._written.add(free)
            self.faults.append(f"The id '{_echo(task.id)}' stood twice; the second task is now '{_echo(free)}'.")
            task = task.changed(id=free)
        self._ids.add(task.id)
        return task

    def _below(self, draft: _Draft) -> Iterator[_Draft]:
        items = draft.item.get("tasks")
        for position, item in enumerate(items if isinstance(items, list) else (), start=1):
            below = self._draft(item, f"{draft.place}.{position}", draft.level + 1)
            if below is None:
                draft.unread.append(item)
            else:
                yield below

    def _made(self, draft: _Draft, tasks: tuple[Task, ...]) -> Task:
        task = draft.task.with_tasks(tasks) if tasks else draft.task
        if draft.unread:
            task = task.changed(unread=tuple(draft.unread))
        said = draft.item.get("status", task.status.value)
        if said != task.status.value:
            self.faults.append(f"The status of task '{_echo(task.id)}' was put right: it is '{task.status.value}'.")
        return task


def _below(task: Task, indent: bytes) -> list[Task | bytes]:
    """Return what stands below ``task``; the lines of leaves that follow each other are made at once."""
    below: list[Task | bytes] = []
    for is_leaf, run in groupby(task.tasks, _is_leaf):
        tasks = list(run)
        below.extend([(b"]},\n" + indent).join(leaf.head_json for leaf in tasks) + b"]}"] if is_leaf else tasks)
    return [*below, *map(_dump, task.unread)]


def _is_leaf(task: Task) -> bool:
    return not task.tasks and not task.unread


def _objects(items: Sequence[JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield every object that stands where a task may stand."""
    waiting = [*items]
    for item in waiting:
        if isinstance(item, dict):
            yield item
            below = item.get("tasks")
            waiting.extend(below if isinstance(below, list) else ())


def _echo(text: str) -> str:
    return escape_invisible(shorten(text, _ECHO_LIMIT))


def _active_leaves(roots: Sequence[Task]) -> list[str]:
    """Return the ids of the leaves in progress, in the order of the tree."""
    found: list[str] = []
    waiting = list(reversed(roots))
    while waiting:
        task = waiting.pop()
        if task.status is Status.IN_PROGRESS:
            waiting.extend(reversed(task.tasks))
            if not task.tasks:
                found.append(task.id)
    return found


def _with_todo(root: Task, leaves: Collection[str]) -> Task:
    def made(task: Task, tasks: tuple[Task, ...]) -> Task:
        if tasks:
            return task.with_tasks(tasks)
        return task.changed(own_status=Status.TODO) if task.id in leaves else task

    return fold(root, lambda task: task.tasks, made)


def _members(item: JsonValue) -> Mapping[str, JsonValue]:
    return item if isinstance(item, dict) else {}


def _without_tasks(item: JsonValue) -> JsonValue:
    """Return a task whose list of subtasks is empty, and anything else as it is, to be refused."""
    if not isinstance(item, dict):
        return item
    below = item.get("tasks")
    return {**item, "tasks": []} if below is None or isinstance(below, list) else item


def _parsed(data: bytes) -> JsonValue:
    try:
        return loads(data.removeprefix(BOM_UTF8))
    except DuplicateKey as error:
        raise Damaged("a key stands twice in one object") from error
    except NotJson as error:
        raise Damaged(str(error)) from error


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
