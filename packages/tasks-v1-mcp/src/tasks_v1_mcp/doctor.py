"""The checks of ``tasks-v1-mcp doctor`` (DOC-1)."""

from task_core.doctor import Check
from task_core.store.health import store_checks
from tasks_v1_mcp.models import CODEC
from tasks_v1_mcp.settings import TasksSettings

__all__ = ["checks"]


def checks(settings: TasksSettings) -> list[Check]:
    """Return the checks of the store."""
    return store_checks(settings, CODEC, makes_folder=not settings.task_store)
