"""The clean-up of a server that starts: it runs beside the first calls, and beside what comes after them."""

from __future__ import annotations

import sys
from types import FrameType

from heartbeat_mcp.service import HeartbeatService
from tests.core.listening import until

__all__ = ["clean_ups_ended"]


async def clean_ups_ended() -> None:
    """Wait until no clean-up runs in this process, not even one of a server that has ended."""
    await until(lambda: not any(map(_cleans, sys._current_frames().values())))  # noqa: SLF001 - nothing public shows what a thread runs


def _cleans(frame: FrameType | None) -> bool:
    while frame and frame.f_code is not HeartbeatService.clean.__code__:
        frame = frame.f_back
    return frame is not None
