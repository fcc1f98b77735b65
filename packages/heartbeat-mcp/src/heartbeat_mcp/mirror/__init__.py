"""The section of HEARTBEAT.md that shows the tasks: the only code that touches that file."""

from heartbeat_mcp.mirror.found import FoundTask
from heartbeat_mcp.mirror.frame import Entry
from heartbeat_mcp.mirror.mirror import Mirror
from heartbeat_mcp.mirror.receipts import Receipts

__all__ = ["Entry", "FoundTask", "Mirror", "Receipts"]
