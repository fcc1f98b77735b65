"""The history of a project, whose changes can be undone (AG-6)."""

from task_core.history.changes import Change
from task_core.store.store import NEWEST
from task_core.store.undo import NotUndone, find_change
from taskmaster_mcp.codec import MASTER, TagDocument
from taskmaster_mcp.core.checking import find_issues
from taskmaster_mcp.core.items import JsonObject, TagTasks
from taskmaster_mcp.core.tags import make_tag
from taskmaster_mcp.direct.registry import Target
from taskmaster_mcp.direct.tagging import switch_tag
from taskmaster_mcp.project.project import put_tag
from taskmaster_mcp.project.tag_history import find_needles, undo

__all__ = ["ProjectHistory"]


class ProjectHistory:
    """The changes of the project of ``target``; an id without a tag is one of its tag."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def changes(self, task_id: str = "", before: int = NEWEST, limit: int = 1) -> list[Change]:
        """Return at most ``limit`` changes, of one task or of all, with a number below ``before``, newest first."""
        target = self._target
        target.project.check_exists()
        needles = find_needles(target.tag, task_id.lstrip("# ")) if task_id else [""]
        return target.project.store.history.find(needles, before, limit)

    def undo(self, number: int) -> list[str]:
        """Undo the change with this number, and return the ids of its steps.

        Another tag becomes the current one if that has gone: first one that has come back.

        Raises:
            ChangeNotFound: there is none.
            NotUndone: something has changed since, or dependencies would be wrong that were right.
        """
        project = self._target.project
        change = find_change(self, number)

        def save(work: TagDocument, key: str, value: JsonObject) -> None:
            tasks = TagTasks(key, value)
            tasks.is_changed = True
            project.save(work, tasks)

        with project.transaction() as work:
            before = {key: find_issues(project.tag(work, key)) for key in work.tags}
            current = project.current_tag()
            restored = undo(work, change, save, project.now)
            for key in restored:
                wrong = [it for it in find_issues(project.tag(work, key)) if it.is_repairable]
                if new := [it for it in wrong if it not in before.get(key, ())]:
                    raise NotUndone(change, f"then {new[0].as_json['message']}", [new[0].as_json])
            if not work.tags:  # Task Master reads no document without tags
                put_tag(work, MASTER, make_tag(None, project.now, f"Tasks for {MASTER} context"))
            following = [*(key for key in restored if key not in before), *({MASTER} & {*work.tags}), *work.tags]
        if current in before and current not in work.tags:
            switch_tag(self._target, following[0])
        return list(dict.fromkeys(step.id for step in change.steps))
