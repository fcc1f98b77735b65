"""The next pass over HEARTBEAT.md that no call makes, in a thread of its own."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["PassTimer"]

_PAUSE_SECONDS: Final = 0.25
"""Time to the next pass while others write the file."""

_LONGEST_SECONDS: Final = 60.0
"""Time to the next pass while a task is not due: what a timer counts stands still while the machine sleeps."""


class PassTimer:
    """Plans one pass at a time; ``run`` makes it."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run
        self._timer: threading.Timer | None = None
        self._is_over = False

    def plan(self, seconds: float = 0) -> None:
        """Make a pass in about ``seconds``, unless one is planned as early or under way in a thread that plans too."""
        seconds = min(max(seconds, _PAUSE_SECONDS), _LONGEST_SECONDS)
        planned = self._timer
        if planned is not None and planned.interval > seconds:
            planned.cancel()
            planned = None
        is_planned = planned is not None and planned.is_alive() and planned is not threading.current_thread()
        if not (is_planned or self._is_over):
            self._timer = threading.Timer(seconds, self._run)
            self._timer.daemon = True
            with suppress(RuntimeError):  # no thread can be started: the next call plans again
                self._timer.start()

    def close(self) -> None:
        """Begin no more passes."""
        self._is_over = True
        if timer := self._timer:
            timer.cancel()
