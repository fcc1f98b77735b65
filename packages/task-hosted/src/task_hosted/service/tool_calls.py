"""Tool calls: idempotency keys, and one log line for each call (HO-6, HO-7)."""

import json
import logging
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from hashlib import sha256
from typing import Any, Final, cast

import mcp_types

from task_core.errors import InvalidArguments
from task_core.server.app import Work
from task_core.server.faults import RenderedAnswer
from task_core.store import Store
from task_core.store.base import CALL_KEY

__all__ = ["log_call", "make_repeatable", "request_id"]

_MAX_KEY: Final = 200
"""Most characters of an idempotency key."""

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The name of the current request, for the log."""

_log = logging.getLogger(__name__)


def log_call(name: str, outcome: str, seconds: float) -> None:
    """Log one tool call without any of its text."""
    _log.info("%s: %s in %.1f ms, request %s", name, outcome, seconds * 1000, request_id.get())


def make_repeatable(store: Store[Any]) -> Callable[[mcp_types.CallToolRequestParams, Work], Work]:
    """Return a wrapper that runs a call with a key once, and repeats its answer for later calls with that key (HO-6).

    It raises ``InvalidArguments`` for a key of a wrong form.
    """

    def wrap(params: mcp_types.CallToolRequestParams, work: Work) -> Work:
        key = cast("dict[str, Any]", params.meta or {}).get(CALL_KEY)
        if key is None:
            return work
        if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY:
            raise InvalidArguments([(f"_meta.{CALL_KEY}", f"Give a text of 1 to {_MAX_KEY} characters.")])
        asked = json.dumps([params.name, params.arguments or {}], sort_keys=True)
        carry_out = cast("Callable[[], RenderedAnswer]", work)  # no tool of a store is a coroutine
        return partial(_carry_out_once, store, key, sha256(asked.encode()).hexdigest(), carry_out)

    return wrap


def _carry_out_once(store: Store[Any], key: str, digest: str, work: Callable[[], RenderedAnswer]) -> RenderedAnswer:
    answer = store.once(key, digest, lambda: work().data.decode())
    return RenderedAnswer(json.loads(answer), answer.encode())
