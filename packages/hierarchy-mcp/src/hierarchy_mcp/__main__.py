"""The command ``hierarchy-mcp``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from task_core.server.cli import Program, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hierarchy_mcp.settings import HierarchySettings
    from task_core.doctor import Check
    from task_core.server.app import TaskServer
    from task_core.store import Codec

__all__ = ["main"]


def main() -> None:
    """Run the server or one of its commands, as the command line and the environment say."""
    program = Program(
        "hierarchy-mcp",
        "Nested tasks as an MCP server, started and completed in order.",
        settings_type=_settings_type,
        build=_build,
        checks=_checks,
        codec=_codec,
        greeting=Path(__file__).with_name("greeting.json"),
    )
    run(program)


def _settings_type() -> type[HierarchySettings]:
    from hierarchy_mcp.settings import HierarchySettings  # noqa: PLC0415 - it would delay the first answer

    return HierarchySettings


def _build(settings: HierarchySettings) -> TaskServer:
    from hierarchy_mcp.server import build_server  # noqa: PLC0415 - it would delay the first answer

    return build_server(settings)


def _checks(settings: HierarchySettings) -> Iterable[Check]:
    from hierarchy_mcp.doctor import checks  # noqa: PLC0415 - serving does not need it

    return checks(settings)


def _codec() -> Codec[Any]:
    from hierarchy_mcp.codec import CODEC  # noqa: PLC0415 - only some commands need it

    return CODEC


if __name__ == "__main__":
    main()
