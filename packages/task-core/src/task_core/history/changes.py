"""The history of a list: what each change replaced, and who made it (AG-3)."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, NamedTuple, NotRequired, Self

from pydantic import JsonValue, TypeAdapter
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

from task_core.claims.client_process import Holder
from task_core.models import Record

__all__ = [
    "BOARD",
    "COMMAND_LINE",
    "HISTORY_DAYS",
    "MAX_BYTES",
    "OUTSIDE",
    "PEOPLE",
    "Change",
    "JsonObject",
    "Origin",
    "Recorder",
    "Step",
    "TreePlace",
    "current_origin",
    "made_by",
    "name_client",
    "needle_of",
]

HISTORY_DAYS: Final = 90.0
"""Days for which changes are kept, unless a setting says otherwise (AG-5)."""

MAX_BYTES: Final = 10_000_000
"""Bytes of the changes of one list that are kept."""

OUTSIDE: Final = "outside"
"""The author of an edit by hand that was taken in."""

COMMAND_LINE: Final = "command line"
BOARD: Final = "board"
"""The authors of changes by a person."""

PEOPLE: Final = frozenset({BOARD, COMMAND_LINE, OUTSIDE})
"""All authors that stand for a person."""

_MAX_VALUE: Final = 100_000
"""Characters of a value; of a longer one only length and digest are kept (AG-5)."""

_MAX_CHANGE: Final = 1_000_000
"""Bytes of a change; of a larger one only the ids of the first tasks are kept."""

_MAX_NAMED: Final = 1_000
"""The number of those ids."""

_MAX_AUTHOR: Final = 200
"""Characters of an author's name, which a client chooses."""

JsonObject = dict[str, JsonValue]


@dataclass
class Origin:
    """Who makes a change, and by what."""

    by: str
    """the client with its version, ``command line``, ``board`` or ``outside``"""
    tool: str
    """the tool or the command"""
    agent: str = ""
    """the name that an agent gave itself, perhaps with ``#`` and the number of its claim"""
    is_remote: bool = False
    """true if other agents call through the same process"""
    holder: Holder | None = None
    """the process to which a command attaches its claims"""
    change: "Change | None" = None
    """the last change that it has made"""


_ORIGIN: ContextVar[Origin | None] = ContextVar("origin", default=None)


def current_origin() -> Origin:
    """Return who makes the changes of this call."""
    return _ORIGIN.get() or Origin("", "")


@contextmanager
def made_by(
    by: str, tool: str, agent: str = "", *, is_remote: bool = False, holder: Holder | None = None
) -> Iterator[Origin]:
    """Let every change in this block, and in what it awaits, have this origin."""
    name = agent.partition("#")[0]
    origin = Origin(f"{by} ({name})"[:_MAX_AUTHOR] if name else by[:_MAX_AUTHOR], tool, agent, is_remote, holder)
    token = _ORIGIN.set(origin)
    try:
        yield origin
    finally:
        _ORIGIN.reset(token)


def name_client(name: str, version: str) -> str:
    """Return the name of a client as an author in the history; it never equals that of a person."""
    author = f"{name} {version}"[:_MAX_AUTHOR].strip()
    return f"client {author}" if author in PEOPLE else author


class TreePlace(NamedTuple):
    """A place in a tree."""

    parent: str
    """the id of the parent, or ``ROOTS``"""
    next: str = ""
    """the id of the next sibling, or nothing for the last place"""


