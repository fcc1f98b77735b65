"""Tasks and subtasks as they are stored, whatever their fields look like (TM-22 to TM-24)."""

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeVar

from pydantic import JsonValue
from pydantic_core import to_json
from typing_extensions import override

from task_core.errors import TaskNotFound
from task_core.models import Clock, as_utc
from task_core.text import nearest
from taskmaster_mcp.core.stored_words import (
    REFERENCE,
    check_number,
    find_task_readings,
    read_number,
    read_status,
    read_text,
)
from taskmaster_mcp.errors import OddValue, SubtaskNotFound

__all__ = [
    "PRIORITIES",
    "JsonObject",
    "ProjectItem",
    "TagTasks",
    "format_stamp",
    "is_same",
    "make_metadata",
]

JsonObject = dict[str, JsonValue]
"""An object of the document, or a part of an answer."""

StoredT = TypeVar("StoredT", str, list[JsonValue], JsonObject)

PRIORITIES: Final = ("critical", "high", "medium", "low")
"""The words for a priority, most urgent first (TM-25)."""

_SETTLED: Final = frozenset({"done", "cancelled"})
"""The statuses of what nothing waits for any more (TM-40)."""

_KINDS: Final[dict[type[Any], str]] = {str: "text", list: "a list", dict: "an object"}


def format_stamp(moment: datetime) -> str:
    """Return a moment as the document has it, in UTC with milliseconds (TM-24)."""
    return as_utc(moment).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


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
    def number(self) -> int | None:
        """The number among its siblings; None if the stored id has none."""
        return read_number(self.fields.get("id"), is_subtask=self.is_subtask)

    @property
    def id(self) -> str:
        """The whole id, such as ``5`` or ``5.2``; what is stored if that is not an id."""
        return f"{self.parent.id}.{self.own_id}" if self.parent else self.own_id

    @property
    def own_id(self) -> str:
        """The id among its siblings."""
        return str(self.fields.get("id", "")) if self.number is None else str(self.number)

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
    def urgency(self) -> int:
        """The place of its priority among all, 0 for the most urgent."""
        word = self.priority
        return PRIORITIES.index(word if word in PRIORITIES else "medium")

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

        A number that could be a sibling or a task means the task if the sibling waits for this item.
        """
        text = read_text(stored)
        if self._tasks and (id(self.fields), text) in self._tasks.task_readings:
            return str(int(text))
        return self.resolve_first(stored)

    def resolve_first(self, stored: JsonValue) -> str:
        """Return the first reading of a stored dependency, whatever waits for what."""
        text = read_text(stored)
        if self.parent and (sibling := self.parent.find_subtask_id(text)):
            return sibling
        if not (found := REFERENCE.fullmatch(text)):
            return text
        number = int(found[1])
        if found[2]:
            return f"{number}.{int(found[2])}"
        if self.parent and self.parent.has_subtask(number):
            return f"{self.parent.id}.{number}"
        return str(number)

    def other_reading(self, stored: JsonValue) -> str:
        """Return the task that a dependency on a sibling may also mean, or nothing; it need not exist."""
        found = REFERENCE.fullmatch(read_text(stored))
        number = str(int(found[1])) if self.parent and found and not found[2] else ""
        return "" if not self.parent or number in (self.resolve_first(stored), self.parent.id) else number

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

    def find_subtask_id(self, text: str) -> str:
        """Return the whole id of the subtask whose stored id is this text, or nothing."""
        ids = (it.get("id") for it in self.stored_subtasks if isinstance(it, dict))
        own = next((found for found in ids if text and read_text(found) == text), None)
        return "" if own is None else ProjectItem({"id": own}, self).id

    def has_subtask(self, number: int) -> bool:
        """Return whether one of its subtasks has this number."""
        stored = (it.get("id") for it in self.stored_subtasks if isinstance(it, dict))
        return any(read_number(found, is_subtask=True) == number for found in stored)

    def stored(self, name: str, kind: type[StoredT]) -> StoredT:
        """Return a text, list or object that is to be changed, empty if there is none.

        Raises:
            OddValue: a value of another type is stored.
        """
        value = self.fields.get(name)
        if value is None:
            return kind()
        if not isinstance(value, kind):
            raise OddValue(self.id, name, _KINDS[kind])
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
        """Stored numbers that mean a task although there is such a sibling, as they were before any change."""
        return find_task_readings(self.items)

    def index(self) -> dict[str, ProjectItem]:
        """Return the items by their ids; of two with one id, the first."""
        found: dict[str, ProjectItem] = {}
        for item in self.items:
            found.setdefault(item.id, item)
        return found

    def get(self, item_id: str) -> ProjectItem:
        """Return the item with this id.

        Raises:
            TaskNotFound: no task has it.
            SubtaskNotFound: its task has no such subtask.
        """
        if found := (index := self.index()).get(item_id):
            return found
        parent = item_id.partition(".")[0]
        if parent != item_id and parent in index:
            raise SubtaskNotFound(item_id, nearest(item_id, [item.id for item in index[parent].subtasks], cutoff=0))
        tasks = [name for name in index if "." not in name]
        raise TaskNotFound(parent, nearest(parent, tasks, cutoff=0.4))

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


def is_same(old: JsonValue, new: JsonValue) -> bool:
    """Return whether two values are written alike: ``1``, ``1.0`` and ``true`` are not the same."""
    return to_json(old) == to_json(new)


def make_metadata(now: str, description: str) -> JsonObject:
    """Return the metadata of a new tag."""
    return {"created": now, "updated": now, "description": description}
