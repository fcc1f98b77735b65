"""How long a server may take to end, and what tells it to (CLI-5, P3)."""

from __future__ import annotations

import signal
import sys
from typing import Final

import anyio

__all__ = ["CALLS", "LAST_WORDS", "WAITERS", "stop_signal"]

CALLS: Final = 1.1
"""Seconds that calls which were read already may take to be carried out and answered."""

WAITERS: Final = 0.2
"""Seconds, after those, for calls that waited for the store to answer that they gave up."""

LAST_WORDS: Final = 0.1
"""Seconds, after those, for everything else; with the others well under the 2 seconds that are promised."""


async def stop_signal() -> None:
    """Return when the process is told to end by SIGTERM, SIGINT or SIGHUP; on Windows, never."""
    if sys.platform == "win32":  # pragma: no cover - SIGINT ends the event loop there, the others do not exist
        await anyio.sleep_forever()
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        await anext(aiter(signals))
