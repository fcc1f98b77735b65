"""The input of hooks, and the last change that each session was shown, at which its next brief begins (AG-8)."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

from task_core.durable import replace_file

__all__ = ["read_input", "recall", "remember"]

_MAX_SESSIONS: Final = 200
_FAILURES: Final = (AttributeError, OSError, ValueError, TypeError, OverflowError, RecursionError)
"""The errors of a missing stdin, of files, and of unexpected data: none may keep a session from starting."""


def read_input(seconds: float = 0.2) -> dict[str, Any]:
    """Return the JSON object on the stdin of a hook, or an empty one; wait at most so long for a client to close it."""
    data = bytearray()

    def read() -> None:
        while len(data) < 1_000_000 and (chunk := os.read(descriptor, 65_536)):
            data.extend(chunk)

    with suppress(*_FAILURES):
        descriptor = sys.stdin.fileno()
        if not os.isatty(descriptor):
            reader = Thread(target=read, daemon=True)
            reader.start()
            reader.join(seconds)
        return dict(json.loads(bytes(data)))
    return {}


def recall(file: Path) -> dict[str, int]:
    """Return the number of the last change that each session was shown, the latest session last."""
    with suppress(*_FAILURES):
        return {session: int(number) for session, number in json.loads(file.read_bytes()).items()}
    return {}


def remember(file: Path, session: str, number: int) -> None:
    """Keep that a session was shown the changes up to a number."""
    others = [pair for pair in recall(file).items() if pair[0] != session]
    with suppress(*_FAILURES):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = json.dumps(dict([*others, (session, number)][-_MAX_SESSIONS:])).encode()
        replace_file(file, data, fsync=False).close()
