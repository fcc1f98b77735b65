"""Tasks and subtasks as they are stored, whatever their fields look like (TM-22 to TM-24)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from pydantic import JsonValue
from typing_extensions import override

from task_core.errors import TaskNotFound
from task_core.models import Clock
from task_core.text import nearest
from taskmaster_mcp.core.stored_words import (
    REFERENCE,
    check_number,
    find_path,
    format_stamp,
    make_metadata,
    read_number,
    read_reference,
    read_status,
    read_text,
)
from taskmaster_mcp.errors import Refused, SubtaskNotFound

__all__ = ["PRIORITIES", "JsonObject", "ProjectItem", "TagTasks"]

JsonObject = dict[str, JsonValue]
"""An object of the document, or a part of an answer."""

StoredT = TypeVar("StoredT", str, list[JsonValue], JsonObject)

PRIORITIES: Final = ("critical", "high", "medium", "low")
"""The words for a priority, most urgent first (TM-25)."""

_SETTLED: Final = frozenset({"done", "cancelled"})
"""The statuses of what nothing waits for any more (TM-40)."""

_KINDS: Final[dict[type[Any], str]] = {str: "text", list: "a list", dict: "an object"}


class ProjectItem:
    """A task or a subtask: a view of its fields in the document, which it changes."""

    def __init__(
        self, fields: JsonObject, parent: "ProjectItem | None" = None, tasks: "TagTasks | None" = None
    ) -> None:
        """Without ``tasks``, those beside it, a number that has two readings means a sibling."""
        self.fields = fields
        self.parent = parent
        self._tasks = tasks

    @property
    def _stored_id(self) -> JsonValue:
        """The stored id, of a subtask without that of its task: some programs store ``5.2`` and ``HAM-1.2``."""
        stored = self.fields.get("id")
        is_prefixed = self.parent and isinstance(stored, str)
        return stored.strip().removeprefix(f"{self.parent.id}.") if is_prefixed else stored

    @property
    def number(self) -> int | None:
        """The number among its siblings; None if the stored id has none."""
        return read_number(self._stored_id, is_subtask=self.is_subtask)

    @property
    def id(self) -> str:
        """The whole id, such as ``5`` or ``5.2``; what is stored if that is not an id."""
        return f"{self.parent.id}.{self.own_id}" if self.parent else self.own_id

    @property
    def own_id(self) -> str:
        """The id among its siblings, empty if there is none."""
        number = self.number
        return read_text(self._stored_id) if number is None else str(number)

    @property
    def is_subtask(self) -> bool:
        """True if it is within a task."""
        return self.parent is not None

    @property
    def title(self) -> str:
        """The title, empty if there is none."""
        return self.text("title")

    @property
    def status(self) -> str:
        """The status, ``pending`` if there is none, in any spelling; unknown words are as they are stored."""
        return read_status(self.text("status"))

    @property
    def is_settled(self) -> bool:
        """True if nothing waits for it any more."""
        return self.status in _SETTLED

    @property
    def priority(self) -> str:
        """The priority; of a subtask without one, that of its task."""
        own = self.text("priority").strip()
        return own or (self.parent.priority if self.parent else "medium")

    @property
    def dependencies(self) -> list[JsonValue]:
        """The dependencies as they are stored."""
        stored = self.fields.get("dependencies")
        return stored if isinstance(stored, list) else []

    @property
    def targets(self) -> list[str]:
        """The ids that it depends on, in the stored order."""
        return [*map(self.resolve, self.dependencies)]

    def resolve(self, stored: JsonValue) -> str:
        """Return the whole id that a stored dependency means (TM-34): first a sibling's, else a task's, or the text.

        An id that could be a sibling's or a task's means the task if the sibling waits for this item.
        """
        text = read_text(stored)
        if self._tasks and (id(self.fields), text) in self._tasks.task_readings:
            return read_reference(text)
        return self.resolve_first(stored)

    def resolve_first(self, stored: JsonValue) -> str:
        """Return the first reading of a stored dependency, whatever waits for what."""
        text = read_text(stored)
        reference = read_reference(text)
        siblings = self.parent.subtasks if self.parent else []
        named = [it.id for it in siblings if text and read_text(it.fields.get("id")) == text]
        if not named and reference.isdecimal():
            named = [it.id for it in siblings if it.number == int(reference)]
        return named[0] if named else reference

    def other_reading(self, stored: JsonValue) -> str:
        """Return the task that a dependency on a sibling may also mean, or nothing; it need not exist."""
        other = read_reference(read_text(stored)) if self.parent else ""
        return "" if not self.parent or other in (self.resolve_first(stored), self.parent.id) else other

    def is_within(self, item_id: str) -> bool:
        """Return whether the item with this id contains this one, or is one of its subtasks."""
        if self.parent:
            return self.parent.id == item_id
        return item_id.startswith(f"{self.id}.") and item_id in [it.id for it in self.subtasks]

    @property
    def stored_subtasks(self) -> list[JsonValue]:
        """The subtasks as they are stored; whoever adds to them puts the list into ``fields``."""
        stored = self.fields.get("subtasks")
        return stored if isinstance(stored, list) else []

    @property
    def subtasks(self) -> "list[ProjectItem]":
        """The subtasks in order; those of a subtask are kept and never shown."""
        stored = self.stored_subtasks if self.parent is None else []
        return [ProjectItem(fields, self, self._tasks) for fields in stored if isinstance(fields, dict)]

    def stored(self, name: str, kind: type[StoredT]) -> StoredT:
        """Return a text, list or object that is to be changed, empty if there is none; ``Refused``: it is neither."""
        value = self.fields.get(name)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise Refused("ODD_VALUE", id=self.id, field=name, expected=_KINDS[kind])
        return value

    def fill_description(self) -> None:
        """Describe a task by its title if nothing else does: Task Master lists no tag with a task that is not."""
        if not self.is_subtask and not self.text("description").strip():
            self.fields["description"] = self.title

    def text(self, name: str) -> str:
        """Return a field as text, empty if it is missing or null."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProjectItem) and self.fields is other.fields

    @override
    def __hash__(self) -> int:
        return id(self.fields)


