"""The parts of a server without the protocol, put together as a new process would put them together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import NamedTuple

from heartbeat_mcp.archive import Archive, ArchiveFile
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.mirror.mirror import Mirror
from heartbeat_mcp.mirror.owner import make_owner
from heartbeat_mcp.mirrored_file import MirroredFile
from heartbeat_mcp.models import HeartbeatTask
from heartbeat_mcp.service import HeartbeatService
from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.task_rules import TaskMaker
from task_core.store import Store, open_store
from task_core.warning_list import WarningList
from tests.postgres import share_pool

__all__ = ["Parts", "parts_of"]


class Parts(NamedTuple):
    """A service and what it works with."""

    service: HeartbeatService
    store: Store[HeartbeatTask]
    file: MirroredFile
    archive: Archive
    mirror: Mirror
    warnings: WarningList


def parts_of(settings: HeartbeatSettings, clock: Callable[[], datetime]) -> Parts:
    """Return the service over the files that ``settings`` name, among them a HEARTBEAT.md."""
    assert settings.heartbeat_file_path
    warnings = WarningList()
    fsync, archive_path = settings.task_fsync, settings.archive_path
    store = open_store(share_pool(settings), CODEC, warnings, clock=clock, may_start_anew=True)
    archive = ArchiveFile(archive_path, warnings, fsync=fsync) if archive_path else Archive()
    maker = TaskMaker(archive, clock, Random(7), _accept)
    mirror = Mirror(settings.heartbeat_file_path, warnings, settings.heartbeat_section, 0, fsync, clock)
    file = MirroredFile(mirror, store, maker, owner=make_owner(settings), lock_seconds=settings.task_lock_timeout)
    service = HeartbeatService(file, maker, warnings, retention_days=settings.task_retention_days)
    return Parts(service, store, file, archive, mirror, warnings)


def _accept(_field: str, _value: str) -> None:
    """Accept every reference."""
