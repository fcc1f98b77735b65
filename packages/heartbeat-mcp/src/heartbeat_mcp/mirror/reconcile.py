"""Decides what each unit of the section is in view of the tasks of the store (HB-12).

``Mirror.additions`` and ``Mirror.write`` both go by this, so they cannot disagree. Nothing here reads or writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from heartbeat_mcp.mirror.document import Document
from heartbeat_mcp.mirror.entries import Entry, Run
from heartbeat_mcp.mirror.found import FoundTask, found_task
from heartbeat_mcp.mirror.items import Item
from heartbeat_mcp.mirror.units import Part, Unit
from heartbeat_mcp.models import Status, Task
from task_core.store.base import Collection

__all__ = ["Adoption", "Memory", "Plan", "Reading", "reconcile"]


class Adoption(NamedTuple):
    """A task that a bullet was taken in as."""

    task_id: str
    is_whole: bool
    """whether the task holds or held all that the bullet says"""


@dataclass(frozen=True)
class Reading:
    """A document, and when it was last changed."""

    document: Document
    changed_at: datetime | None = None
    """in UTC; None for one that is not written yet"""

    def is_older_than(self, task: Task) -> bool:
        """Whether nothing was written into the file since ``task`` was created."""
        return self.changed_at is not None and self.changed_at < task.created_at


@dataclass(frozen=True)
class Memory:
    """What one process remembers of the section from call to call."""

    runs: Sequence[Run] = ()
    """entries as a server is known to have written them"""
    texts: Mapping[str, bytes] = field(default_factory=dict)
    """the same of further entries: their text by id"""
    adopted: Mapping[bytes, Sequence[Adoption]] = field(default_factory=dict)
    """bullets that still stand in the file though they were taken in, by their text"""
    seen: frozenset[str] | None = None
    """the tasks there were when the section was last read, until it is written"""
    written: Memory | None = None
    """what was remembered when the section was last written, if that was before it was last read"""

    @property
    def as_written(self) -> Memory:
        """What was remembered when the section was last written."""
        return self.written or self

    def after(self, plan: Plan, seen: frozenset[str] | None) -> Memory:
        """Return what to remember of a section that was read and is not written yet."""
        return Memory(plan.runs, plan.texts, plan.adopted, seen, self.as_written)

    @cached_property
    def entries(self) -> Mapping[str, bytes]:
        """The text of every entry by its id."""
        return {**{entry.task_id: entry.text for run in self.runs for entry in run}, **self.texts}


@dataclass
class Plan:
    """What the section says in view of the tasks."""

    found: list[FoundTask] = field(default_factory=list)
    """to be taken in, in the order of the section"""
    kept: list[Unit] = field(default_factory=list)
    """to stay as they are, below the entries"""
    overridden: list[str] = field(default_factory=list)
    """ids of what a person changed and the store has authority over"""
    runs: list[Run] = field(default_factory=list)
    """see ``Memory``"""
    texts: dict[str, bytes] = field(default_factory=dict)
    """see ``Memory``"""
    adopted: dict[bytes, list[Adoption]] = field(default_factory=dict)
    """see ``Memory``"""


def reconcile(
    reading: Reading, tasks: Collection[Task], memory: Memory, *, is_saved: bool = False, is_recovery: bool = False
) -> Plan:
    """Return what stands in the document of ``reading`` in view of ``tasks``.

    ``is_saved`` says that they are on disk: work that is not may fail yet. A recovery takes over ids that were written
    by hand.
    """
    return _Reconciliation(reading, tasks, memory, is_saved=is_saved, is_recovery=is_recovery).plan


class _Reconciliation:
    def __init__(
        self, reading: Reading, tasks: Collection[Task], memory: Memory, *, is_saved: bool, is_recovery: bool
    ) -> None:
        self.plan = Plan()
        self._reading = reading
        self._tasks = tasks
        self._memory = memory
        self._is_saved = is_saved
        self._is_recovery = is_recovery
        self._adopted = {
            text: deque(adoption for adoption in adoptions if adoption.task_id in tasks)
            for text, adoptions in memory.adopted.items()
        }
        self._texts: dict[str, bytes] = {}
        for unit in reading.document.units:
            self._place(unit)

    @cached_property
    def _loose(self) -> _Loose:
        return _tasks_without_entry(self._reading, self._tasks, self._memory)

    def _place(self, unit: Unit) -> None:
        item = unit.item
        if unit.part is Part.TEXT:
            self.plan.kept.append(unit)
        elif unit.run:
            self._place_run(unit.run)
        elif item is None:
            # A line of the server's own, which is written anew where it is needed.
            return
        elif (task_id := _stored_id(item, self._tasks)) is not None:
            self._place_entry(unit, item, self._tasks.get(task_id))
        elif unit.part is Part.BULLET:
            self._place_bullet(unit, item)
        elif unit.is_set_apart:
            self.plan.kept.append(unit)
        else:
            self._place_unknown(unit.text, found_task(item))

    def _place_run(self, run: Run) -> None:
        self.plan.runs.append(run)
        if self._is_saved:
            return
        for entry in run:
            if entry.task_id not in self._tasks:
                self._place_unknown(entry.text, found_task(entry.item))

    def _place_entry(self, unit: Unit, item: Item, task: Task) -> None:
        if unit.text == self._memory.entries.get(task.id) or self._holds_no_more_than(unit, item, task):
            self.plan.texts[task.id] = unit.text
        else:
            self.plan.overridden.append(task.id)

    def _holds_no_more_than(self, unit: Unit, item: Item, task: Task) -> bool:
        """Whether nothing is lost when ``unit`` gives way to the entry of ``task``, or to none once it is finished."""
        statuses = [task.status] if task.is_active else [Status.PENDING, Status.RUNNING]
        forms = [Entry.of(task.changed(status=status)) for status in statuses]
        if any(unit.text == form.text or item.says_the_same_as(form.item) for form in forms):
            return True
        return not item.is_entry and found_task(item, takes_name=True).agrees_with(task)

    def _place_unknown(self, text: bytes, found: FoundTask) -> None:
        """Take in an entry whose task is not in the store, unless this process wrote it and the task has gone since."""
        task_id = found.id or ""
        # What was only read may be the entry of a task whose taking in has failed.
        memory = self._memory if self._is_saved else self._memory.as_written
        if text == memory.entries.get(task_id):
            self.plan.texts[task_id] = text
            return
        self.plan.overridden.append(task_id)
        if self._texts.get(task_id) != text:
            self._take_in(found, text)

    def _place_bullet(self, unit: Unit, item: Item) -> None:
        found = found_task(item, takes_name=self._is_recovery)
        adoption = self._adoption(unit, found)
        if adoption is None:
            self._take_in(found, unit.text)
            self.plan.kept.append(unit)
            return
        self.plan.adopted.setdefault(unit.text, []).append(adoption)
        if not adoption.is_whole:
            self.plan.overridden.append(adoption.task_id)

    def _adoption(self, unit: Unit, found: FoundTask) -> Adoption | None:
        if adopted := self._adopted.get(unit.text):
            return adopted.popleft()
        if same := self._loose.get(found.raw_user_request):
            task = same.popleft()
            # A task that has moved on since says other things than the bullet that it came from.
            return Adoption(task.id, task.updated_at > task.created_at or found.agrees_with(task))
        return None

    def _take_in(self, found: FoundTask, text: bytes) -> None:
        """Put ``found`` among the additions; an id that is taken already is left to the service to make."""
        is_taken = found.id in self._texts
        if found.id is not None:
            self._texts.setdefault(found.id, text)
        self.plan.found.append(found.without_id() if is_taken else found)


def _stored_id(item: Item, tasks: Collection[Task]) -> str | None:
    """Return the id of the stored task that ``item`` is the entry of, even if its closing comment is gone."""
    task_id = item.closing_id or item.named_id
    return task_id if task_id in tasks else None


_Loose = dict[str, deque[Task]]


def _tasks_without_entry(reading: Reading, tasks: Collection[Task], memory: Memory) -> _Loose:
    """Return the tasks that a bullet may be, by request, in stored order.

    They were taken in by a call that has not come to write the section: it was killed, or the file cannot be written.
    An active one has no entry then, which those that there was no room for (HB-14) lack too: they are the oldest. Of a
    finished one the file must not have changed since: the same words written later, for a chore of every day, are
    another task.
    """
    document = reading.document
    placed = {_stored_id(unit.item, tasks) for unit in document.units if unit.item and unit.part is not Part.TEXT}
    placed.update(entry.task_id for unit in document.units for entry in unit.run)
    placed.update(adoption.task_id for adoptions in memory.adopted.values() for adoption in adoptions)
    active = [task.id for task in tasks if task.is_active and task.id not in placed]
    waiting = set(active[document.hidden :] if document.hidden <= len(active) else active)
    by_request: _Loose = {}
    for task in tasks:
        # What came since the section was last read is told without a clock, which a person may have set back.
        is_new = memory.seen is not None and task.id not in memory.seen
        if task.id not in placed and (is_new or task.id in waiting or reading.is_older_than(task)):
            by_request.setdefault(task.raw_user_request, deque()).append(task)
    return by_request
