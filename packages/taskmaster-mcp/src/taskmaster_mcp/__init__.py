"""Task Master projects as an MCP server, without a model of its own."""

from typing import Final

__all__ = ["HAS_DATABASE"]

HAS_DATABASE: Final = False
"""A project keeps its tasks in a file, never in a database."""
