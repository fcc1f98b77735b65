"""The section of HEARTBEAT.md that shows the tasks: the only code that touches that file."""

from __future__ import annotations

from heartbeat_mcp.mirror.found import FoundTask
from heartbeat_mcp.mirror.mirror import Mirror

__all__ = ["FoundTask", "Mirror"]
