"""Claiming the tasks of a project for the agent that calls (AG-11)."""

from dataclasses import replace
from itertools import chain

from task_core.claims.claim import Claim
from task_core.errors import InvalidTransition
from task_core.store.claiming import Claimed
from taskmaster_mcp.core.selection import list_all_ready
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.registry import Target
from taskmaster_mcp.project.claimed_tags import ClaimedTags

__all__ = ["ProjectClaiming"]


class ProjectClaiming:
    """Claims tasks and subtasks in the tag of ``target``, as ``Claiming`` says."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def claim(self, task_id: str, note: str, *, is_forced: bool) -> Claimed:
        """Claim a task, or without an id one whose agent is gone, or else the first that ``next_task`` would choose."""
        project, start = self._target.project, f"{self._target.tag}:"
        register = project.store.claims
        with project.transaction() as work:
            now = project.store.now()
            tasks = project.tag(work, self._target.tag)
            claimed = ClaimedTags(work, [])
            index = tasks.index()
            here = [it for it in work.claims if it.task.startswith(start) and it.task.removeprefix(start) in index]
            claims = replace(register.list_claims(claimed, now), claims=here)
            ready = [f"{start}{it.id}" for it in chain(*list_all_ready(tasks)) if it.status == "pending"]
            chosen = f"{start}{tasks.get(task_id.lstrip('# '), index).id}" if task_id else claims.find_free(ready)
            if not chosen:
                return Claimed(others=[_without(start, it) for it in here if it.is_living(now)])
            item = index[chosen.removeprefix(start)]
            if item.is_settled:
                raise InvalidTransition(item.status, "claimed", (), "It is finished: claim another one.")
            claim = register.hold(claimed, chosen, note, now, is_forced=is_forced)
            return Claimed(_without(start, claim), render_whole(item, project.scores(self._target.tag)))

    def release(self, task_id: str) -> str:
        """Give up a claim, as ``Claiming`` says."""
        store, name = self._target.project.store, f"{self._target.tag}:{task_id.lstrip('# ')}"
        with self._target.project.transaction() as work:
            work.claims = store.claims.list_claims(ClaimedTags(work, []), store.now()).release(name)
        return ""


def _without(start: str, claim: Claim) -> Claim:
    """Return the claim with the id of its task as it is in the tag."""
    return replace(claim, task=claim.task.removeprefix(start))
