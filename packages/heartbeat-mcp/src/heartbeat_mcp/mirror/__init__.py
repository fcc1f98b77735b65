"""The section of HEARTBEAT.md that shows the tasks: the only code that touches that file."""

from heartbeat_mcp.mirror.entries import Entry, Receipts
from heartbeat_mcp.mirror.items import FoundTask
from heartbeat_mcp.mirror.mirror import Mirror

__all__ = ["Entry", "FoundTask", "Mirror", "Receipts"]
