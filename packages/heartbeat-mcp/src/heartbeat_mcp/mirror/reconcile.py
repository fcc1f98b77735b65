"""Decides what each unit of the section is in view of the tasks of the store (HB-12).

``Mirror.additions`` and ``Mirror.write`` both go by this, so they cannot disagree. Nothing here reads or writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heartbeat_mcp.mirror.document import Document
from heartbeat_mcp.mirror.entries import Entries, Entry, render_entry
from heartbeat_mcp.mirror.found import FoundTask, found_task
from heartbeat_mcp.mirror.items import Item
from heartbeat_mcp.mirror.units import Part, Unit
from heartbeat_mcp.models import Status, Task
from task_core.store.base import Collection

__all__ = ["Adoption", "Memory", "Plan", "reconcile"]


class Adoption(NamedTuple):
    """A task that a bullet was taken in as."""

    task_id: str
    is_whole: bool
    """whether the task holds or held all that the bullet says"""


@dataclass(frozen=True)
class Memory:
    """What one process remembers of the section from call to call."""

    entries: Mapping[str, bytes] = field(default_factory=dict)
    """the text of entries, by id, as a server is known to have written them"""
    adopted: Mapping[bytes, Sequence[Adoption]] = field(default_factory=dict)
    """bullets that still stand in the file though they were taken in, by their text"""
    seen: frozenset[str] | None = None
    """the tasks there were when the section was last read, until it is written"""


@dataclass
class Plan:
    """What the section says in view of the tasks."""

    found: list[FoundTask] = field(default_factory=list)
    """to be taken in, in the order of the section"""
    kept: list[Unit] = field(default_factory=list)
    """to stay as they are, below the entries"""
    overridden: list[str] = field(default_factory=list)
    """ids of what a person changed and the store has authority over"""
    entries: dict[str, bytes] = field(default_factory=dict)
    """see ``Memory``"""
    adopted: dict[bytes, list[Adoption]] = field(default_factory=dict)
    """see ``Memory``"""


def reconcile(
    document: Document,
    tasks: Collection[Task],
    memory: Memory,
    entries: Entries,
    *,
    is_recovery: bool = False,
) -> Plan:
    """Return what stands in ``document`` in view of ``tasks``; a recovery takes over ids that were written by hand."""
    return _Reconciliation(document, tasks, memory, entries, is_recovery=is_recovery).plan


class _Reconciliation:
    def __init__(
        self,
        document: Document,
        tasks: Collection[Task],
        memory: Memory,
        entries: Entries,
        *,
        is_recovery: bool,
    ) -> None:
        self.plan = Plan()
        self._document = document
        self._tasks = tasks
        self._memory = memory
        self._entries = entries
        self._is_recovery = is_recovery
        self._adopted = {
            text: deque(adoption for adoption in adoptions if adoption.task_id in tasks)
            for text, adoptions in memory.adopted.items()
        }
        self._loose = _tasks_without_entry(document, tasks, memory)
        self._texts: dict[str, bytes] = {}
        for unit in document.units:
            self._place(unit)

    def _place(self, unit: Unit) -> None:
        item = unit.item
        if unit.part is Part.TEXT:
            self.plan.kept.append(unit)
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
            self._place_unknown(unit, found_task(item))

    def _place_entry(self, unit: Unit, item: Item, task: Task) -> None:
        if unit.text == self._memory.entries.get(task.id) or self._holds_no_more_than(unit, item, task):
            self.plan.entries[task.id] = unit.text
        else:
            self.plan.overridden.append(task.id)

    def _holds_no_more_than(self, unit: Unit, item: Item, task: Task) -> bool:
        """Whether nothing is lost when ``unit`` gives way to the entry of ``task``, or to none once it is finished."""
        forms = [self._entries.of(task)]
        if not task.is_active:
            older = [task.changed(status=status) for status in (Status.PENDING, Status.RUNNING)]
            forms = [Entry(form, render_entry(form)) for form in older]
        if any(unit.text == form.text or item.says_the_same_as(form.item) for form in forms):
            return True
        return not item.is_entry and found_task(item, takes_name=True).agrees_with(task)

    def _place_unknown(self, unit: Unit, found: FoundTask) -> None:
        """Take in an entry whose task is not in the store, unless this process wrote it and the task has gone since."""
        task_id = found.id or ""
        if unit.text == self._memory.entries.get(task_id):
            self.plan.entries[task_id] = unit.text
            return
        self.plan.overridden.append(task_id)
        if self._texts.get(task_id) != unit.text:
            self._take_in(found, unit)

    def _place_bullet(self, unit: Unit, item: Item) -> None:
        found = found_task(item, takes_name=self._is_recovery)
        adoption = self._adoption(unit, found)
        if adoption is None:
            self._take_in(found, unit)
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

    def _take_in(self, found: FoundTask, unit: Unit) -> None:
        """Put ``found`` among the additions; an id that is taken already is left to the service to make."""
        is_taken = found.id in self._texts
        if found.id is not None:
            self._texts.setdefault(found.id, unit.text)
        self.plan.found.append(found.without_id() if is_taken else found)


def _stored_id(item: Item, tasks: Collection[Task]) -> str | None:
    """Return the id of the stored task that ``item`` is the entry of, even if its closing comment is gone."""
    task_id = item.closing_id or item.named_id
    return task_id if task_id in tasks else None


_Loose = dict[str, deque[Task]]


def _tasks_without_entry(document: Document, tasks: Collection[Task], memory: Memory) -> _Loose:
    """Return the tasks that a bullet may be, by request, in stored order.

    They were taken in by a call that has not come to write the section: it was killed, or the file cannot be written.
    An active one has no entry then, which those that there was no room for (HB-14) lack too: they are the oldest. Of a
    finished one the file must not have changed since: the same words written later, for a chore of every day, are
    another task.
    """
    placed = {_stored_id(unit.item, tasks) for unit in document.units if unit.item and unit.part is not Part.TEXT}
    placed.update(adoption.task_id for adoptions in memory.adopted.values() for adoption in adoptions)
    active = [task.id for task in tasks if task.is_active and task.id not in placed]
    waiting = set(active[document.hidden :] if document.hidden <= len(active) else active)
    by_request: _Loose = {}
    for task in tasks:
        # What came since the section was last read is told without a clock, which a person may have set back.
        is_new = memory.seen is not None and task.id not in memory.seen
        if task.id not in placed and (is_new or task.id in waiting or document.is_older_than(task)):
            by_request.setdefault(task.raw_user_request, deque()).append(task)
    return by_request
