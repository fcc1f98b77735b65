"""Task Master projects as an MCP server, without a model of its own."""

from typing import Final

__all__ = ["HAS_DATABASE"]

HAS_DATABASE: Final = False
"""Whether the tasks may be in a database: they are in the file of the project."""
