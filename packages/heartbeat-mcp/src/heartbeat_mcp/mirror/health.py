"""Checks of HEARTBEAT.md with the code that reads it; they change nothing (DOC-1)."""

import os
import shlex
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from heartbeat_mcp.mirror.document import Document, read_document
from heartbeat_mcp.mirror.lock import SectionLock, read_owner
from heartbeat_mcp.mirror.owner import Owner, describe_other_file, describe_other_store
from heartbeat_mcp.mirror.section import Part, locate_section
from heartbeat_mcp.mirror.sharing import is_held
from task_core.cli.store_checks import check_lock
from task_core.doctor import MOUNTS, Check, Finding, check_access, is_mounted_alone, note, right, wrong
from task_core.files import describe, read_file
from task_core.text import escape_invisible, pluralize, shorten

__all__ = ["mirror_checks"]

_HEADING_LIMIT: Final = 80
"""Characters of the heading that are shown."""


def mirror_checks(
    path: Path,
    backup: Path,
    *,
    section: str,
    store: Owner,
    elsewhere: str = "",
    active: frozenset[str] = frozenset(),
    enabled: bool,
    mounts: Path = MOUNTS,
) -> list[Check]:
    """Return the checks of the file at ``path``: the section called ``section`` for ``store``, and its backup.

    ``elsewhere`` names another file that shows the list; ``active`` has the ids of the tasks to be shown.
    """
    is_shown = enabled and not elsewhere
    return [
        Check("heartbeat", partial(_check_file, path, section, store, enabled=enabled)),
        Check("shown", partial(_check_shown, path, section, active if is_shown else None, store)),
        Check("list", partial(_check_list, path.name, elsewhere if enabled else "", is_far=store.is_far)),
        Check("mount", partial(_check_mount, path, mounts)),
        Check("backup", partial(_check_backup, backup)),
    ]


def _check_owner(path: Path, section: str, store: Owner) -> Iterator[Finding]:
    owner = read_owner(path, section)
    if owner and not owner.gives_way_to(store):
        yield wrong(describe_other_store(path.name, owner, store), "Do one of the two, then run doctor again.")


def _check_shown(path: Path, name: str, active: frozenset[str] | None, store: Owner) -> Iterator[Finding]:
    if active is None:
        return
    try:
        data = read_file(path)[0]
    except FileNotFoundError:
        data = b""
    except OSError:  # which the check of the file reports
        return
    if is_held(path):
        yield wrong(
            f"another program has {path.name} open for writing, so it is neither read nor written",
            "Close the file there.",
        )
    owner, document = read_owner(path, name), read_document(data, name)
    has_overflow = any(unit.part is Part.OVERFLOW for unit in document.units)
    hidden = active - document.ids
    if hidden and not has_overflow and not document.conflicts and (owner is None or owner.gives_way_to(store)):
        yield wrong(
            f"{path.name} does not show {pluralize(len(hidden), 'task')} of the store",
            "Start the server, or call one of its tools: it updates the file as soon as nobody else writes it.",
        )


def _check_list(file: str, elsewhere: str, *, is_far: bool) -> Iterator[Finding]:
    if elsewhere:
        yield wrong(describe_other_file(file, elsewhere, is_far=is_far), "Do one of the two, then run doctor again.")


def _check_file(path: Path, name: str, store: Owner, *, enabled: bool) -> Iterator[Finding]:
    if not enabled:
        yield note("AUTO_SYNC_ENABLED is false: the file is never written, and read only to recover")
    try:
        data, _ = read_file(path)
    except FileNotFoundError:
        when = "yet; it is created when needed" if enabled else "and will not be created"
        yield right(f"{path.name} does not exist {when}")
        return
    except OSError as error:
        yield wrong(
            f"{path.name} exists but cannot be read ({describe(error)}), so no task is shown in it",
            "Make it readable and writable for the user who runs the server; if it is not a file, move it away.",
        )
        return
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        yield wrong(f"{path.name} is UTF-16, not UTF-8, so no task is shown in it", "Save it as UTF-8.")
        return
    yield from _check_section(path.name, read_document(data, name), name, enabled=enabled)
    if enabled:
        yield from _check_access(path)
        yield from check_lock(Path(os.path.realpath(path)), SectionLock)
        yield from _check_owner(path, name, store)


def _check_section(file: str, document: Document, name: str, *, enabled: bool) -> Iterator[Finding]:
    section = document.section
    if section.is_new:
        when = "yet; the first task adds it" if enabled else "and none is added"
        yield note(f"{file} has no section '## {name}' {when}")
        return
    lines = section.heading.decode(errors="replace").strip().splitlines()
    heading = shorten(escape_invisible(lines[0]), _HEADING_LIMIT)
    entries = sum(unit.part is Part.ENTRY for unit in document.units)
    yield right(f"{file} shows {pluralize(entries, 'task')} in its section '{heading}'")
    if document.conflicts:
        cure = f"Resolve the conflict in line {', '.join(map(str, document.conflicts[:10]))}."
        yield wrong(f"{file} has merge conflict markers in its section, so nothing is taken from it or written", cure)
        return
    bullets = sum(unit.part is Part.BULLET for unit in document.units)
    if bullets:
        outcome = "the next start or call turns them into tasks" if enabled else "only a recovery turns them into tasks"
        yield note(f"{file} has {pluralize(bullets, 'bullet')} of your own; {outcome}")
    around = (section.before[: -len(section.heading)], section.after)
    if any(not locate_section(data, name)[0].is_new for data in around):
        use = "kept up to date" if enabled else "read"
        yield note(
            f"{file} has several sections that could be meant; only '{heading}' is {use}",
            "Rename the other headings, or merge the sections.",
        )


def _check_access(path: Path) -> Iterator[Finding]:
    # As in the mirror: if nobody has write permission, that is deliberate and binds root too.
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        yield wrong(f"{path.name} is read-only, so it is not updated", f"chmod u+w {shlex.quote(str(path))}")
    else:
        yield from check_access(path, is_private=False)


def _check_mount(path: Path, mounts: Path) -> Iterator[Finding]:
    if is_mounted_alone(path, mounts):
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
        size = pluralize(status.st_size, "byte")
        yield note(
            f"{backup.name} keeps sections as they were before your lines or edits were replaced ({size})",
            "Copy out what you need, then delete it.",
        )
        yield from check_access(backup, is_private=True)
    elif stat.S_ISLNK(status.st_mode):
        yield note(f"{backup.name} is a link; the next backup replaces it")
    else:
        yield wrong(f"{backup.name} is not a file, so no section can be saved there", "Move it away.")
