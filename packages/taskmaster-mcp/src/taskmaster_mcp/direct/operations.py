"""Work that goes on after its call was answered (TM-78, TM-79)."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Final

from pydantic import JsonValue

from task_core.models import Clock
from task_core.text import nearest
from taskmaster_mcp.core.items import JsonObject
from taskmaster_mcp.core.stored_words import format_stamp
from taskmaster_mcp.errors import Refused

__all__ = ["Operations", "Progress"]

Progress = Callable[[int, int], None]
"""Takes how much is done, and of how much."""

_MAX_KNOWN: Final = 100
"""Operations that are remembered once they have ended."""

_MAX_UNENDED: Final = 100
"""Operations that may run or wait at a time."""

_AT_A_TIME: Final = 4
"""Operations that run beside each other; the store lets one of a project change it at a time."""

_SAVE_SECONDS: Final = 0.2
"""Seconds that the end of the process waits for a save that is under way (P3)."""


class Operations:
    """Operations of this process, begun in the order in which they were asked for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._operations: dict[str, JsonObject] = {}
        self._workers = ThreadPoolExecutor(_AT_A_TIME)
        self._running: set[Future[None]] = set()
        self._is_closing = False

    def start(self, work: Callable[[Progress], tuple[JsonValue, JsonValue]]) -> JsonObject:
        """Begin ``work``, which returns its result and its error, and return the answer to the call.

        Too many operations that have not ended raise ``Refused``.
        """
        name = f"op-{uuid.uuid4()}"
        times: JsonObject = {"startTime": format_stamp(self._clock()), "endTime": None}
        operation: JsonObject = {"id": name, "status": "pending", "progress": None, **times}
        operation |= {"result": None, "error": None}
        with self._guard:
            ended = [name for name, it in self._operations.items() if it["endTime"]]
            unended = len(self._operations) - len(ended)
            if unended >= _MAX_UNENDED:
                raise Refused("OPERATIONS_WAIT", count=unended)
            self._operations[name] = operation
            for old in ended[:-_MAX_KNOWN]:
                del self._operations[old]

        def report(done: int, total: int) -> None:
            if self._is_closing:
                raise Refused("SERVER_ENDS")
            operation["progress"] = {"done": done, "total": total}

        def run() -> None:
            operation["status"] = "running"
            status = "failed"
            try:
                operation["result"], operation["error"] = work(report)
                status = "completed" if operation["error"] is None else "failed"
            finally:
                operation.update(endTime=format_stamp(self._clock()), status=status)

        future = self._workers.submit(copy_context().run, run)  # the origin of its changes
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return {"status": "ACCEPTED", "operationId": name}

    def status(self, operation_id: str) -> JsonObject:
        """Return the state of an operation, or raise ``Refused`` if none has the id."""
        with self._guard:
            operation = self._operations.get(operation_id)
            if operation is None:
                raise Refused("OPERATION_UNKNOWN", id=operation_id, near=[*nearest(operation_id, self._operations)])
            return {**operation}

    def close(self) -> None:
        """Begin nothing more, end what reports its progress, and wait a moment for saves that are under way."""
        self._is_closing = True
        self._workers.shutdown(wait=False, cancel_futures=True)
        wait([*self._running], _SAVE_SECONDS)