class TagTasks:
    """The tasks of one tag, to be read or changed; whoever changes an item calls ``touch``."""

    def __init__(self, tag: str, value: JsonObject) -> None:
        self.tag = tag
        self.value = value
        stored = value.setdefault("tasks", [])
        self.stored: list[JsonValue] = stored if isinstance(stored, list) else []
        """the tasks as they are stored"""
        self.touched: dict[ProjectItem, None] = {}
        self.is_changed = False

    @property
    def tasks(self) -> list[ProjectItem]:
        """The tasks in the order of the file."""
        return [ProjectItem(fields, tasks=self) for fields in self.stored if isinstance(fields, dict)]

    @property
    def items(self) -> Iterator[ProjectItem]:
        """Every task, each followed by its subtasks."""
        for task in self.tasks:
            yield task
            yield from task.subtasks

    @cached_property
    def task_readings(self) -> frozenset[tuple[int, str]]:
        """Stored ids that mean a task although a sibling has them, each with the identity of its item's fields.

        The sibling waits for the item, and the task does not, so only one reading is free of cycles. They are as they
        were before any change.
        """
        known = [*self.items]
        graph = {it.id: [*map(it.resolve_first, it.dependencies), *(sub.id for sub in it.subtasks)] for it in known}
        found: set[tuple[int, str]] = set()
        for item in known:
            for stored in item.dependencies:
                task, sibling = item.other_reading(stored), item.resolve_first(stored)
                if task in graph and find_path(graph, sibling, item.id) and not find_path(graph, task, item.id):
                    found.add((id(item.fields), read_text(stored)))
                    graph[item.id] = [task if target == sibling else target for target in graph[item.id]]
        return frozenset(found)

    def index(self) -> dict[str, ProjectItem]:
        """Return the items by their ids; of two with one id the first, and a task before a subtask."""
        found: dict[str, ProjectItem] = {}
        for item in sorted(self.items, key=lambda item: item.is_subtask):
            found.setdefault(item.id, item)
        return found

    def get(self, item_id: str, index: Mapping[str, ProjectItem] | None = None) -> ProjectItem:
        """Return the item with this id, or raise ``TaskNotFound``, or ``SubtaskNotFound`` if its task exists."""
        index = self.index() if index is None else index
        if found := index.get(item_id) or index.get(f"#{item_id}"):
            return found
        parent = item_id.partition(".")[0]
        if parent != item_id and parent in index:
            raise SubtaskNotFound(item_id, nearest(item_id, [item.id for item in index[parent].subtasks], cutoff=0))
        tasks = [name for name in index if "." not in name]
        raise TaskNotFound(parent, nearest(parent, tasks, cutoff=0.4))

    def get_all(self, ids: Sequence[str]) -> list[ProjectItem]:
        """Return the items with these ids, which were split at commas; a stored id may have commas too."""
        index = self.index()
        named = [it for name, it in index.items() if [*map(str.strip, name.split(","))] == [*ids]]
        return named[:1] or [self.get(it, index) for it in ids]

    def next_number(self) -> int:
        """Return the number of the next new task: the highest plus one (TM-43)."""
        found = [REFERENCE.fullmatch(task.id) for task in self.tasks]  # of 3.1, the 3: its subtask 1 would be 3.1 too
        return check_number(max((int(it[1]) for it in found if it), default=0) + 1)

    def stored_id(self, number: int) -> int | str:
        """Return an id as this tag stores it: as text if all its tasks have text, else as a number (TM-23)."""
        return str(number) if {type(task.fields.get("id")) for task in self.tasks} == {str} else number

    def touch(self, item: ProjectItem) -> None:
        """Note that ``item`` has changed."""
        self.touched[item] = None
        self.is_changed = True

    def finish(self, clock: Clock) -> None:
        """Set the times of change, and the counts of the tag that it stores (TM-24)."""
        if not self.is_changed:
            return
        now = format_stamp(clock())
        for item in self.touched:
            item.fields["updatedAt"] = now
        metadata = self.value.get("metadata")
        if metadata is None:
            metadata = self.value["metadata"] = make_metadata(now, f"Tasks for {self.tag} context")
        if not isinstance(metadata, dict):
            return
        metadata["updated"] = now
        tasks = self.tasks
        done = sum(task.status == "done" for task in tasks)
        kept: JsonObject = {"lastModified": now, "taskCount": len(tasks), "completedCount": done}
        metadata.update({name: value for name, value in kept.items() if name in metadata})
