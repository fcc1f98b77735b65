"""The claims on the tasks of a store: who holds what, and what that forbids in each transaction (AG-11 to AG-16)."""

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

from pydantic_core import to_json

from task_core.claims.claim import Agent, Claim, ClaimList, check_changes, parse_claims
from task_core.claims.client_process import Holder
from task_core.claims.session_files import SessionFiles
from task_core.errors import InvalidArguments, StoreWriteFailed, echo
from task_core.history.changes import Change, Step, current_origin
from task_core.warning_list import WarningList

__all__ = ["CLAIM_SECONDS", "LISTENING", "ChangedTasks", "ClaimRegister", "ClaimedTasks"]

CLAIM_SECONDS: Final = 900.0
"""Seconds after which the claim of an agent without a process of its own ends, unless it calls again (AG-14)."""

LISTENING: Final = "subscriptions/listen"
"""The tool in the origin of a read that extends the claims of every agent of a client that listens (AG-14)."""

_MAX_ENDED: Final = 100
"""The number of claims of agents that are gone that are kept, the last ones."""


class ClaimedTasks(Protocol):
    """The tasks that claims are on."""

    @property
    def kept_claims(self) -> str:
        """The claims that are kept with the list, as JSON."""

    def is_open(self, task_id: str, /) -> bool:
        """Return whether there is a task with this id on which work is left."""


class ChangedTasks(ClaimedTasks, Protocol):
    """A transaction on such tasks."""

    claims: list[Claim]
    history: list[Change]

    @property
    def ended(self) -> Collection[str]:
        """The ids of tasks whose claims end, although they are open again."""

    def above(self, task_id: str) -> Iterable[str]:
        """Return the ids of the tasks above one, or nothing for one that is gone."""

    def keep_claims(self, text: str) -> None:
        """Keep claims with the list, as JSON."""

    def note_steps(self, steps: Sequence[Step]) -> None:
        """Keep in the history what was done to claims."""


