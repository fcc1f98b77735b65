"""Task Master projects as an MCP server, without a model of its own."""

from typing import Final

__all__ = ["HAS_DATABASE", "VIEWS"]

HAS_DATABASE: Final = False
"""Whether the tasks may be in a database: they are in the file of the project."""

VIEWS: Final = {
    "list": "list the tasks, or those with this STATUS",
    "next": "show what to work on next",
    "show": "show the task or subtask with this ID",
}
"""The commands that show something, and what they show."""
