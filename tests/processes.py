"""Processes that end with the test that has started them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import AnyStr, Final

__all__ = ["ending"]

_PATIENCE: Final = 120.0
"""Seconds that a process may take to end: only a broken one takes so long."""


@contextmanager
def ending(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Yield a process that must end by itself after the block; it is killed if it does not, or if the block raises.

    Otherwise a failing test would wait for it indefinitely.
    """
    with process:
        try:
            yield process
            process.wait(_PATIENCE)
        finally:
            process.kill()
