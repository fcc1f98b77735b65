"""Target 9: the processor time of ``list``, nearly all that a person waits for, at a terminal and in a pipe."""

import os
import pty
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn
from benchmarks.subjects import LABELS, SUBJECTS

__all__ = ["COUNTS", "LIMITS", "measure"]

COUNTS: Final = (100, 10_000)
"""Tasks in the list."""

LIMITS: Final = {100: 0.3}
"""Seconds that a list of so many tasks may take; one of more is only reported."""


def measure(bench: Bench) -> list[Row]:
    """Return a row for each server, engine, number of tasks and form: processor time of the whole process."""
    works: dict[tuple[str, str, float | None], Callable[[], float]] = {}
    for subject in SUBJECTS:
        for engine, label in LABELS.items():
            for count in bench.pick(COUNTS, COUNTS[:1]):
                place = bench.place(subject, count, engine)
                environment = {**os.environ, **subject.record.environment(place.folder, engine), "TERM": "xterm"}
                command = (*subject.record.module_command, "list")
                for form, work in (("in a pipe", _run_in_pipe), ("at a terminal", _run_at_terminal)):
                    key = f"list of {count:,} tasks {form}", f"{subject.name}, {label}", LIMITS.get(count)
                    works[key] = partial(work, command, environment)
    found = in_turn(works, bench.pick(15, 2))
    return [Row(9, key[0], key[1], Unit.MILLISECONDS, series, limit=key[2]) for key, series in found.items()]


def _run_in_pipe(command: Sequence[str], environment: Mapping[str, str]) -> float:
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout  # noqa: S101 - for the type checker
        process.stdout.read()
        return _processor_seconds(process)


def _run_at_terminal(command: Sequence[str], environment: Mapping[str, str]) -> float:
    master, slave = pty.openpty()
    with subprocess.Popen(command, env=environment, stdin=slave, stdout=slave) as process:
        os.close(slave)
        with suppress(OSError):  # the process has ended
            while os.read(master, 65_536):
                pass
        os.close(master)
        return _processor_seconds(process)


def _processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the processor time of a process that has written all."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args} failed with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
