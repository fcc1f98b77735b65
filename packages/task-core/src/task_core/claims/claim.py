"""A claim on a task, and what it forbids (AG-11, AG-15)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Annotated, Final, NamedTuple

from pydantic import Field, JsonValue, TypeAdapter

from task_core.claims.client_process import ASSIGNED
from task_core.errors import InvalidArguments, TaskError, echo
from task_core.history.changes import PEOPLE, Change, JsonObject, Step
from task_core.models import format_timestamp, from_microseconds

__all__ = [
    "Agent",
    "Claim",
    "ClaimList",
    "ClaimLost",
    "NotClaimed",
    "Taken",
    "TaskClaimed",
    "check_changes",
    "describe",
    "parse_claims",
]

_MAX_CLAIMS: Final = 200
"""The number of living claims in one list."""


_Moment = Annotated[int, Field(ge=0, lt=2**57)]
"""Microseconds since 1970, up to a year of four digits."""


class Agent(NamedTuple):
    """The agent that calls: a name, or none, in one process, or in any process if it has none of its own."""

    process: str
    """the session of its process; empty if it has no process of its own, as over HTTP"""
    name: str = ""
    number: int = 0
    """the number in the token of the claim for which it calls; 0 if it gave no token"""

    def holds(self, claim: "Claim") -> bool:
        """Return whether the claim is this agent's."""
        return (self.process, self.name) == (claim.process, claim.agent)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """An agent's claim on a task and on everything below it."""

    task: str
    since: _Moment
    """microseconds since 1970; rises from claim to claim of a list"""
    agent: str = ""
    """the name that the agent chose"""
    by: str = ""
    """the client, as a label"""
    process: str = ""
    """the session of the agent's process, or empty, as in ``Agent``"""
    note: str = ""
    until: _Moment = 0
    """microseconds since 1970, when others may take the task; 0: as long as the process lives"""
    kept_by: str = ""
    """the session whose file lists it; empty if that is the session of this process"""
    is_ended: bool = False
    """true if its process has ended: anybody may take the task"""
    news: str = ""
    """the last change that a person made to the task: author, tool and moment"""

    @property
    def token(self) -> str:
        """The name of this claim, ``AGENT#NUMBER``, which no later claim has (AG-14)."""
        return f"{self.agent}#{self.since}"

    @property
    def holder(self) -> str:
        """A label for the holder."""
        return self.agent or self.by or "another agent"

    @property
    def lifetime(self) -> str:
        """The end of a claim without a deadline, in words."""
        return "until a person releases it" if self.process == ASSIGNED else "for as long as its agent runs"

    def is_living(self, now: int) -> bool:
        """Return whether it keeps others out at ``now``, in microseconds since 1970."""
        return not self.is_ended and (not self.until or now < self.until)

    def to_json(self) -> JsonObject:
        """Return the fields to keep, without empty ones."""
        return {name: value for name, value in vars(self).items() if value and name != "kept_by"}


def parse_claims(data: str | bytes) -> list[Claim]:
    """Return the claims in a JSON array, as ``to_json`` gave them; another text raises ``ValueError``."""
    return _kept_form().validate_json(data)


@cache
def _kept_form() -> TypeAdapter[list[Claim]]:
    return TypeAdapter(list[Claim])  # made when it is needed, since that takes time


class TaskClaimed(TaskError):
    """Another agent holds the task, or one above or below it."""

    def __init__(self, claim: Claim, agent: Agent, *, wanted: str) -> None:
        """``agent`` called, for the task ``wanted``."""
        is_own_process = bool(claim.agent) and claim.process == agent.process
        since, end = (f"{from_microseconds(moment):%Y-%m-%d %H:%M:%S} UTC" for moment in (claim.since, claim.until))
        until = f" until {end}, or longer if its agent calls" if claim.until else f" {claim.lifetime}"
        below = f", which is above or below '{echo(wanted)}'" if wanted != claim.task else ""
        name = f" If you are '{echo(claim.agent)}', give that as 'agent'." if is_own_process else ""
        super().__init__(
            f"'{echo(claim.holder)}' has claimed '{echo(claim.task)}'{below}, since {since},{until}, so nothing was "
            f"changed.{name} Work on another task.",
            describe(claim),
        )


class NotClaimed(TaskError):
    """The agent does not hold the task."""

    def __init__(self, task_id: str) -> None:
        super().__init__(
            f"You hold no claim on '{echo(task_id)}', so there is nothing to release.", {"id": echo(task_id)}
        )


class ClaimLost(TaskError):
    """The claim whose token the call gave has ended."""

    def __init__(self, agent: Agent) -> None:
        token = f"{agent.name}#{agent.number}"
        super().__init__(
            f"The claim '{echo(token)}' has ended, so nothing was changed: its task was finished, removed, released or "
            "taken over. Read the task, and claim it again if it is open.",
            {"token": echo(token)},
        )


