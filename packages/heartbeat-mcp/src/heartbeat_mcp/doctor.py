"""The checks of ``heartbeat-mcp doctor``: the store, the archive and HEARTBEAT.md; they change nothing (DOC-1)."""

import os
import shlex
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from heartbeat_mcp.archive import ArchiveFile
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.mirror.access import SectionLock, is_held
from heartbeat_mcp.mirror.document import Document, read_document
from heartbeat_mcp.mirror.owner import Owner, describe_other_file, describe_other_store, make_owner, read_owner
from heartbeat_mcp.mirror.section import Part, locate_section
from heartbeat_mcp.models import ACTIVE
from heartbeat_mcp.settings import HeartbeatSettings
from task_core import doctor
from task_core.doctor import MOUNTS, Check, Finding, note, right, wrong
from task_core.errors import TaskError
from task_core.files import describe, read_file
from task_core.store import Selection, open_store
from task_core.text import escape_invisible, pluralize, shorten
from task_core.warning_list import WarningList

__all__ = ["checks"]

_HEADING_LIMIT: Final = 80
"""Characters of the heading that are shown."""

_AGAIN: Final = "Do one of the two, then run doctor again."


class _Mirrored(NamedTuple):
    """HEARTBEAT.md, and the list that it should show."""

    path: Path
    section: str
    is_enabled: bool
    store: Owner
    elsewhere: str = ""
    """Another file that shows the list."""
    active: frozenset[str] = frozenset()
    """The ids of the tasks to be shown."""


def checks(settings: HeartbeatSettings, *, mounts: Path = MOUNTS) -> list[Check]:
    """Return the checks of the store, the archive and HEARTBEAT.md."""
    path, archive, store = settings.file, settings.archive_path, settings.address.path
    found = doctor.store_checks(settings, CODEC)
    if path and settings.is_searching:
        where = f"HEARTBEAT_FILE_PATH is not set: {path} is the nearest from the current folder, {Path.cwd()}"
        found.insert(0, Check("project", lambda: [right(where)]))
    if archive:
        found.append(Check("archive", partial(_check_archive, archive)))
    if path:
        folder = Path(os.path.realpath(path)).parent
        is_apart = store is None or folder != Path(os.path.realpath(store)).parent
        if is_apart and settings.auto_sync_enabled:
            found.append(Check("folder", partial(doctor.check_folder, folder)))
        file = _read_list(settings, path)
        found += [
            Check("heartbeat", partial(_check_file, file)),
            Check("mount", partial(_check_mount, path, mounts)),
            Check("backup", partial(_check_backup, path.with_name(f"{path.name}.bak"))),
        ]
    return found


def _read_list(settings: HeartbeatSettings, path: Path) -> _Mirrored:
    """Return the file at ``path`` with what the store says of it; no file is created or changed."""
    file = _Mirrored(path, settings.heartbeat_section, settings.auto_sync_enabled, make_owner(settings))
    if not file.store.is_there:
        return file
    store = open_store(settings, CODEC, WarningList())
    try:
        with store.read() as tasks:
            holder = tasks.owner
            active = frozenset(task.id for task in tasks.select(Selection(states=ACTIVE)))
        owner = file.store.with_id(store)
        recorded = read_owner(path, file.section)
        is_same = owner.is_same_file_as(holder, recorded.file if recorded and recorded.is_same_store_as(owner) else "")
        elsewhere = "" if is_same or owner.may_replace(holder) else holder
        return file._replace(store=owner, elsewhere=elsewhere, active=active)
    except TaskError:  # which the check of the store reports
        return file
    finally:
        store.close()


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
        yield from doctor.check_access(path, is_private=True)


