"""Lets the operating system fail on purpose: any call of a block, once or for good, by an error or by a kill.

The calls are those of ``os`` and ``fcntl`` that the stores make, also through pathlib and the lock's library, and the
exchange of two files. SQLite
makes its own: ``power_cuts.py`` cuts those.
"""

import errno
import fcntl
import gc
import os
import resource
import signal
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest

from task_core import durable

__all__ = ["CODES", "EFFECTS", "Fault", "Kill", "size_limit", "watched"]

CODES: Final = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT)
"""The errors that a disk gives: full, broken, not allowed, read-only, over the quota."""

EFFECTS: Final = {
    *("close", "fchmod", "fchown", "flock", "fsync", "ftruncate", "link", "mkdir", "open"),
    *("rename_with", "replace", "unlink", "utime", "write"),
}
"""The calls that leave something behind. A kill at one that only looks is a kill at the next of these."""

_WATCHED: Final = {
    os: (
        *("close", "fchmod", "fchown", "fstat", "fsync", "ftruncate", "link", "listdir", "lseek", "lstat"),
        *("mkdir", "open", "read", "replace", "scandir", "stat", "unlink", "utime", "write"),
    ),
    fcntl: ("flock",),
    durable: ("rename_with",),
}

Call = Callable[[], object]


@dataclass(frozen=True)
class Fault:
    """Lets the call number ``at``, counted from 1, fail with ``code``, and all after it when it is ``for_good``."""

    at: int
    code: int
    for_good: bool = False

    def strikes(self, number: int) -> bool:
        return number == self.at or (self.for_good and number > self.at)

    def strike(self, name: str, call: Call) -> object:
        # Linux closes a descriptor even when it reports an error.
        if name == "close":
            call()
        raise OSError(self.code, os.strerror(self.code))


@dataclass(frozen=True)
class Kill:
    """Kills the process at the call number ``at``, counted from 1, before the call is made."""

    at: int

    def strikes(self, number: int) -> bool:
        return number == self.at

    def strike(self, name: str, call: Call) -> object:
        os.kill(os.getpid(), signal.SIGKILL)
        return f"{name} of {call} was never reached"


@contextmanager
def watched(fault: Fault | Kill | None = None, only: AbstractSet[str] | None = None) -> Iterator[list[str]]:
    """Yield the list of the names of all calls that the block makes, and let ``fault`` strike there.

    Where ``only`` is given, other calls neither count nor fail. A write that fails has written half of its data by
    then, as on a disk that becomes full.
    """
    names: list[str] = []

    def watching(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            names.append(name)
            if fault is None or not fault.strikes(len(names)):
                return real(*args, **kwargs)
            if name == "write":
                descriptor, data = args
                assert isinstance(data, (bytes, memoryview))
                real(descriptor, data[: len(data) // 2])
            return fault.strike(name, lambda: real(*args, **kwargs))

        return call

    with pytest.MonkeyPatch.context() as patch:
        for module, functions in _WATCHED.items():
            for name in functions if only is None else only & {*functions}:
                patch.setattr(module, name, watching(name, getattr(module, name)))
        gc.disable()  # or it closes the files of an earlier test here
        try:
            yield names
        finally:
            gc.enable()


@contextmanager
def size_limit(size: int) -> Iterator[None]:
    """Let the kernel refuse to make any file larger than ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
