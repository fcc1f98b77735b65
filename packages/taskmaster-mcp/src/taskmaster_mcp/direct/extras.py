"""The history of a project, and claims on its tasks, for the extra sets of tools (AG-6, AG-11)."""

from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain

from task_core.claims.claim import Claim
from task_core.errors import InvalidTransition
from task_core.history.changes import Change
from task_core.store.claiming import Claimed
from task_core.store.store import NEWEST
from task_core.store.undo import ChangeNotFound, NotUndone
from taskmaster_mcp.codec import MASTER, TagDocument
from taskmaster_mcp.core.graph import find_issues
from taskmaster_mcp.core.items import JsonObject, TagTasks
from taskmaster_mcp.core.status import list_all_ready
from taskmaster_mcp.core.tags import make_tag
from taskmaster_mcp.core.views import render_whole
from taskmaster_mcp.direct.registry import Target
from taskmaster_mcp.direct.tagging import switch_tag
from taskmaster_mcp.project.project import put_tag
from taskmaster_mcp.project.tag_history import find_needles, undo

__all__ = ["ProjectClaiming", "ProjectHistory"]


class ProjectHistory:
    """The changes of the project of ``target``; ids of its tag are without the name of the tag."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def changes(self, task_id: str = "", before: int = NEWEST, limit: int = 1) -> list[Change]:
        """Return at most ``limit`` changes, of one task or of all, with a number below ``before``, newest first."""
        needles = find_needles(self._target.tag, task_id.lstrip("# ")) if task_id else [""]
        found = self._find(needles, before, limit)
        for step in (step for change in found for step in change.steps):
            step.id = self._show(step.id)
        return found

    def transaction(self) -> AbstractContextManager[TagDocument]:
        """Open a transaction on the project, of which those that are opened within it are a part."""
        return self._target.project.transaction()

    def undo(self, number: int) -> list[str]:
        """Undo the change with this number, and return the ids of its steps, those of tags last.

        Another tag becomes the current one if that has gone: first one that has come back.

        Raises:
            ChangeNotFound: there is none.
            NotUndone: something has changed since, or dependencies would be wrong that were right.
        """
        project = self._target.project
        change = next((it for it in self._find([""], number + 1, 1) if it.number == number), None)
        if change is None:
            raise ChangeNotFound(number)

        def save(work: TagDocument, key: str, value: JsonObject) -> None:
            tasks = TagTasks(key, value)
            tasks.is_changed = True
            project.save(work, tasks)

        with project.transaction() as work:
            before = {key: find_issues(project.tag(work, key)) for key in work.tags}
            current = project.current_tag()
            restored = undo(work, change, save, project.now, self._show)
            for key in restored:
                wrong = [it for it in find_issues(project.tag(work, key)) if it.is_repairable]
                if new := [it for it in wrong if it not in before.get(key, ())]:
                    raise NotUndone(change, f"then {new[0].as_json['message']}", [new[0].as_json])
            if not work.tags:  # Task Master reads no document without tags
                put_tag(work, MASTER, make_tag(None, project.now, f"Tasks for {MASTER} context"))
            following = [*(key for key in restored if key not in before), *({MASTER} & {*work.tags}), *work.tags]
        if current in before and current not in work.tags:
            switch_tag(self._target, following[0])
        ids = dict.fromkeys(self._show(step.id) for step in change.steps)
        return sorted(ids, key=lambda name: name.endswith(":"))

    def _find(self, needles: list[str], before: int, limit: int) -> list[Change]:
        self._target.project.check_exists()
        return self._target.project.store.history.find(needles, before, limit)

    def _show(self, step_id: str) -> str:
        """Return the id of a step as people know it in the tag."""
        return step_id.removeprefix(f"{self._target.tag}:") or step_id


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
            index = tasks.index()
            here = [it for it in work.claims if it.task.startswith(start) and it.task.removeprefix(start) in index]
            claims = replace(register.list_claims(work, now), claims=here)
            ready = [f"{start}{it.id}" for it in chain(*list_all_ready(tasks)) if it.status == "pending"]
            chosen = f"{start}{tasks.get(task_id.lstrip('# '), index).id}" if task_id else claims.find_free(ready)
            if not chosen:
                return Claimed(others=[_without(start, it) for it in here if it.is_living(now)])
            item = index[chosen.removeprefix(start)]
            if item.is_settled:
                raise InvalidTransition(item.status, "claimed", (), "It is finished: claim another one.")
            claim = register.hold(work, chosen, note, now, is_forced=is_forced)
            return Claimed(_without(start, claim), render_whole(item, project.scores(self._target.tag)))

    def release(self, task_id: str) -> str:
        """Give up a claim, as ``Claiming`` says."""
        store, name = self._target.project.store, f"{self._target.tag}:{task_id.lstrip('# ')}"
        with self._target.project.transaction() as work:
            work.claims = store.claims.list_claims(work, store.now()).release(name)
        return ""


def _without(start: str, claim: Claim) -> Claim:
    """Return the claim with the id of its task as it is in the tag."""
    return replace(claim, task=claim.task.removeprefix(start))
