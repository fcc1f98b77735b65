"""Cortex tasks and their branches as an MCP server that runs ctx."""

from typing import Final

__all__ = ["DISTRIBUTION", "HAS_STORE"]

DISTRIBUTION: Final = "cortex-tasks-mcp"
"""The name under which this package is installed: the short name belongs to somebody else (CX-1)."""

HAS_STORE: Final = False
"""The tasks are in the backend, which only ``ctx`` reaches."""
