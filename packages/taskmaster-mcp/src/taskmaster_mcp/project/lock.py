"""The locks of a project: our own, and the one of Task Master itself (TM-27, TM-28)."""

import hashlib
import os
import secrets
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from typing_extensions import override

from task_core.files import ProcessLock

__all__ = ["STALE_SECONDS", "ProjectLock", "locate_foreign_lock"]

STALE_SECONDS: Final = 10.0
"""Seconds after which Task Master takes its lock for abandoned, and so do we."""


def locate_foreign_lock(path: Path) -> Path:
    """Return the folder that Task Master makes while it changes the file at ``path``."""
    return path.with_name(f"{path.name}.lock")


class ProjectLock(ProcessLock):
    """A kernel lock on the folder of ``tasks.json``, and beside it the folder ``tasks.json.lock``.

    Task Master honours only the folder, and takes it over after ten seconds; the kernel lock, of which it knows
    nothing, keeps these servers apart and is freed when its holder dies. A file named ``tasks.json.lock`` would stop
    Task Master, so there is none.
    """

    def __init__(self, path: Path, foreign: Sequence[Path]) -> None:
        super().__init__(path)
        self._foreign = foreign
        self._marks: list[tuple[Path, os.stat_result]] = []

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the lock of the tasks file at ``path``; if that is a link, Task Master locks the link itself."""
        real = Path(os.path.realpath(path))
        kernel = _windows_lock(real) if sys.platform == "win32" else real.parent
        places = dict.fromkeys(Path(os.path.realpath(it.parent)) / it.name for it in (real, path))
        return cls(kernel, [*map(locate_foreign_lock, places)])

    @override
    def release(self) -> None:
        while self._marks:
            foreign, made = self._marks.pop()
            with suppress(OSError):
                if os.path.samestat(foreign.lstat(), made):  # else somebody made it after taking over ours
                    foreign.rmdir()
        super().release()

    @override
    def _is_taken(self) -> bool:
        if not super()._is_taken():
            return False
        try:
            if all(map(self._is_marked, self._foreign)):
                return True
        except BaseException:  # KeyboardInterrupt too: free the kernel lock, then raise again
            self.release()
            raise
        self.release()
        return False

    def _is_marked(self, foreign: Path) -> bool:
        """Make Task Master's lock and return whether that was possible; remove one that was abandoned."""
        with suppress(FileExistsError):
            foreign.mkdir(0o755)
            self._marks.append((foreign, foreign.lstat()))
            return True
        with suppress(FileNotFoundError):  # it was released in the meantime
            if not _is_abandoned(foreign):
                return False
            # Renamed first: whoever else takes it over at the same time finds it gone.
            stale = foreign.with_name(f"{foreign.name}.stale.{os.getpid()}.{secrets.token_hex(4)}")
            foreign.rename(stale)
            if not _is_abandoned(stale):  # somebody has just taken it over: they get it back
                stale.rename(foreign)
                return False
            with suppress(OSError):
                (stale.rmdir if stale.is_dir() and not stale.is_symlink() else stale.unlink)()
        return False

    @override
    def check_status(self, descriptor: int) -> os.stat_result:
        return super().check_status(descriptor) if sys.platform == "win32" else os.fstat(descriptor)

    @override
    def is_lock(self, descriptor: int) -> bool:
        return sys.platform != "win32" or super().is_lock(descriptor)

    @override
    def _open(self) -> int:
        if sys.platform == "win32":
            return super()._open()
        return os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _is_abandoned(lock: Path) -> bool:
    # A time in the future is from a clock that was wrong: nobody waits for that day.
    return abs(time.time() - lock.lstat().st_mtime) >= STALE_SECONDS


def _windows_lock(path: Path) -> Path:
    """Return a file in the user's state folder: Windows has no lock on a folder."""
    folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "taskmaster-mcp" / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / hashlib.sha256(os.path.normcase(path).encode()).hexdigest()
