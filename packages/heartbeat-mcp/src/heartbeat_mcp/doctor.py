"""What ``heartbeat-mcp doctor`` looks at (DOC-1)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from heartbeat_mcp.archive import Archive
from heartbeat_mcp.mirror.health import mirror_checks
from heartbeat_mcp.models import Task
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.doctor import Check, Finding, HeardWarnings, check_access, check_folder, counted, right, wrong
from task_core.store import ListCodec
from task_core.store.health import store_checks

__all__ = ["checks"]


def checks(settings: HeartbeatSettings) -> list[Check]:
    """Return the checks of the store, the archive and HEARTBEAT.md."""
    folder = Path(os.path.realpath(settings.heartbeat_file_path)).parent
    is_apart = folder != Path(os.path.realpath(settings.state_path)).parent
    return [
        *store_checks(settings.state_path, ListCodec(Task, index_field="id_to_index")),
        Check("archive", partial(_check_archive, settings.archive_path)),
        *([Check("folder", partial(check_folder, folder))] if is_apart and settings.auto_sync_enabled else []),
        *mirror_checks(
            settings.heartbeat_file_path,
            settings.backup_path,
            section=settings.heartbeat_section,
            enabled=settings.auto_sync_enabled,
        ),
    ]


def _check_archive(path: Path) -> Iterator[Finding]:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        yield right(f"{path.name} is not there yet; it is made when finished tasks are cleaned away")
        return
    if stat.S_ISLNK(mode):
        yield wrong(f"{path.name} is a link, which is not followed", "Put the file itself there.")
        return
    warnings = HeardWarnings()
    tasks = Archive(path, warnings).tasks()
    if warnings.messages:
        yield from (wrong(message, "Put it right in the file, or move it away.") for message in warnings.messages)
    else:
        yield right(f"{path.name} holds {counted(len(tasks), 'task')}")
    if stat.S_ISREG(mode):
        yield from check_access(path, is_private=True)
