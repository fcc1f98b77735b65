"""The command ``heartbeat-mcp``."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from heartbeat_mcp.settings import HeartbeatSettings
from task_core.server.cli import run

if TYPE_CHECKING:
    from task_core.server.app import TaskServer

__all__ = ["main"]


def main() -> None:
    """Serve the to-do list as the command line and the environment say."""
    description = "An agent's to-do list as an MCP server, mirrored into the TODO section of HEARTBEAT.md."
    run("heartbeat-mcp", version("heartbeat-mcp"), description, HeartbeatSettings, _build)


def _build(settings: HeartbeatSettings) -> TaskServer:
    # The SDK takes half a second to load, which --help and a refused setting need not wait for.
    from heartbeat_mcp.server import build_server  # noqa: PLC0415

    return build_server(settings)


if __name__ == "__main__":
    main()