def describe(claim: Claim) -> JsonObject:
    """Return a claim as tools and errors show it."""
    shown: dict[str, JsonValue] = {"task": claim.task, "agent": claim.holder}
    shown["since"] = format_timestamp(from_microseconds(claim.since))
    if claim.until:
        shown["until"] = format_timestamp(from_microseconds(claim.until))
    return shown | ({"note": claim.note} if claim.note else {})


class Taken(NamedTuple):
    """The claims after one was made, and the steps for the history: one for each claim that was taken over."""

    claims: list[Claim]
    steps: list[Step]


@dataclass(frozen=True)
class ClaimList:
    """The claims on open tasks as one agent sees them at one moment; ``find_above`` is as in ``check_changes``."""

    claims: Sequence[Claim]
    agent: Agent
    now: int
    """microseconds since 1970"""
    find_above: Callable[[str], Iterable[str]]

    def find_others(self, task_id: str) -> list[Claim]:
        """Return the living claims of other agents on a task, or on one above or below it."""
        return [it for it in self._related(task_id) if it.is_living(self.now) and not self.agent.holds(it)]

    def find_own(self, task_id: str) -> Claim | None:
        """Return the living claim of the agent on exactly this task, if it has one."""
        found = (it for it in self.claims if it.task == task_id and it.is_living(self.now) and self.agent.holds(it))
        return next(found, None)

    def take(self, new: Claim, *, is_forced: bool) -> Taken:
        """Return the claims with a ``new`` one of the agent, which replaces those on its task, above it and below it.

        Raises:
            TaskClaimed: another agent holds the task, or one above or below it, and the claim is not forced.
            InvalidArguments: the agent has too many claims, or takes one over without saying why.
        """
        others = self.find_others(new.task)
        if others and not is_forced:
            raise TaskClaimed(others[0], self.agent, wanted=new.task)
        if others and not new.note:
            raise InvalidArguments([("note", f"say why you take the task over from '{echo(others[0].holder)}'")])
        gone = self._related(new.task)
        claims = [*(it for it in self.claims if it not in gone), new]
        if sum(it.is_living(self.now) for it in claims) > _MAX_CLAIMS:
            raise InvalidArguments([("id", f"release or finish a task first: {_MAX_CLAIMS} are claimed")])
        after: JsonObject = {"agent": new.holder, "note": new.note}
        return Taken(claims, [Step(it.task, "claimed", {"agent": it.holder}, after) for it in others])

    def release(self, task_id: str) -> list[Claim]:
        """Return the claims without that of the agent on this task.

        Raises:
            TaskClaimed: another agent holds it.
            NotClaimed: nobody does.
            ClaimLost: the claim whose token the agent gave has ended.
        """
        _check_number(self.agent, self.claims)
        own = self.find_own(task_id)
        if own is None:
            for claim in self.find_others(task_id):
                raise TaskClaimed(claim, self.agent, wanted=task_id)
            raise NotClaimed(task_id)
        return [it for it in self.claims if it is not own]

    def find_free(self, tasks: Iterable[str]) -> str | None:
        """Return the first task that nobody holds: one whose agent is gone, else the first of ``tasks``."""
        ended = [it.task for it in self.claims if not it.is_living(self.now)]
        held = {it.task for it in self.claims if it.is_living(self.now)}
        above = {name for task in held for name in self.find_above(task)}
        free = (name for name in chain(ended, tasks) if name not in above and not held & {name, *self.find_above(name)})
        return next(free, None)

    def _related(self, task_id: str) -> list[Claim]:
        above = {task_id, *self.find_above(task_id)}
        return [it for it in self.claims if it.task in above or task_id in self.find_above(it.task)]


def check_changes(
    changes: Iterable[Change],
    claims: Sequence[Claim],
    agent: Agent,
    now: int,
    find_above: Callable[[str], Iterable[str]],
) -> list[Claim]:
    """Return the claims as they are after these changes, with the news for those whose tasks people have changed.

    ``find_above`` returns the ids of the tasks above one, or nothing for one that is gone.

    Raises:
        TaskClaimed: another agent holds a task that was changed, or one above it.
        ClaimLost: the claim whose token the agent gave has ended.
    """
    after = [*claims]
    for change in changes:
        is_person = change.by in PEOPLE
        if not is_person:
            _check_number(agent, claims)
        touched = {name: step.id for step in change.steps for name in _touched(step, find_above)}
        for place, claim in enumerate(after):
            if claim.task not in touched or not claim.is_living(now) or (not is_person and agent.holds(claim)):
                continue
            if not is_person:
                raise TaskClaimed(claim, agent, wanted=touched[claim.task])
            after[place] = replace(claim, news=f"{change.by}, {change.tool}, {change.at}")
    return after


def _check_number(agent: Agent, claims: Iterable[Claim]) -> None:
    if agent.number and not any(agent.holds(it) and it.since == agent.number for it in claims):
        raise ClaimLost(agent)


def _touched(step: Step, find_above: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield the ids of the task of a step and of those above it, before and after."""
    yield step.id
    yield from find_above(step.id)
    for place in (step.left, step.reached):
        if place and place.parent:
            yield place.parent
            yield from find_above(place.parent)