@dataclass
class Step:
    """One thing that a change did to one record; ``before`` and ``after`` have only the fields that differ."""

    id: str
    what: str
    """``created``, ``changed``, ``moved`` or ``removed``; or ``claimed``, where a claim was taken over"""
    before: JsonObject = field(default_factory=dict)
    after: JsonObject = field(default_factory=dict)
    left: TreePlace | None = None
    reached: TreePlace | None = None
    is_cut: bool = False
    """true if a value is too long to be kept, so that the change cannot be undone"""

    @classmethod
    def parse(cls, found: Mapping[str, Any]) -> Self:
        """Return the step that ``render`` has rendered."""
        values = found.get("before", {}), found.get("after", {}), found.get("from"), found.get("to")
        return cls(found["id"], found["what"], *values, is_cut=found.get("cut", False))

    def replacing(self, before: JsonObject, after: JsonObject) -> Self | None:
        """Return this step, from these values to those, or None if it changes a record that stays as it is."""
        equal = {name for name, value in before.items() if name in after and after[name] == value}
        for kept, values in ((self.before, before), (self.after, after)):
            for name in values if self.what != "changed" else [it for it in values if it not in equal]:
                kept[name] = self._keep(values[name])
        return self if self.what != "changed" or self.before or self.after else None

    def _keep(self, value: JsonValue) -> JsonValue:
        text = value if isinstance(value, str) else to_json(value).decode() if value else ""
        if len(text) <= _MAX_VALUE:
            return value
        self.is_cut = True
        return {"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}

    def put_back(self, values: JsonObject, stamp: str) -> Iterator[JsonObject]:
        """Put back what this step replaced in ``values``, or yield each field that differs, with what it is ``now``.

        The ``stamp`` stays as it is. Of what was created, no other field may have been added.
        """
        added = values if self.what == "created" else ()
        for name in [*dict.fromkeys([*self.before, *self.after, *added])]:
            if name == stamp:
                continue
            if (name in values) != (name in self.after) or values.get(name) != self.after.get(name):
                yield {"field": name, "now": values.get(name)}
            elif name in self.before:
                values[name] = self.before[name]
            else:
                del values[name]

    def render(self) -> JsonObject:
        """Return the step as JSON."""
        found: JsonObject = {"id": self.id, "what": self.what}
        for name, place in (("from", self.left), ("to", self.reached)):
            if place is not None:
                found[name] = place._asdict()
        for name, values in (("before", self.before), ("after", self.after)):
            if values:
                found[name] = values
        return found | ({"cut": True} if self.is_cut else {})


@dataclass
class Change:
    """One change: everything that a call did, in order."""

    at: int
    """microseconds since 1970"""
    by: str
    tool: str
    steps: list[Step]
    number: int = 0
    """rises from change to change of a list"""
    more: int = 0
    """steps of a large change that are not kept"""

    @classmethod
    def parse(cls, number: int, at: int, text: str | bytes) -> Self:
        """Return the change that was kept as ``text``; ``ValueError`` means that it is none."""
        found = _kept_form().validate_json(text)
        steps = [Step.parse(step) for step in found["tasks"]]
        return cls(at, found["by"], found["tool"], steps, number, found.get("more", 0))

    @property
    def is_whole(self) -> bool:
        """True if all that it replaced is known."""
        return bool(self.steps) and not self.more and not any(step.is_cut for step in self.steps)

    def render(self) -> JsonObject:
        """Return author, tool and steps as JSON, as they are kept."""
        more: JsonObject = {"more": self.more} if self.more else {}
        return {"by": self.by, "tool": self.tool, "tasks": [step.render() for step in self.steps], **more}

    def to_json(self) -> bytes:
        """Return the text that is kept; a large change loses its values, and then its last steps."""
        data = to_json(self.render())
        if len(data) <= _MAX_CHANGE:
            return data
        self.more = max(len(self.steps) - _MAX_NAMED, 0)
        self.steps = [Step(step.id, step.what, is_cut=True) for step in self.steps[:_MAX_NAMED]]
        return to_json(self.render())


def needle_of(task_id: str) -> str:
    """Return a part of the text of every change of a task; nothing, which is in every text, for no task."""
    return f'{{"id":{to_json(task_id).decode()},"what":' if task_id else ""


@cache
def _kept_form() -> TypeAdapter[dict[str, Any]]:
    """Return what checks the form in which changes are kept; made when it is needed, since that takes time."""
    step: dict[str, Any] = {"id": str, "what": Literal["created", "changed", "moved", "removed", "claimed"]}
    step |= dict.fromkeys(("before", "after"), NotRequired[JsonObject]) | {"cut": NotRequired[bool]}
    step |= dict.fromkeys(("from", "to"), NotRequired[TreePlace])
    change = {"by": str, "tool": str, "tasks": list[TypedDict("Step", step)], "more": NotRequired[int]}
    return TypeAdapter(TypedDict("Change", change))


@dataclass
class _Draft:
    step: Step
    old: Record | None
    new: Record | None


class Recorder:
    """Records the steps of a change while it is made; several changes of one record's fields are one step."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._latest: dict[str, _Draft] = {}

    def created(self, record: Record, place: TreePlace | None) -> None:
        """Record that ``record`` was added."""
        self._add(Step(record.id, "created", reached=place), None, record)

    def changed(self, old: Record, new: Record) -> None:
        """Record that ``new`` took the place of ``old``."""
        latest = self._latest.get(new.id)
        if latest:
            latest.new = new
        else:
            self._add(Step(new.id, "changed"), old, new)

    def moved(self, record_id: str, left: TreePlace, reached: TreePlace) -> None:
        """Record that a record was moved with everything below it."""
        self._drafts.append(_Draft(Step(record_id, "moved", left=left, reached=reached), None, None))

    def removed(self, record: Record, place: TreePlace | None) -> None:
        """Record that ``record``, below which there is nothing any more, was removed."""
        self._add(Step(record.id, "removed", left=place), record, None)
        del self._latest[record.id]

    def noted(self, step: Step) -> None:
        """Record a step that changes no record."""
        self._drafts.append(_Draft(step, None, None))

    def take(self, moment: int, by: str, tool: str) -> Change | None:
        """Return what was recorded since the last time as one change, or None if that was nothing."""
        steps = [step for draft in self._drafts if (step := _finish(draft))]
        self._drafts, self._latest = [], {}
        return Change(moment, by, tool, steps) if steps else None

    def _add(self, step: Step, old: Record | None, new: Record | None) -> None:
        draft = _Draft(step, old, new)
        self._drafts.append(draft)
        self._latest[step.id] = draft


def _finish(draft: _Draft) -> Step | None:
    """Return the step with the values that it replaced, or None if they are the same."""
    step = draft.step
    return step if step.what in {"moved", "claimed"} else step.replacing(_values(draft.old), _values(draft.new))


def _values(record: Record | None) -> JsonObject:
    return from_json(record.to_json()) if record else {}
