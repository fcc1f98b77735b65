"""The folder of a project, and the files in it, none of which is outside of it (TM-13 to TM-16, TM-30)."""

import json
import os
import posixpath
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from task_core.durable import replace_file
from task_core.errors import StoreUnreadable, StoreWriteFailed, echo
from task_core.files import FileIdentity, describe, identify, read_file
from taskmaster_mcp.errors import BadValue, FileMissing, OutsideProject

__all__ = [
    "BORDERS",
    "FOLDER",
    "Machine",
    "ProjectFiles",
    "find_above",
    "find_root",
    "locate_tasks",
    "normalize_root",
    "resolve_inside",
]

FOLDER: Final = ".taskmaster"
"""The folder of Task Master in a project."""

_OTHER_FILES: Final = ("config.json", "state.json")
"""Files of Task Master in its folder that hold no tasks."""

_OWN_FIELDS: Final = frozenset({"dependencies", "subtasks", "testStrategy"})
"""Fields of tasks that hardly any other program has."""

_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
"""A percent sign that escapes nothing."""

_MAX_PATH: Final = 4_096
"""Characters of the path of a project."""

_DRIVE: Final = re.compile(r"[A-Za-z]:(?=[/\\]|$)")

_REMOTE: Final = re.compile(r"vscode-remote://[^/]*(?=/)")

_WSL_SHARE: Final = re.compile(r"//wsl(?:\$|\.localhost)/[^/]+(?=/|$)", re.IGNORECASE)

_TAIL: Final = re.compile(rf"/{re.escape(FOLDER)}(?:/.*)?$")

BORDERS: Final = (
    *(".git", ".hg", ".svn"),
    *("package.json", "pyproject.toml", "Cargo.toml", "go.mod", "pom.xml", "build.gradle", "composer.json", "Gemfile"),
)
"""Files at the root of a repository or a package, which would have its own ``.taskmaster`` there."""


class Machine(NamedTuple):
    """The parts of a machine that the form of a path depends on."""

    folder: str
    """the current one"""
    is_windows: bool = False
    is_wsl: bool = False
    exists: Callable[[str], bool] = os.path.exists


def find_root(chosen: str | None, allowed: str | None, start: str | None = None) -> Path:
    """Return the root that was ``chosen``, or that of the project around ``start`` or else the current folder.

    Links in it are resolved. ``allowed`` are the folders that it may be in, joined as in ``PATH``.
    """
    named = chosen or start or ""
    if "\0" in named or len(named) > _MAX_PATH:
        raise BadValue("projectRoot", "give the path of a folder")
    home = Path(os.path.realpath(Path.home()))
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        here = home
    is_wsl = sys.platform == "linux" and "microsoft" in os.uname().release.casefold()
    machine = Machine(os.fspath(here), sys.platform == "win32", is_wsl)
    root = Path(normalize_root(named, machine)) if named else here
    if not chosen:
        place = Path(os.path.realpath(root))
        root = find_above(place, home) or place
        if root in (home, Path(root.anchor)):
            raise FileMissing(f"There is no project around the folder '{echo(place.name or '/')}'. Give projectRoot.")
    if not os.path.isdir(root):  # noqa: PTH112 - it never raises, whatever the path is
        raise FileMissing(
            f"The project root '{echo(root.name)}' is not a folder. Give the absolute path of the project."
        )
    real = Path(os.path.realpath(root))
    places = [os.path.realpath(place) for place in (allowed or "").split(os.pathsep) if place]
    if places and not any(real.is_relative_to(place) for place in places):
        raise OutsideProject("projectRoot", "this server may only use projects in the folders of TASKMASTER_ROOTS")
    return real


def normalize_root(given: str | Sequence[str], machine: Machine) -> str:
    """Return the absolute path that ``given`` means: a path, a URI, or a list of them (TM-14); it is idempotent."""
    text = given if isinstance(given, str) else next(iter(given), "")
    while (normal := _normalize_once(text, machine)) != text:
        text = normal
    return text


def _normalize_once(text: str, machine: Machine) -> str:
    text = text.strip()
    if not machine.exists(text):
        text = _strip_layer(text, machine)
    if not _DRIVE.match(text):
        text = posixpath.join(machine.folder, text)
    return _TAIL.sub("", posixpath.normpath(text)) or "/"


def _strip_layer(text: str, machine: Machine) -> str:
    """Take one layer off: escapes, schemes, and what Windows and WSL write differently."""
    if not _ESCAPE.search(text):
        with suppress(UnicodeDecodeError):
            text = unquote(text, errors="strict")
    text = _REMOTE.sub("", text.strip(), count=1).removeprefix("file://")
    if text.startswith("/") and _DRIVE.match(text, 1):
        text = text[1:]
    if machine.is_windows or _DRIVE.match(text) or text.startswith("\\\\"):
        text = text.replace("\\", "/")
    if machine.is_wsl:
        text = _WSL_SHARE.sub("", text, count=1)
        if _DRIVE.match(text):
            text = f"/mnt/{text[0].lower()}{text[2:]}"
    return text


