"""The command ``heartbeat-mcp``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from task_core.server.cli import Program, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heartbeat_mcp.settings import HeartbeatSettings
    from task_core.doctor import Check
    from task_core.server.app import TaskServer
    from task_core.server.commands import SideFile
    from task_core.store import Codec

__all__ = ["main"]


def main() -> None:
    """Run the server or one of its commands, as the command line and the environment say."""
    program = Program(
        "heartbeat-mcp",
        "An agent's to-do list as an MCP server, mirrored into the TODO section of HEARTBEAT.md.",
        settings_type=_settings_type,
        build=_build,
        checks=_checks,
        codec=_codec,
        side=_side,
        greeting=Path(__file__).with_name("greeting.json"),
    )
    run(program)


def _settings_type() -> type[HeartbeatSettings]:
    from heartbeat_mcp.settings import HeartbeatSettings  # noqa: PLC0415 - it would delay the first answer

    return HeartbeatSettings


def _build(settings: HeartbeatSettings) -> TaskServer:
    from heartbeat_mcp.server import build_server  # noqa: PLC0415 - it would delay the first answer

    return build_server(settings)


def _checks(settings: HeartbeatSettings) -> Iterable[Check]:
    from heartbeat_mcp.doctor import checks  # noqa: PLC0415 - serving does not need it

    return checks(settings)


def _codec() -> Codec[Any]:
    from heartbeat_mcp.models import CODEC  # noqa: PLC0415 - only some commands need it

    return CODEC


def _side(settings: HeartbeatSettings) -> SideFile:
    from heartbeat_mcp.transfer import ArchiveTransfer  # noqa: PLC0415 - only some commands need it

    return ArchiveTransfer(settings)


if __name__ == "__main__":
    main()
