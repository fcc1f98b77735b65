"""Decides the meaning of each unit of the section, from the receipts and the tasks of the store (HB-12, HB-17).

The transaction that takes lines in and the write of the section both use this, so they cannot disagree. Nothing
here reads or writes a file.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from heartbeat_mcp.mirror.entries import Receipts, digest_of, render_entry
from heartbeat_mcp.mirror.items import FoundTask, Item, parse_task, read_item
from heartbeat_mcp.mirror.section import Part, Unit
from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from task_core.text import escape_invisible, shorten

__all__ = ["Reading", "describe_reading", "read_section"]

_OFFSET: Final = 2
"""Columns before the content of an entry: its bullet and a blank."""

_MAX_SAID: Final = 100
"""Characters of what a person wrote that a warning repeats (HB-12)."""

_RECURS: Final = re.compile(rb"\b(?:every|hourly|daily|weekly)\b|\xe6\xaf\x8f", re.IGNORECASE)
"""A word by which people say in their own way that a task returns; the last one is the Chinese for every."""

_BRACKET: Final = re.compile(rb"\[[^\[\]\n]*\]")


@dataclass
class Reading:
    """The meaning of the section, given the receipts and the tasks."""

    additions: list[tuple[FoundTask, bytes]] = field(default_factory=list)
    """The bullets, and the entries without a task, to take in, in the order of the section, each with its text."""
    ticks: dict[str, HeartbeatStatus] = field(default_factory=dict)
    """The statuses to apply, by id: a person changed nothing but the bracket of the entry (HB-17)."""
    kept: list[Unit] = field(default_factory=list)
    """The units that stay as they are, below the entries."""
    refused: list[str] = field(default_factory=list)
    """The bullets that no call would accept, with the reasons."""
    overridden: list[str] = field(default_factory=list)
    """The changes of a person to entries, which the store overrides."""
    missing: list[str] = field(default_factory=list)
    """The ids of active tasks whose entry is missing."""
    shown: dict[str, bytes] = field(default_factory=dict)
    """The entry of each task that has one in the file, by id, unless a person changed it: that gets no receipt."""
    present: set[str] = field(default_factory=set)
    """The ids of the tasks that have an entry in the file, whatever it says."""

    @property
    def is_settled(self) -> bool:
        """True if there is nothing to take in or to apply."""
        return not (self.additions or self.ticks)


def describe_reading(reading: Reading, added: Sequence[str], file: str, *, is_recovery: bool) -> str:
    """Return the warning about what was taken in from ``file``, or nothing; ``added`` has the ids of the new tasks."""
    names = escape_invisible(", ".join(added))
    ticked = ", ".join(f"{name} ({status.value})" for name, status in reading.ticks.items())
    said = []
    if added and is_recovery and any(found.id for found, _ in reading.additions):
        said.append(f"The store was empty; its tasks were recovered from {file}: {names}.")
    elif added and is_recovery:
        said.append(f"Tasks were added from the lines of {file}: {names}.")
    elif added:
        said.append(f"Lines added to {file} by hand are now tasks: {names}.")
    pairs = zip(added, reading.additions, strict=True)
    once = [name for name, (found, text) in pairs if _RECURS.search(text) and not found.extra_fields]
    if once:
        which = escape_invisible(", ".join(once))
        said.append(f"To be done once: {which}. A task returns if its line ends in a mark such as (every 4h).")
    if ticked:
        said.append(f"Statuses set in {file} by hand were applied: {ticked}.")
    return " ".join(said)


def read_section(
    units: Sequence[Unit],
    receipts: Receipts | None,
    find: Callable[[str], HeartbeatTask | None],
    fault_of: Callable[[FoundTask], str],
    *,
    is_recovery: bool = False,
) -> Reading:
    """Return what the ``units`` of the section mean.

    ``find`` returns the task with an id, also an archived one; ``fault_of`` returns why a call would refuse a
    bullet. A recovery accepts ids that were written by hand.
    """
    entries = {unit.item.closing_id for unit in units if unit.part is Part.ENTRY and unit.item}
    bullets = receipts.bullets(entries) if receipts else Counter[str]()
    reader = _Reader(receipts, bullets, find, fault_of, is_recovery)
    for unit in units:
        reader.place(unit)
    reading = reader.reading
    has_overflow = any(unit.part is Part.OVERFLOW for unit in units)
    if receipts and not has_overflow:
        gone = receipts.find_missing(reading.present)
        reading.missing = [task_id for task_id in gone if (task := find(task_id)) and task.is_active]
    return reading


@dataclass
class _Reader:
    receipts: Receipts | None
    bullets: Counter[str]
    find: Callable[[str], HeartbeatTask | None]
    fault_of: Callable[[FoundTask], str]
    is_recovery: bool
    reading: Reading = field(default_factory=Reading)
    added: set[tuple[str | None, bytes]] = field(default_factory=set)

    def place(self, unit: Unit) -> None:
        """Add ``unit`` to the part of the reading where it belongs."""
        item = unit.item
        if unit.part is Part.TEXT:
            self.reading.kept.append(unit)
        elif item is None:
            return  # the server's own line, which is written again if needed
        elif (name := item.closing_id or item.named_id) and (task := self.find(name)):
            self._place_known(unit, item, task)
        elif unit.part is Part.BULLET:
            digest = digest_of(unit.text)
            if self.bullets[digest]:
                self.bullets[digest] -= 1  # an earlier call took it in but did not write the section
            else:
                self._add(unit, item)
        elif unit.is_set_apart:
            self.reading.kept.append(unit)
        elif not (self.receipts and self.receipts.knows(item.closing_id or "", unit.text)):
            self._add(unit, item)

    def _place_known(self, unit: Unit, item: Item, task: HeartbeatTask) -> None:
        is_first = task.id not in self.reading.present
        self.reading.present.add(task.id)
        is_ours = self.receipts is not None and self.receipts.knows(task.id, unit.text)
        status = _ticked(unit, item, task) if is_first and not is_ours else None
        if status is not None and status is not task.status:
            self.reading.ticks[task.id] = status
        elif not (is_ours or self.receipts is None or _says_what_is_stored(unit, item, task)):
            self.reading.overridden.append(_difference(item, task))
            return
        if is_first:
            self.reading.shown[task.id] = unit.text

    def _add(self, unit: Unit, item: Item) -> None:
        found = parse_task(item, takes_name=self.is_recovery)
        if found.id is not None and (found.id, unit.text) in self.added:
            return  # a copy of an entry, which says nothing more
        if fault := self.fault_of(found):
            self.reading.kept.append(unit)
            self.reading.refused.append(f"'{_short(found.raw_user_request)}' ({fault})")
        else:
            self.reading.additions.append((found, unit.text))
            self.added.add((found.id, unit.text))


def _says_what_is_stored(unit: Unit, item: Item, task: HeartbeatTask) -> bool:
    """Return whether nothing is lost when the entry of ``task``, or none once it is finished, replaces ``unit``."""
    statuses = [task.status] if task.is_active else [HeartbeatStatus.PENDING, HeartbeatStatus.RUNNING]
    forms = [task.changed(status=status) for status in statuses]
    if any(unit.text == render_entry(form) or item.says_the_same_as(_entry_item(form)) for form in forms):
        return True
    return not item.is_entry and parse_task(item, takes_name=True).agrees_with(task)


def _ticked(unit: Unit, item: Item, task: HeartbeatTask) -> HeartbeatStatus | None:
    """Return the status that a person set in the bracket of the entry of ``task``, if nothing else differs."""
    if not task.is_active or not item.is_entry:
        return None
    bracket = _BRACKET.search(unit.text)
    as_before = _BRACKET.sub(f"[{task.status.value}]".encode(), unit.text, count=1)
    if bracket is None or as_before != render_entry(task):
        return None
    return item.status or (HeartbeatStatus.PENDING if not bracket[0][1:-1].strip() else None)


def _difference(item: Item, task: HeartbeatTask) -> str:
    """Return the id of the task and, in a few words, what a person changed in its entry."""
    own = _entry_item(task)
    mine, its = item.details, own.details
    changed = [(name, value) for name, value in mine.fields.items() if value != its.fields.get(name)]
    changed += [("idea", idea) for idea in mine.ideas if idea not in its.ideas]
    changed += [("text", mine.rest)] if mine.rest else []
    changed += [("first line", item.title)] if item.title != own.title else []
    said = ", ".join(f"{name}: '{_short(value)}'" for name, value in changed)
    return f"{escape_invisible(task.id)} ({shorten(said, _MAX_SAID)})" if said else escape_invisible(task.id)


def _short(text: str) -> str:
    return shorten(escape_invisible(text[: _MAX_SAID + 1]), _MAX_SAID)


def _entry_item(task: HeartbeatTask) -> Item:
    """Return the entry for ``task`` as it is read back."""
    return read_item(render_entry(task).decode(), _OFFSET)
