"""The formats by name: each is read and written by a module of its own, which is imported when it is used (MV-1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from task_formats.record import Contents, ForeignTask, SourceFile, Writing

__all__ = ["FORMATS", "WRITABLE", "KnownFormat", "Unreadable", "load", "recognise"]

_SURE: Final = 2
"""Signs that make a format sure."""


class Unreadable(Exception):
    """The source cannot be read as this format; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """One format."""

    module: str
    title: str
    """the name of the tool that has it"""

    def find(self, path: Path) -> list[Path]:
        """Return the files of this format, sorted, at ``path``: a file, the folder of the format, or a project."""
        return self._load().find(path)

    def signs(self, files: Sequence[SourceFile]) -> tuple[str, ...]:
        """Return the signs that ``files`` are of this format, in words."""
        return self._load().signs(files)

    def read(self, files: Sequence[SourceFile]) -> Contents:
        """Read ``files``; no input raises an error."""
        return self._load().read(files)

    def write(self, tasks: Sequence[ForeignTask]) -> Writing:
        """Return the files for ``tasks``; only for those in ``WRITABLE``."""
        return self._load().write(tasks)

    def _load(self) -> Any:  # noqa: ANN401 - a module with these functions
        return import_module(f"task_formats.{self.module}")


FORMATS: Final = {
    "backlog": KnownFormat("backlog", "Backlog.md"),
    "beads": KnownFormat("beads", "Beads"),
    "shrimp": KnownFormat("shrimp", "Shrimp Task Manager"),
    "taskmaster": KnownFormat("taskmaster", "Task Master"),
    "claude-tasks": KnownFormat("claude_tasks", "Claude Code"),
    "todo-md": KnownFormat("todo_md", "TODO.md"),
    "todo-txt": KnownFormat("todo_txt", "todo.txt"),
    "github": KnownFormat("github", "GitHub"),
}
"""All formats, by the names that people give."""

WRITABLE: Final = ("backlog", "beads", "todo-md", "todo-txt")
"""Those that can be written."""


def load(name: str, path: Path) -> list[SourceFile]:
    """Return the files of the format ``name`` at ``path``.

    Raises:
        Unreadable: there is none, or one cannot be read.
    """
    _check(path)
    found = FORMATS[name].find(path)
    if not found:
        raise Unreadable(f"{path} has no files of {FORMATS[name].title}: name the file or the folder that has them")
    return [_read(file, path) for file in found]


def recognise(path: Path) -> tuple[str, tuple[str, ...], list[SourceFile]]:
    """Return the name of the format of what is at ``path``, the signs that show it, two or more, and its files.

    Raises:
        Unreadable: nothing there shows one format, and no other.
    """
    _check(path)
    found = {name: [_read(file, path) for file in known.find(path)] for name, known in FORMATS.items()}
    signs = {name: FORMATS[name].signs(files) for name, files in found.items() if files}
    sure = [name for name, seen in signs.items() if len(seen) >= _SURE]
    if len(sure) == 1:
        return sure[0], signs[sure[0]], found[sure[0]]
    if sure:
        what = "may be " + " or ".join(f"{FORMATS[name].title} ({' and '.join(signs[name])})" for name in sure)
    else:
        single = [f"one sign of {FORMATS[name].title}: {seen[0]}" for name, seen in signs.items() if seen]
        titles = ", ".join(known.title for known in FORMATS.values())
        what = f"shows no two signs of any format ({'; '.join(single) or f'none of {titles}'})"
    raise Unreadable(f"{path} {what}: choose with --from {'|'.join(sure or FORMATS)}")


def _check(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}: name the file or the folder that has the tasks") from error


def _read(file: Path, start: Path) -> SourceFile:
    """Return a file, named by its path from ``start``."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error
    name = file.name if file == start else file.as_posix().removeprefix(f"{start.as_posix()}/")
    return SourceFile(name.encode(errors="backslashreplace").decode(), data)  # a name may have bytes that are no text