def _check_file(file: _Mirrored) -> Iterator[Finding]:
    path = file.path
    if not file.is_enabled:
        yield note("AUTO_SYNC_ENABLED is false: the file is never written, and read only to recover")
    try:
        document = read_document(read_file(path)[0], file.section)
    except FileNotFoundError:
        when = "yet; it is created when needed" if file.is_enabled else "and will not be created"
        yield right(f"{path.name} does not exist {when}")
        if file.is_enabled:
            yield from _check_shown(file, read_document(b"", file.section))
        return
    except OSError as error:
        yield wrong(
            f"{path.name} exists but cannot be read ({describe(error)}), so no task is shown in it",
            "Save it as UTF-8, readable and writable for the user who runs the server; if it is not a file, move it "
            "away.",
        )
        return
    yield from _check_section(file, document)
    if not file.is_enabled:
        return
    # As in the mirror: if nobody has write permission, that is deliberate and binds root too.
    if path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        yield from doctor.check_access(path, is_private=False)
    else:
        yield wrong(f"{path.name} is read-only, so it is not updated", f"chmod u+w {shlex.quote(str(path))}")
    yield from doctor.check_lock(Path(os.path.realpath(path)), SectionLock)
    yield from _check_shown(file, document)


def _check_section(file: _Mirrored, document: Document) -> Iterator[Finding]:
    name, section = file.path.name, document.section
    if section.is_new:
        when = "yet; the first task adds it" if file.is_enabled else "and none is added"
        yield note(f"{name} has no section '## {file.section}' {when}")
        return
    lines = section.heading.decode(errors="replace").strip().splitlines()
    heading = shorten(escape_invisible(lines[0]), _HEADING_LIMIT)
    parts = [unit.part for unit in document.units]
    yield right(f"{name} shows {pluralize(parts.count(Part.ENTRY), 'task')} in its section '{heading}'")
    if document.conflicts:
        cure = f"Resolve the conflict in line {', '.join(map(str, document.conflicts[:10]))}."
        yield wrong(f"{name} has merge conflict markers in its section, so nothing is taken from it or written", cure)
        return
    if bullets := parts.count(Part.BULLET):
        start = "the next start or call turns them into tasks"
        outcome = start if file.is_enabled else "only a recovery turns them into tasks"
        yield note(f"{name} has {pluralize(bullets, 'bullet')} of your own; {outcome}")
    around = (section.before[: -len(section.heading)], section.after)
    if any(not locate_section(data, file.section)[0].is_new for data in around):
        use = "kept up to date" if file.is_enabled else "read"
        yield note(
            f"{name} has several sections that could be meant; only '{heading}' is {use}",
            "Rename the other headings, or merge the sections.",
        )


def _check_shown(file: _Mirrored, document: Document) -> Iterator[Finding]:
    """Yield the reasons why the file does not show the tasks of the store."""
    name, owner = file.path.name, read_owner(file.path, file.section)
    if file.elsewhere:
        yield wrong(describe_other_file(name, file.elsewhere, is_far=file.store.is_far), _AGAIN)
        return
    if is_held(file.path):
        yield wrong(
            f"another program has {name} open for writing, so it is neither read nor written", "Close the file there."
        )
    has_overflow = any(unit.part is Part.OVERFLOW for unit in document.units)
    hidden = file.active - document.ids
    if owner and not owner.gives_way_to(file.store):
        yield wrong(describe_other_store(name, owner, file.store), _AGAIN)
    elif hidden and not has_overflow and not document.conflicts:
        yield wrong(
            f"{name} does not show {pluralize(len(hidden), 'task')} of the store",
            "Start the server, or call one of its tools: it updates the file as soon as nobody else writes it.",
        )


def _check_mount(path: Path, mounts: Path) -> Iterator[Finding]:
    if doctor.is_mounted_alone(path, mounts):
        yield note(
            f"{path.name} is mounted without its folder, so it cannot be replaced in one step, and a crash can "
            "leave it incomplete",
            "Mount its folder instead.",
        )


def _check_backup(backup: Path) -> Iterator[Finding]:
    try:
        status = backup.lstat()
    except FileNotFoundError:
        yield right(f"{backup.name} does not exist: none of your edits has been overridden")
        return
    if stat.S_ISREG(status.st_mode):
        yield note(
            f"{backup.name} keeps sections as they were before your lines or edits were replaced "
            f"({pluralize(status.st_size, 'byte')})",
            "Copy out what you need, then delete it.",
        )
        yield from doctor.check_access(backup, is_private=True)
    elif stat.S_ISLNK(status.st_mode):
        yield note(f"{backup.name} is a link; the next backup replaces it")
    else:
        yield wrong(f"{backup.name} is not a file, so no section can be saved there", "Move it away.")
