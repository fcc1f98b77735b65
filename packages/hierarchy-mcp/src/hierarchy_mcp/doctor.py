"""What ``hierarchy-mcp doctor`` looks at (DOC-1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hierarchy_mcp.codec import ForestCodec
from hierarchy_mcp.models import Task
from hierarchy_mcp.settings import HierarchySettings
from hierarchy_mcp.tree import walk
from task_core.doctor import Check, right
from task_core.store.health import store_checks

__all__ = ["checks"]


def checks(settings: HierarchySettings) -> list[Check]:
    """Return the checks of the file with the tasks, if there is to be one."""
    if settings.file_path is None:
        return [Check("store", lambda: [right("the tasks are in memory only and end with the server")])]
    return store_checks(settings.file_path, ForestCodec(), every=_every)


def _every(roots: Mapping[str, Task]) -> Iterable[Task]:
    return (task for task, _ in walk(tuple(roots.values())))
