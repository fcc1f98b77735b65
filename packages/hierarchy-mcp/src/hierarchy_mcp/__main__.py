"""The command ``hierarchy-mcp``."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from hierarchy_mcp.settings import HierarchySettings
from task_core.server.cli import run

if TYPE_CHECKING:
    from task_core.server.app import TaskServer

__all__ = ["main"]


def main() -> None:
    """Serve the nested tasks as the command line and the environment say."""
    description = "Nested tasks as an MCP server, started and completed in order."
    run("hierarchy-mcp", version("hierarchy-mcp"), description, HierarchySettings, _build)


def _build(settings: HierarchySettings) -> TaskServer:
    # The SDK takes half a second to load, which --help and a refused setting need not wait for.
    from hierarchy_mcp.server import build_server  # noqa: PLC0415

    return build_server(settings)


if __name__ == "__main__":
    main()
