"""The command ``tasks-v1-mcp``."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from task_core.server.cli import run
from tasks_v1_mcp.settings import TasksSettings

if TYPE_CHECKING:
    from task_core.server.app import TaskServer

__all__ = ["main"]


def main() -> None:
    """Serve the tasks as the command line and the environment say."""
    description = "A person's tasks as an MCP server, moved through their states."
    run("tasks-v1-mcp", version("tasks-v1-mcp"), description, TasksSettings, _build)


def _build(settings: TasksSettings) -> TaskServer:
    # The SDK takes half a second to load, which --help and a refused setting need not wait for.
    from tasks_v1_mcp.server import build_server  # noqa: PLC0415

    return build_server(settings)


if __name__ == "__main__":
    main()
