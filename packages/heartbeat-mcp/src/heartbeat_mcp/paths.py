"""Checks that a caller's path stays inside the workspace, without opening anything (S2, HB-6).

An error never reveals whether a file exists. Only slash-separated paths are accepted, on every platform.
"""

import errno
import os
import re
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from heartbeat_mcp.errors import PathOutsideWorkspace
from task_core.text import escape_invisible

__all__ = ["check_reference"]

_FORMS: Final = (
    (re.compile(r"\\"), "write it with '/' in place of backslashes"),
    (re.compile(r"^//"), "it must not start with two slashes"),
    (re.compile(r"^[A-Za-z]:"), "it must not start with a drive letter"),
    (re.compile(r"^~"), "write the home folder out in place of '~'"),
    (re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:"), "no scheme but http and https is accepted"),
)
"""Forms that lead elsewhere on some platform or in some program, and the message for each."""


def check_reference(field: str, value: str, *, workspace: Path | None, base: Path) -> None:
    """Accept an ``http(s)`` URL, or a path that stays where it must.

    With ``workspace`` a path must be inside it, after symlinks; relative paths start there. Without it, an absolute
    path is taken as it is, and a relative one must stay inside ``base``. ``field`` names the argument in the error.

    Raises:
        PathOutsideWorkspace: the path leads out, or has a form that is not accepted.
    """
    if escape_invisible(value) != value:
        why = "it contains control, direction or other invisible characters"
    elif value != value.strip():
        why = "it starts or ends with a blank"
    else:
        is_url = value.lower().startswith(("http:", "https:"))
        why = _url_fault(value) if is_url else _path_fault(value, workspace, base)
    if why:
        raise PathOutsideWorkspace(field, why)


def _url_fault(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_complete = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    if is_complete and not re.search(r"[\s\\]", url):
        return ""
    return "the URL is malformed"


def _path_fault(path: str, workspace: Path | None, base: Path) -> str:
    for form, why in _FORMS:
        if form.search(path):
            return why
    if workspace is not None:
        return "" if _stays_inside(path, workspace) else "it leads outside the workspace"
    if path.startswith("/") or _stays_inside(path, base):
        return ""
    return "it leads outside the folder that it is relative to"


def _stays_inside(path: str, folder: Path) -> bool:
    root = os.path.realpath(folder)
    candidate = Path(root, path)
    found = os.path.realpath(candidate)
    if _climbs(PurePosixPath(path), (folder.as_posix(), root)) or _loops(candidate) or _loops(found):
        return False
    return Path(found).is_relative_to(root)  # ``commonpath`` would raise for two drives on Windows


def _climbs(path: PurePosixPath, roots: Iterable[str]) -> bool:
    # If a path that leaves and comes back were accepted, that would reveal which links exist outside.
    rest = next((path.relative_to(root) for root in roots if path.is_relative_to(root)), path)
    if rest.is_absolute():
        return ".." in rest.parts
    return any(depth < 0 for depth in accumulate(-1 if part == ".." else 1 for part in rest.parts))


def _loops(path: str | Path) -> bool:
    try:
        os.path.realpath(path, strict=True)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False
