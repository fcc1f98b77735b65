"""The history of the usual project, whose changes can be undone (AG-6)."""

from task_core.history.changes import Change
from task_core.store.store import NEWEST
from task_core.store.undo import NotUndone, find_change
from taskmaster_mcp.core.checking import find_issues
from taskmaster_mcp.direct.registry import ProjectRegistry, Target
from taskmaster_mcp.project.project import put_tag
from taskmaster_mcp.project.tag_history import join_id, undo

__all__ = ["ProjectHistory"]


class ProjectHistory:
    """The changes of the project for calls that name none."""

    def __init__(self, registry: ProjectRegistry) -> None:
        self._registry = registry

    def changes(self, task_id: str = "", before: int = NEWEST, limit: int = 1) -> list[Change]:
        """Return at most ``limit`` changes, of one task or of all, with a number below ``before``, newest first."""
        target = Target(self._registry)
        target.project.check_exists()
        wanted = join_id(target.tag, task_id.lstrip("# ")) if task_id else ""
        return target.project.store.history.find(wanted, before, limit)

    def undo(self, number: int) -> list[str]:
        """Undo the change with this number, and return the ids of its steps.

        Raises:
            ChangeNotFound: there is none.
            NotUndone: something has changed since, or dependencies would be wrong that were right.
        """
        project = Target(self._registry).project
        change = find_change(self, number)
        with project.transaction() as work:
            before = {key: find_issues(project.tag(work, key)) for key in work.tags}
            for key in undo(work, change, put_tag, project.now):
                wrong = [it for it in find_issues(project.tag(work, key)) if it.is_repairable]
                if new := [it for it in wrong if it not in before.get(key, ())]:
                    raise NotUndone(change, f"then {new[0].as_json['message']}", [new[0].as_json])
        return list(dict.fromkeys(step.id for step in change.steps))
