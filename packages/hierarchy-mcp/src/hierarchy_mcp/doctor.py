"""The checks of ``hierarchy-mcp doctor`` (DOC-1)."""

from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.settings import HierarchySettings
from task_core.doctor import Check
from task_core.store.health import store_checks

__all__ = ["checks"]


def checks(settings: HierarchySettings) -> list[Check]:
    """Return the checks of the store."""
    return store_checks(settings, CODEC)
