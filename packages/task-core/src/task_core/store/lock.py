"""The lock between processes: a kernel lock on a file of its own beside the store (C1, C3)."""

import errno
import os
import random
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from filelock import lock_descriptor, unlock_descriptor

from task_core.errors import StoreLocked, StoreWriteFailed
from task_core.files import NEW_FLAGS, close, describe, identify, identity_of, open_new, regular

__all__ = ["LOCK_SECONDS", "ProcessLock", "Wait"]

LOCK_SECONDS: Final = 10.0
"""Seconds that a unit of work waits for others before it gives up (C2)."""

_POLL_SECONDS: Final = (0.001, 0.004)
"""Bounds of the random pause between two attempts, in seconds: short enough to be fair, long enough to be cheap."""


class Wait:
    """The time that one unit of work waits for the store, in seconds from the creation of this object."""

    def __init__(self, seconds: float) -> None:
        self._started = time.monotonic()
        self._seconds = seconds

    @property
    def elapsed(self) -> float:
        """Seconds waited so far."""
        return time.monotonic() - self._started

    @property
    def remaining(self) -> float:
        """Seconds left, never less than 0."""
        return max(self._seconds - self.elapsed, 0.0)


class ProcessLock:
    """Excludes every other process from the store while held; the kernel frees it when the holder dies.

    The lock file is created once, private, and never removed. A file that is not a lock is left alone, as it may be
    under a planted name (S4).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1
        """the lock file, while the lock is held"""
        self._closing = threading.Event()

    @classmethod
    def beside(cls, path: Path) -> Self:
        """Return the lock of the file at ``path``, in which links are resolved already."""
        return cls(path.with_name(f"{path.name}.lock"))

    def acquire(self, wait: Wait) -> None:
        """Take the lock within ``wait``.

        Raises:
            StoreLocked: another process still holds it, or the wait was given up.
            StoreWriteFailed: the lock file cannot be created or locked.
        """
        try:
            while not self._is_taken():
                pause = min(random.uniform(*_POLL_SECONDS), wait.remaining)  # noqa: S311 - no secret depends on it
                if not pause or self._closing.wait(pause):
                    raise StoreLocked(wait.elapsed)
        except FileNotFoundError:
            raise StoreWriteFailed(self._path.name, "its folder does not exist") from None
        except OSError as error:
            raise StoreWriteFailed(self._path.name, describe(error)) from error

    def release(self) -> None:
        """Let the next process in."""
        descriptor, self.descriptor = self.descriptor, -1
        # If the kernel refuses to free the lock, closing the file does it.
        with suppress(OSError):
            unlock_descriptor(descriptor)
        close(descriptor)

    def give_up(self) -> None:
        """End every wait for the lock, now and later."""
        self._closing.set()

    def is_lock(self, descriptor: int) -> bool:
        """Return whether the file is a lock: it is empty."""
        return not os.fstat(descriptor).st_size

    def _is_taken(self) -> bool:
        """Try to take the lock and return whether that was possible."""
        try:
            descriptor = self._open()
        except FileExistsError:
            return False  # another process has just created it
        is_ours = False
        try:
            status = regular(os.fstat(descriptor))
            is_locked = lock_descriptor(descriptor, blocking=False)
            if is_locked and not self.is_lock(descriptor):
                raise FileExistsError(errno.EEXIST, "a file that is not a lock is in its place")
            # A file that was replaced or removed in the meantime keeps nobody else out.
            is_ours = is_locked and (identify(self._path) or ())[:2] == identity_of(status)[:2]
        finally:
            if is_ours:
                self.descriptor = descriptor
            else:
                close(descriptor)
        return is_ours

    def _open(self) -> int:
        if sys.platform == "win32" and self._path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))  # as O_NOFOLLOW does elsewhere
        try:
            return os.open(self._path, os.O_RDWR | NEW_FLAGS)  # so a FIFO in its place does not hang
        except FileNotFoundError:
            return open_new(self._path)
