"""The document in which the tasks are kept."""

from typing import Final

from task_core.store import ListCodec
from tasks_v1_mcp.models import KIND

__all__ = ["CODEC"]

CODEC: Final = ListCodec(KIND, foreign_fields=("id_to_index",))
"""``{"version", "tasks"}``; the tasks are in the order of their creation."""
