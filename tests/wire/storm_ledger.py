"""What a client of a storm knows of its own tasks: acknowledged changes must be there, and no other may be.

A task is known by its token, a word that its client made up and wrote into it. Only that client changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

__all__ = ["Change", "Kept", "Ledger", "Seen", "Start", "check_active"]

Fields = Mapping[str, str | None]


@dataclass(frozen=True)
class Seen:
    """One task as it is in the store."""

    token: str
    id: str
    fields: Fields
    marks: Sequence[str]
    """What was appended to it, in order."""


@dataclass(frozen=True)
class Change:
    """One call and what it makes of a task when it counts."""

    token: str
    tool: str
    arguments: Mapping[str, JsonValue]
    fields: Fields = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
    starts: str = ""
    """The id of the task that becomes the only active one of all."""


@dataclass
class Kept:
    """What is known of one task: what was acknowledged, and what may have been done besides."""

    id: str | None = None
    """None: its creation was not acknowledged."""
    fields: Fields = field(default_factory=dict)
    marks: frozenset[str] = frozenset()
    unsure: tuple[Change, ...] = ()

    def settle(self, seen: Seen | None) -> None:
        """Check the task against what is known, and know from then on what was seen."""
        if seen is None:
            assert self.id is None, f"an acknowledged task is gone: {self}"
            return
        assert self.id in {None, seen.id}, f"{seen} was acknowledged as {self.id}"
        assert seen.fields in self._possible_fields(), f"{seen} is not what was acknowledged: {self}"
        possible = self.marks.union(*(change.marks for change in self.unsure))
        assert self.marks <= set(seen.marks) <= possible, f"{seen} has other marks than were acknowledged: {self}"
        assert len(seen.marks) == len(set(seen.marks)), f"a mark was made twice: {seen}"
        self.id, self.fields, self.marks, self.unsure = seen.id, seen.fields, frozenset(seen.marks), ()

    def _possible_fields(self) -> list[Fields]:
        """Return every state that the fields may be in: all that was acknowledged, and any unsure change beside it."""
        acknowledged = [self.fields] if self.id else []
        return [*acknowledged, *({**self.fields, **change.fields} for change in self.unsure)]


@dataclass(frozen=True)
class Start:
    """A call that made a task the only active one of all, at some moment between two, by the clock of the storm."""

    id: str
    sent: float
    settled: float
    """The moment of the answer, or of the kill."""
    is_sure: bool
    """Whether it was acknowledged."""


class Ledger:
    """The tasks of one client, by their tokens, and the calls that it has under way."""

    def __init__(self) -> None:
        self.tasks: dict[str, Kept] = {}
        self.starts: list[Start] = []
        self._under_way: dict[int, tuple[Change, float]] = {}

    def send(self, number: int, change: Change, now: float) -> None:
        """Note that a call is under way; ``now`` is in seconds."""
        self._under_way[number] = change, now
        self.tasks.setdefault(change.token, Kept())

    def change(self, number: int) -> Change:
        """Return the change that a call under way asked for."""
        return self._under_way[number][0]

    def acknowledge(self, number: int, task_id: str, now: float) -> None:
        """Note that a call has succeeded, and with which task."""
        change, sent = self._under_way.pop(number)
        kept = self.tasks[change.token]
        assert kept.id in {None, task_id}, f"{change} was answered with {task_id} in place of {kept}"
        kept.id = task_id
        kept.fields = {**kept.fields, **change.fields}
        kept.marks |= change.marks
        self._note_start(change, sent, now, is_sure=True)

    def refuse(self, number: int) -> None:
        """Note that a call has failed, so that nothing of it may be there."""
        change, _ = self._under_way.pop(number)
        if self.tasks[change.token].id is None:
            del self.tasks[change.token]

    def lose(self, now: float) -> int:
        """Note that the server was killed, and return how many calls it left without an answer."""
        count = len(self._under_way)
        for change, sent in self._under_way.values():
            self.tasks[change.token].unsure += (change,)
            self._note_start(change, sent, now, is_sure=False)
        self._under_way.clear()
        return count

    def settle(self, found: Mapping[str, Seen]) -> int:
        """Check every task against the store, and return how many calls without an answer had counted all the same."""
        counted = 0
        for token, kept in list(self.tasks.items()):
            seen, before = found.get(token), replace(kept)
            kept.settle(seen)
            if seen is None:
                del self.tasks[token]
            else:
                is_changed = before.id is None or before.fields != seen.fields
                counted += is_changed + len(set(seen.marks) - before.marks if before.id else ())
        return counted

    def _note_start(self, change: Change, sent: float, settled: float, *, is_sure: bool) -> None:
        if change.starts:
            self.starts.append(Start(change.starts, sent, settled, is_sure))


def check_active(active: Sequence[str], done: Iterable[str], starts: Sequence[Start]) -> None:
    """Check that at most one task is active, and that it is one that can have been started last.

    ``done`` are the ids of the tasks that are done: the one that was started last may be among them instead.
    """
    surely = [start.sent for start in starts if start.is_sure]
    last = {start.id for start in starts if start.settled >= max(surely, default=0.0)}
    assert len(active) <= 1, f"more than one task is active: {active}"
    assert last.issuperset(active), f"{active} is active, but {last} were started last"
    assert active or not surely or not last.isdisjoint(done), f"none of {last} is active or done"