class ClaimRegister:
    """The claims of one list: in session files, or else with the list in its database."""

    def __init__(
        self,
        warnings: WarningList,
        files: SessionFiles | None = None,
        *,
        seconds: float = CLAIM_SECONDS,
        is_shared: bool = False,
    ) -> None:
        """Agents have ``seconds`` until a claim ends that no process holds: all if ``is_shared`` between machines."""
        self._warnings = warnings
        self._files = files
        self._session = files.session if files else secrets.token_hex(8)
        self._microseconds = int(seconds * 1_000_000)
        self._is_shared = is_shared
        self._own: dict[int, Claim] = {}
        """the claims that agents of this process have made and not given up, by their numbers"""
        self._unsaved: list[Claim] | None = None
        """the claims as they were kept before changes that are not saved yet"""
        self._replaced: list[Claim] | None = None
        """those before the changes of this transaction, if it has changed any"""

    @property
    def agent(self) -> Agent:
        """The agent of this call."""
        origin = current_origin()
        name, _, number = origin.agent.partition("#")
        process = origin.holder.process if origin.holder else self._session
        return Agent("" if origin.is_remote else process, name, int(number or 0))

    def find(self, tasks: ClaimedTasks, now: Callable[[], int]) -> list[Claim]:
        """Return the claims on open tasks, the oldest first; those whose agent is gone say so.

        ``now`` returns the present moment in microseconds since 1970.
        """
        return [claim for claim in self._read(tasks, now) if tasks.is_open(claim.task)]

    def find_kept(self) -> set[str]:
        """Return the tasks that session files name, of agents that are gone too."""
        return {claim.task for claim in self._files.read()} if self._files else set()

    def observe(self, tasks: ClaimedTasks, now: Callable[[], int]) -> bool:
        """Report what others have done to the claims of this process, if they may have.

        Return whether a claim of the agent that calls is to be extended, which a transaction does.
        """
        origin = current_origin()
        has_deadline = origin.is_remote and (origin.agent or origin.tool == LISTENING)
        if not (has_deadline or (self._own and (self._files is None or self._files.is_news()))):
            return False
        found = self.find(tasks, now)
        self._report(found)
        return any(self._renew(claim, now) is not claim for claim in found)

    def begin(self, work: ChangedTasks, now: Callable[[], int]) -> list[Claim]:
        """Let ``work`` have the claims on open tasks, those of the agent that calls renewed, and return all as kept."""
        self._replaced = None
        kept = self._read(work, now)
        work.claims = [self._renew(claim, now) for claim in kept if work.is_open(claim.task)]
        self._report(work.claims)
        return kept

    def end(self, work: ChangedTasks, kept: list[Claim], now: Callable[[], int]) -> None:
        """Check what ``work`` has changed, and keep its claims if they are not those that are ``kept``.

        It raises what ``check_changes`` does, and ``StoreWriteFailed``.
        """
        if not (work.claims or kept or self._own or current_origin().agent or (self._files and self._files.is_untidy)):
            return
        agent, edited = self.agent, set[int]()
        if work.claims or current_origin().agent:
            checked = check_changes(work.history, work.claims, agent, now(), work.above)
            edited = {new.since for old, new in zip(work.claims, checked, strict=True) if new is not old}
            work.claims = [it for it in checked if work.is_open(it.task) and it.task not in work.ended]
        # An agent need not hear of the end of what it has finished or given up itself.
        known = edited.union(claim.since for claim in work.claims)
        self._own = {it.since: it for it in self._own.values() if it.since in known or not agent.holds(it)}
        if edited:
            self._report(work.claims)
        if work.claims != kept or (self._files and self._files.is_untidy):
            forgotten = [it for it in work.claims if it.is_ended][:-_MAX_ENDED]
            work.claims = [it for it in work.claims if it not in forgotten]
            self._own |= self._find_own(work.claims)
            self._replaced = kept
            self._unsaved = kept if self._unsaved is None else self._unsaved
            if self._files:
                self._files.write(work.claims)
            else:
                work.keep_claims(to_json([claim.to_json() for claim in work.claims]).decode())

    def settle(self, *, is_saved: bool) -> None:
        """Put claims back as they were kept before changes that were not saved, if the disk allows that at least."""
        before, self._unsaved, self._replaced = self._unsaved, None, None
        if not is_saved:
            self._put_back(before)

    def undo(self) -> None:
        """Put claims back as they were before the transaction that has just failed."""
        before, self._replaced = self._replaced, None
        self._put_back(before)

    def _put_back(self, before: list[Claim] | None) -> None:
        if before is not None:
            self._own = self._find_own(before)
            if self._files:
                with suppress(StoreWriteFailed):
                    self._files.write(before)

    def list_claims(self, work: ChangedTasks, now: int) -> ClaimList:
        """Return the claims of a transaction as the agent that calls finds them."""
        return ClaimList(work.claims, self.agent, now, work.above)

    def hold(self, work: ChangedTasks, task: str, note: str, now: int, *, is_forced: bool) -> Claim:
        """Claim a task for the agent that calls, and return its claim: the one that it has, unless the note is another.

        It raises what ``ClaimList.take`` does, and ``InvalidArguments`` if the agent has neither a process of its own
        nor a name.
        """
        claims = self.list_claims(work, now)
        claim = claims.find_own(task)
        if claim is None or (note and note != claim.note):
            claim = self._make(task, note, now, work.claims)
            work.claims, steps = claims.take(claim, is_forced=is_forced)
            work.note_steps(steps)
        return claim

    def _make(self, task: str, note: str, now: int, claims: Sequence[Claim]) -> Claim:
        origin, agent = current_origin(), self.agent
        if not (agent.process or agent.name):
            raise InvalidArguments([("agent", "give a name of your own, and give it with every call on this task")])
        since = max([now, *(claim.since + 1 for claim in claims)])
        until = now + self._microseconds if self._is_shared or origin.is_remote else 0
        holder = origin.holder or Holder("")
        values = {"agent": agent.name, "process": agent.process, "kept_by": holder.process, "note": note}
        return Claim(task=task, since=since, until=until, by=holder.title or origin.by, **values)

    def close(self) -> None:
        """End the session of this process."""
        if self._files:
            self._files.close()

    def _read(self, tasks: ClaimedTasks, now: Callable[[], int]) -> list[Claim]:
        if self._files:
            found = self._files.read()
        else:
            found = [] if tasks.kept_claims == "[]" else parse_claims(tasks.kept_claims)
        if any(claim.until for claim in found):
            moment = now()
            return [replace(claim, is_ended=True) if 0 < claim.until <= moment else claim for claim in found]
        return found

    def _find_own(self, claims: Iterable[Claim]) -> dict[int, Claim]:
        return {it.since: it for it in claims if it.process == self._session and not it.is_ended}

    def _renew(self, claim: Claim, now: Callable[[], int]) -> Claim:
        """Return a claim, with a later deadline if it has one, the agent calls, and a tenth of its time has passed."""
        until = now() + self._microseconds if claim.until and self._is_from_holder(claim) else 0
        if until - claim.until <= self._microseconds // 10:
            return claim
        return replace(claim, until=until, is_ended=False, kept_by="")

    def _is_from_holder(self, claim: Claim) -> bool:
        """Return whether the agent that holds a claim calls, or its client listens to changes."""
        origin, agent = current_origin(), self.agent
        if origin.tool != LISTENING:
            return agent.holds(claim)
        by = f"{origin.by} ({claim.agent})" if claim.agent else origin.by
        return not claim.is_ended and (claim.process, claim.by) == (agent.process, by)

    def _report(self, claims: Sequence[Claim]) -> None:
        if self._files:
            self._files.note_seen()
        present = {claim.since: claim for claim in claims}
        for number, claim in [*self._own.items()]:
            now = present.get(number)
            if now is None or now.is_ended:
                self._own.pop(number, None)  # a reader may have reported it at the same time
                why = "its time is over" if now else "its task was finished or removed, or somebody took it over"
                self._warnings.add(f"claim {number}", f"The claim of {_name(claim)} has ended: {why}.")
            elif now.news:
                who, what = [*now.news.split(", "), "", ""][:2]
                message = f"{who} changed {_name(claim)} ({what}), which is claimed here: read it before you go on."
                self._warnings.add(f"claim {number} {now.news}", message)


def _name(claim: Claim) -> str:
    by = f" by '{echo(claim.agent)}'" if claim.agent else ""
    return f"'{echo(claim.task)}'{by}"
