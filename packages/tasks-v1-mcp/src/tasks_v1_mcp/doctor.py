"""What ``tasks-v1-mcp doctor`` looks at (DOC-1)."""

from __future__ import annotations

from task_core.doctor import Check
from task_core.store import ListCodec
from task_core.store.health import store_checks
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.settings import TasksSettings

__all__ = ["checks"]


def checks(settings: TasksSettings) -> list[Check]:
    """Return the checks of the store."""
    return store_checks(settings.tasks_file_path, ListCodec(StoredTask), makes_folder=True)