def find_above(folder: Path, home: Path, *, crosses_borders: bool = False) -> Path | None:
    """Return the nearest folder with a ``.taskmaster``, from ``folder`` upwards, or None (TM-13).

    Unless it ``crosses_borders``, the search ends at the root of a repository or package. Neither the home folder nor
    ``/`` is ever a project.
    """
    place = folder
    while place not in (home, Path(place.anchor)):
        if os.path.isdir(place / FOLDER):  # noqa: PTH112 - it never raises
            return place
        if not crosses_borders and any(os.path.exists(place / name) for name in BORDERS):  # noqa: PTH110 - nor does this
            break
        place = place.parent
    return None


def resolve_inside(root: Path, field: str, given: str | Path) -> Path:
    """Return the path ``given``, relative to the root or absolute, with links resolved (TM-16).

    Whatever is read or written in a project goes through this function: a link in it may lead anywhere. One that leads
    out of the project raises ``OutsideProject``.
    """
    if "\0" in str(given) or not str(given).strip():
        raise BadValue(field, "give a path inside the project")
    found = Path(os.path.realpath(root / given))
    if not found.is_relative_to(os.path.realpath(root)):
        raise OutsideProject(field, "it leads out of the project, perhaps through a link: name the project it is in")
    return found


def locate_tasks(root: Path, file: str | None = None) -> Path:
    """Return the tasks file of a project: the named one, the usual one, or Task Master's old one if only it exists."""
    if file is not None:
        found = resolve_inside(root, "file", file)
        if found in [resolve_inside(root, name, f"{FOLDER}/{name}") for name in _OTHER_FILES]:
            raise BadValue("file", f"'{found.name}' is not for tasks: name a tasks file")
        return found
    usual, old = root / FOLDER / "tasks" / "tasks.json", root / "tasks" / "tasks.json"
    is_old = os.path.isfile(old) and not os.path.exists(usual)  # noqa: PTH110, PTH113 - never raise
    path = old if is_old and _is_task_masters(resolve_inside(root, old.name, old)) else usual
    resolve_inside(root, path.name, path)
    return path


def _is_task_masters(path: Path) -> bool:
    """Return whether a file in the old place is Task Master's: other programs keep their tasks there too."""
    try:
        return _has_tasks(path, identify(path))
    except (OSError, ValueError):  # whoever reads it reports what is wrong with it
        return True


@lru_cache(maxsize=16)
def _has_tasks(path: Path, _: FileIdentity | None) -> bool:
    """Return whether all items of a file in this state have titles, and some of them a field of Task Master."""
    document = json.loads(read_file(path)[0])
    if not isinstance(document, dict):
        return False
    places = [document, *(member for member in document.values() if isinstance(member, dict))]
    items = [item for place in places if isinstance(place.get("tasks"), list) for item in place["tasks"]]
    if not items:
        return document.keys() <= {"tasks", "metadata"} or any("tasks" in place for place in places[1:])
    has_titles = all(isinstance(item, dict) and isinstance(item.get("title"), str) for item in items)
    return has_titles and any(_OWN_FIELDS & item.keys() for item in items)


class ProjectFiles:
    """Reads and writes the files of a project; it touches nothing outside the ``root``."""

    def __init__(self, root: Path, *, fsync: bool = True) -> None:
        self.root = root
        self._fsync = fsync

    def read(self, path: Path) -> bytes:
        """Return the content of a file; ``FileNotFoundError`` if there is none, else a ``TaskError``."""
        try:
            return read_file(resolve_inside(self.root, path.name, path))[0]
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreUnreadable(path.name, describe(error)) from error

    def write(self, path: Path, data: bytes) -> None:
        """Replace a file, with the access of its folder if it is new; make the folder if it is missing."""
        real = resolve_inside(self.root, path.name, path)
        self.make_folder(real.parent)
        try:
            replace_file(real, data, fsync=self._fsync, is_private=False).close()
        except OSError as error:
            raise StoreWriteFailed(path.name, describe(error)) from error

    def make_folder(self, path: Path) -> list[Path]:
        """Make a folder and those above it, each with the access of the one it is in, and return those that are new."""
        if os.path.isdir(resolve_inside(self.root, path.name, path)):  # noqa: PTH112 - it never raises
            return []
        made = self.make_folder(path.parent)
        try:
            path.mkdir(exist_ok=True)
            # As open as the folder it is in, but never for everyone to write, as /tmp is.
            path.chmod(path.parent.stat().st_mode & 0o2775)
        except OSError as error:
            raise StoreWriteFailed(path.name, describe(error)) from error
        return [*made, path]
