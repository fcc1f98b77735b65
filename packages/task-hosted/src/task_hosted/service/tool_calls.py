"""Tool calls: idempotency keys, with the answers of a day, and one log line for each call (HO-6, HO-7)."""

import json
import logging
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import sha256
from typing import Any, Final, cast

import mcp_types

from task_core.errors import InvalidArguments
from task_core.history.changes import current_origin
from task_core.models import microseconds
from task_core.server.app import Work
from task_core.server.faults import RenderedAnswer
from task_core.store import Store
from task_core.store.statements import SQL

__all__ = ["CALL_KEY", "carry_out_once", "log_call", "make_repeatable", "request_id"]

CALL_KEY: Final = "task-core/idempotency-key"
"""The member of ``_meta`` by which a client marks a call that it may repeat."""

_MAX_KEY: Final = 200
"""Most characters of an idempotency key."""

_ANSWERED: Final = 24 * 3600 * 1_000_000
"""Microseconds for which the answer of a call is kept."""

_MAX_CALLS: Final = 10_000
"""Answers of calls that one list keeps, so that a client cannot fill the database with them."""

_MAX_SIZE: Final = 20_000_000
"""Characters of all these answers."""

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
            raise _refuse_key(f"Give a text of 1 to {_MAX_KEY} characters.")
        agent = current_origin().agent  # no longer among the arguments
        asked = json.dumps([params.name, params.arguments or {}, *filter(None, [agent])], sort_keys=True)
        tool = cast("Callable[[], RenderedAnswer]", work)  # no tool of a store is a coroutine
        digest = sha256(asked.encode()).hexdigest()

        def carry_out() -> RenderedAnswer:
            answer = carry_out_once(store, key, digest, lambda: tool().data.decode())
            return RenderedAnswer(json.loads(answer), answer.encode())

        return carry_out

    return wrap


def carry_out_once(store: Store[Any], key: str, digest: str, work: Callable[[], str]) -> str:
    """Return the answer of ``work``, or the one that it gave under the same ``key`` in the last 24 hours.

    What ``work`` changes is saved together with its answer, or not at all. ``digest`` is that of what the call asks.

    Raises:
        InvalidArguments: the key is that of another call, or too many answers are kept.
        TaskError: the error of ``work``, which is not kept.
    """
    with store.transaction() as outer:
        moment = microseconds(outer.clock())
        for kept, answer in outer.run(SQL.CALL, id=key, limit=moment - _ANSWERED):
            if kept != digest:
                raise _refuse_key("another call had this key: give each call a key of its own")
            return str(answer)
        answer = work()
        outer.run(SQL.PURGE_CALLS, limit=moment - _ANSWERED)
        ((count, size),) = outer.run(SQL.COUNT_CALLS)
        if count >= _MAX_CALLS or size + len(answer) > _MAX_SIZE:
            limits = f"{_MAX_CALLS:,} answers of the last 24 hours, of {_MAX_SIZE:,} characters"
            raise _refuse_key(f"this list keeps at most {limits}: leave the key out")
        outer.run(SQL.ADD_CALL, id=key, digest=digest, answer=answer, moment=moment)
        outer.is_changed = True
        return answer


def _refuse_key(reason: str) -> InvalidArguments:
    return InvalidArguments([(f"_meta.{CALL_KEY}", reason)])
