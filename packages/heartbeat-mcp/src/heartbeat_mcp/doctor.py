"""The checks of ``heartbeat-mcp doctor`` (DOC-1)."""

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from heartbeat_mcp.archive import ArchiveFile
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.mirror.health import mirror_checks
from heartbeat_mcp.mirror.lock import read_owner
from heartbeat_mcp.mirror.owner import Owner, make_owner
from heartbeat_mcp.models import ACTIVE
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.cli.store_checks import store_checks
from task_core.doctor import Check, Finding, check_access, check_folder, right, wrong
from task_core.errors import TaskError
from task_core.store import Selection, open_store
from task_core.text import pluralize
from task_core.warning_list import WarningList

__all__ = ["checks"]


def checks(settings: HeartbeatSettings) -> list[Check]:
    """Return the checks of the store, the archive and HEARTBEAT.md."""
    file, backup, archive = settings.file, settings.backup_path, settings.archive_path
    found = store_checks(settings, CODEC)
    if file and settings.is_searching:
        where = f"HEARTBEAT_FILE_PATH is not set: {file} is the nearest from the current folder, {Path.cwd()}"
        found.insert(0, Check("project", lambda: [right(where)]))
    if archive:
        found.append(Check("archive", partial(_check_archive, archive)))
    if file and backup:
        folder = Path(os.path.realpath(file)).parent
        store = settings.address.path
        is_apart = store is None or folder != Path(os.path.realpath(store)).parent
        if is_apart and settings.auto_sync_enabled:
            found.append(Check("folder", partial(check_folder, folder)))
        owner, elsewhere, active = _find_owners(settings, file)
        found += mirror_checks(
            file,
            backup,
            section=settings.heartbeat_section,
            store=owner,
            elsewhere=elsewhere,
            active=active,
            enabled=settings.auto_sync_enabled,
        )
    return found


def _check_archive(path: Path) -> Iterator[Finding]:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        yield right(f"{path.name} does not exist yet; it is created when finished tasks are archived")
        return
    if stat.S_ISLNK(mode):
        yield wrong(f"{path.name} is a link, which is not followed", "Put the file itself there.")
        return
    warnings = WarningList()
    tasks = [*ArchiveFile(path, warnings).tasks()]
    messages = warnings.take()
    yield from (wrong(message, "Correct the file, or move it away.") for message in messages)
    if not messages:
        yield right(f"{path.name} holds {pluralize(len(tasks), 'task')}")
    if stat.S_ISREG(mode):
        yield from check_access(path, is_private=True)


def _find_owners(settings: HeartbeatSettings, file: Path) -> tuple[Owner, str, frozenset[str]]:
    """Return the store with its id, another file than ``file`` that shows its list, and the ids of active tasks.

    No file is created or changed.
    """
    owner = make_owner(settings)
    if not owner.is_there:
        return owner, "", frozenset()
    store = open_store(settings, CODEC, WarningList())
    try:
        with store.read() as tasks:
            holder = tasks.owner
            active = frozenset(task.id for task in tasks.select(Selection(states=ACTIVE)))
        owner = owner.with_id(store)
        recorded = read_owner(file, settings.heartbeat_section)
        is_same = owner.is_same_file_as(holder, recorded.file if recorded and recorded.is_same_store_as(owner) else "")
        return owner, "" if is_same or owner.may_replace(holder) else holder, active
    except TaskError:  # which the check of the store reports
        return owner, "", frozenset()
    finally:
        store.close()
