"""Processes that are killed within an act: at a call that is watched in Python, or at a system call, by strace."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from tests.acts import Act, files_in, lay_out
from tests.core.faults import EFFECTS, Kill, watched
from tests.fault_checks import Ends
from tests.processes import ending

__all__ = [
    "Begin",
    "attached",
    "check_kills",
    "check_traced_kills",
    "forked",
    "traced",
    "traced_calls",
    "traced_kills",
    "tracing_problem",
]

Begin = Callable[[], Callable[[], object]]
"""Makes ready, and returns what does the act."""

SPARE: Final = "HEARTBEAT.md.bak"
"""A kill between the store and the mirror leaves entries that look as if a person had changed them."""

_NAMES: Final = (
    "openat,write,writev,pwrite64,fsync,fdatasync,fchmod,rename,renameat,renameat2,unlink,unlinkat,ftruncate,"
    "flock,close"
)
"""System calls that leave something behind. A kill at one that only looks is a kill at the next of these."""


def check_kills(act: Act, folder: Path) -> int:
    """Kill a process at call 1, 2, 3, and so on of those with an effect, until one comes through; return their number.

    It forks, so it must be called in a process of one thread.
    """
    ends = Ends.of(act, folder)
    was_new = False
    for number in count(1):
        lay_out(folder, ends.files)
        begin = partial(_begun, act, folder)
        with forked(begin, lambda run, number=number: _run_watched(run, number)) as (process, go):
            go()
            status = os.waitpid(process, 0)[1]
        was_new = _check_killed(ends, folder, status, was_new=was_new)
        if not status:
            return number
    raise AssertionError("unreachable")


def check_traced_kills(act: Act, folder: Path) -> int:
    """Do the same by strace at every system call that leaves something behind; return the number of kills."""
    ends = Ends.of(act, folder)
    number = 0
    for status in traced_kills(partial(_begun, act, folder), folder, ends.files):
        _check_killed(ends, folder, status, was_new=False)
        number += 1
    return number


def traced_kills(begin: Begin, folder: Path, files: Mapping[str, bytes]) -> Iterator[int]:
    """Yield how a process ends that is killed at system call 1, 2, 3, and so on; ``files`` are there at its start."""
    lay_out(folder, files)
    names = traced_calls(begin, folder)
    for position, name in enumerate(names):
        lay_out(folder, files)
        nth = names[: position + 1].count(name)
        status = traced(begin, "-e", f"inject={name}:signal=SIGKILL:when={nth}")
        assert os.WIFSIGNALED(status)
        yield status


def traced_calls(begin: Begin, folder: Path) -> list[str]:
    """Return the names of the system calls of an act in a folder that leave something behind."""
    trace = folder.with_name(f"{folder.name}.trace")
    assert traced(begin, "-o", str(trace), "-e", f"trace={_NAMES}") == 0
    return re.findall(r"^(\w+)\(", trace.read_text("utf-8"), re.MULTILINE)


def tracing_problem() -> str | None:
    """Return why strace cannot be used here, or None when it can."""
    try:
        subprocess.run(("strace", "-o", os.devnull, "true"), check=True, capture_output=True, timeout=20)
    except FileNotFoundError:
        return "strace is not installed"
    except (OSError, subprocess.SubprocessError):
        return "strace may not trace here"
    return None


@contextmanager
def attached(process: int, *options: str, output: str | Path = os.devnull) -> Iterator[None]:
    """Let strace watch a process for as long as the block runs, and do to it what ``options`` say."""
    command = ("strace", "-o", str(output), "-p", str(process), *options)
    with ending(subprocess.Popen(command, stderr=subprocess.PIPE)) as strace:
        try:
            assert strace.stderr
            assert b"attached" in strace.stderr.readline()
            yield
        finally:
            strace.terminate()


def _begun(act: Act, folder: Path) -> Callable[[], object]:
    return act.begin(folder)[1]


def _run_watched(run: Callable[[], object], number: int) -> None:
    with watched(Kill(number), EFFECTS):
        run()


@contextmanager
def forked(begin: Begin, carry_out: Callable[[Callable[[], object]], None]) -> Iterator[tuple[int, Callable[[], None]]]:
    """Yield a process that is ready to do an act, and what lets it begin; it exits with 0 when it has."""
    ready, made_ready = os.pipe()
    may_begin, let_begin = os.pipe()
    process = os.fork()
    if not process:
        gc.disable()  # it would close the files of earlier servers in the middle of the act, one call more or less
        status = 1
        try:
            run = begin()
            os.write(made_ready, b"r")
            os.read(may_begin, 1)
            carry_out(run)
            status = 0
        finally:
            os._exit(status)
    try:
        assert os.read(ready, 1)
        yield process, lambda: _discard(os.write(let_begin, b"g"))
    finally:
        for descriptor in (ready, made_ready, may_begin, let_begin):
            os.close(descriptor)


def traced(begin: Begin, *options: str) -> int:
    """Return how a process ends that does an act under strace."""
    with forked(begin, lambda run: _discard(run())) as (process, go), attached(process, *options):
        go()
        return os.waitpid(process, 0)[1]


def _discard(_: object) -> None:
    pass


def _age(folder: Path) -> None:
    """Let the next process come a minute later: what was written just now, another program may be writing still."""
    moment = time.time() - 60
    for entry in folder.iterdir():
        os.utime(entry, (moment, moment))


def _check_killed(ends: Ends, folder: Path, status: int, *, was_new: bool) -> bool:
    """Check what a process left, and return whether its change is there; once it was, it is at any later kill."""
    is_done = status == 0
    assert is_done or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)
    _age(folder)
    bench = ends.act.bench(folder)
    ends.check_store(bench, may_be_old=not is_done and not was_new, may_be_new=True)
    is_new = files_in(folder).get(bench.store) != ends.files.get(bench.store)
    ends.check_work_goes_on(bench, ends.before, ends.after, spare=SPARE)
    return is_new
