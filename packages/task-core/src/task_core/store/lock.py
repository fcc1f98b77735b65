"""The lock between processes: a kernel lock on a file of its own beside the store (C1, C3)."""

from __future__ import annotations

import errno
import random
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from task_core.errors import StoreLocked, StoreWriteFailed
from task_core.files import describe, identify

__all__ = ["ProcessLock", "Wait"]

_POLL_SECONDS: Final = (0.001, 0.004)
"""Bounds of the random pause between two attempts, in seconds: short enough to be fair, long enough to be cheap."""


class Wait:
    """How long one unit of work waits for the store, from the moment it is made; in seconds."""

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

    The lock file is made once, private, and never removed or truncated. It is empty: a file that is not is something
    else, perhaps under a planted name, and is left alone (S4).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # A soft lock would trust a file's age; where the kernel cannot lock, the store refuses to write instead.
        self._lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False, preserve_lock_file=True)
        self._closing = threading.Event()

    def acquire(self, wait: Wait) -> None:
        """Take the lock within ``wait``.

        Raises:
            StoreLocked: another process holds it still, or the wait was given up.
            StoreWriteFailed: the lock file cannot be made or locked.
        """
        try:
            self._check_place()
            self._lock.acquire(
                timeout=wait.remaining,
                poll_interval=random.uniform(*_POLL_SECONDS),  # noqa: S311 - spreads the waiters, keeps no secret
                cancel_check=self._closing.is_set,
            )
        except Timeout:
            raise StoreLocked(wait.elapsed) from None
        except OSError as error:
            raise StoreWriteFailed(self._path.name, describe(error)) from error

    def release(self) -> None:
        """Let the next process in."""
        # A lock that the kernel would not free stays held here, and the next unit of work frees it.
        with suppress(OSError):
            self._lock.release(force=True)

    def give_up(self) -> None:
        """End every wait for the lock, now and later."""
        self._closing.set()

    def _check_place(self) -> None:
        # The lock's library would make the folder, and a new store in it, where a disk has only gone for a while.
        if identify(self._path.parent) is None:
            raise FileNotFoundError(errno.ENOENT, "its folder is not there")
        found = identify(self._path)
        if found and found.size:
            raise FileExistsError(errno.EEXIST, "a file that is no lock stands in its place")
