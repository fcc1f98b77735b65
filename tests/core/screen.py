"""A terminal: what is written to it can be read, by a person's eyes at any moment."""

from __future__ import annotations

import os
import pty
import re
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from tests.core.notes import wait_until

__all__ = ["CODES", "Screen", "open_screen"]

CODES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""The escape sequences that a table in place needs."""


class Screen:
    """The far end of a terminal, and all that was ever written to it."""

    def __init__(self, width: int, height: int) -> None:
        self._master, self.slave = pty.openpty()
        self.resize(width, height)
        self.written = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def resize(self, width: int, height: int) -> None:
        """Give it another size, without a signal."""
        termios.tcsetwinsize(self.slave, (height, width))

    @contextmanager
    def as_stdin(self) -> Iterator[None]:
        """Let this process read from the terminal, so that it asks this one for its size."""
        before = os.dup(0)
        os.dup2(self.slave, 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)

    @property
    def text(self) -> str:
        """Everything that was written, without colours and moves of the cursor."""
        return CODES.sub("", self.written.decode(errors="replace")).replace("\r", "")

    def wait_for(self, text: str) -> None:
        """Wait until the text was written."""
        wait_until(lambda: text in self.text)

    def close(self) -> None:
        """Close both ends."""
        os.close(self.slave)
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        with suppress(OSError):  # the end of what was written
            while True:
                self.written += os.read(self._master, 65_536)


@contextmanager
def open_screen(width: int = 80, height: int = 24) -> Iterator[tuple[Screen, TextIO]]:
    """Yield a terminal, and a stream to it."""
    screen = Screen(width, height)
    with open(screen.slave, "w", encoding="utf-8", closefd=False) as out:
        yield screen, out
    screen.close()
