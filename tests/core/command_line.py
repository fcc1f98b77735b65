"""A command line that is run within the process of the tests, which stays as it was."""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import Field
from typing_extensions import override

from task_core.cli.settings import StoreServerSettings

__all__ = ["Command", "Ended", "NotesSettings", "Terminal", "command_line", "fields"]


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]
"""Carries out a command of a server; see the fixture ``command``."""


class Terminal(io.StringIO):
    """A terminal at which somebody has typed something."""

    @override
    def isatty(self) -> bool:
        return True


def fields(shown: str) -> dict[str, str]:
    """Return the fields of the task that was printed last."""
    return dict(line.split("\t", 1) for line in shown.splitlines())


class NotesSettings(StoreServerSettings):
    """The settings of a server of notes."""

    store_variable = "notes_path"

    notes_path: Path | None = Field(default=None, description="File of the notes.")
    greeting: str = Field(default="", description="A greeting.")

    @property
    @override
    def document_path(self) -> Path | None:
        return self.notes_path


@contextmanager
def command_line() -> Iterator[None]:
    """Give back what a process of its own would not have to: the umask, signals, the log, and the collector."""
    umask = os.umask(0o022)
    signals = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    disabled, level, handlers = logging.root.manager.disable, logging.root.level, logging.root.handlers[:]
    try:
        yield
    finally:
        os.umask(umask)
        for name, handler in signals.items():
            signal.signal(name, handler)
        logging.disable(disabled)
        logging.root.setLevel(level)
        logging.root.handlers[:] = handlers
        gc.unfreeze()
