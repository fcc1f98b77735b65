"""Setting helpers, and the parts that other distributions add, without importing anything slow."""

import os
import stat
import sys
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Final

__all__ = [
    "LOG_LEVELS",
    "REPOSITORIES",
    "BadSettings",
    "Interrupt",
    "advise_installing",
    "find_in_project",
    "find_parent",
    "find_plugin",
    "log_to_stderr",
]

LOG_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
"""The log levels of the standard library; settings take them in upper or lower case."""

REPOSITORIES: Final = (".git", ".hg", ".svn")
"""Names that mark the root of a repository."""


class BadSettings(ValueError):
    """A setting is missing or bad; the message names each such variable, its value, and what was expected."""


class Interrupt:
    """Signal handler that raises ``KeyboardInterrupt`` and remembers it.

    Python drops exceptions raised in some callbacks, such as those of the import system, so a server could miss a
    signal that arrives while it starts.
    """

    has_come = False
    """True once a signal has arrived."""

    def __call__(self, *_: object) -> None:
        """Interrupt the main thread."""
        self.has_come = True
        raise KeyboardInterrupt


def find_in_project(name: str, start: str = "", borders: Sequence[str] = REPOSITORIES) -> str | None:
    """Return the path of the nearest file ``name``, from the folder ``start`` or else the current one upwards, or None.

    The search ends in a folder with one of the ``borders``. A project is never the home folder, ``/``, or a folder
    that everybody may write to, such as ``/tmp``. A link does not count: the author of the project could point it
    anywhere.
    """
    # The start of a server waits for this, and importing pathlib would take time.
    try:
        folder = os.path.realpath(start or os.getcwd())
        while not _is_outside_projects(folder):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                return path
            if any(os.path.lexists(f"{folder}/{mark}") for mark in borders):
                break
            folder = os.path.dirname(folder)
    except (OSError, ValueError):  # the folder was removed, or is not one
        pass
    return None


def _is_outside_projects(folder: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))
    is_open = sys.platform != "win32" and bool(os.stat(folder).st_mode & stat.S_IWOTH)
    return is_open or folder == home or folder == os.path.dirname(folder)


def find_parent() -> int | None:
    """Return the process that this one shall not outlive: its parent, but not the first process of the machine.

    None in a session of its own (``setsid``), where it was put to outlive its parent, and on Windows.
    """
    is_child = os.name == "posix" and os.getppid() > 1 and os.getsid(0) != os.getpid()
    return os.getppid() if is_child else None


def log_to_stderr(level: str) -> None:
    """Write what is logged at ``level`` and above to stderr."""
    import logging  # noqa: PLC0415 - it would delay the first answer

    handler = logging.StreamHandler(sys.stderr)
    if sys.platform != "win32":  # pragma: no branch - select works on sockets only there
        from select import select  # noqa: PLC0415 - as above

        # A client that does not read what is logged must not stop the server: the line is dropped (P3).
        handler.addFilter(lambda _: bool(select((), (sys.stderr,), (), 0)[1]))
    format_ = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[handler], level=level, format=format_)


@cache
def find_plugin(name: str) -> ModuleType | None:
    """Import and return the module that another distribution registers as ``name``, or return None if there is none."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - it takes time, and few servers have plugins

    return next((entry.load() for entry in entry_points(group="task_core.plugins", name=name)), None)


def advise_installing(distribution: str) -> str:
    """Return the command that installs the plugins of a server."""
    return f"pip install '{distribution}[hosted]'"
