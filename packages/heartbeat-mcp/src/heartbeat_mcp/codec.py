"""The document in which the tasks are kept (source: requirements 3.1)."""

from typing import Final

from heartbeat_mcp.models import KIND, SECTION, STORE_ID
from task_core.store import ListCodec

__all__ = ["CODEC"]

CODEC: Final = ListCodec(KIND, index_field="id_to_index", own_fields=(SECTION, STORE_ID))
"""``{"version", "tasks", "id_to_index", "section"}``; the tasks are in the order of their creation."""
