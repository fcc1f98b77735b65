"""Processes that end with the test that has started them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["spawn"]

_PATIENCE: Final = 120.0
"""Seconds that a process may take to end: only a broken one takes so long."""


@contextmanager
def spawn(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:  # noqa: ANN401 - those of Popen
    """Yield a process that must end by itself after the block; it is killed if it does not, or if the block raises.

    Otherwise a failing test would wait for it indefinitely.
    """
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
            process.wait(_PATIENCE)
        finally:
            process.kill()
