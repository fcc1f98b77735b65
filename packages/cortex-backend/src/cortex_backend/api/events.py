"""The endpoint of events, at which a client can wait (CX-45)."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from cortex_backend.api.caller import CurrentCaller
from cortex_backend.api.dependencies import ONCE_QUERY, CurrentWork
from cortex_backend.api.responses import json_reply
from cortex_backend.schemas.events import EventList, EventWaitQuery
from cortex_backend.service.caller import Caller
from cortex_backend.service.work import WorkServices

__all__ = ["router"]

router = APIRouter(prefix="/events", tags=["events"])


@router.get("", operation_id="list_events", response_model=EventList, dependencies=ONCE_QUERY)
async def _list_events(caller: CurrentCaller, work: CurrentWork, query: Annotated[EventWaitQuery, Query()]) -> Response:
    """Return what happened that the caller may see, oldest first; wait for the first event if asked to."""
    found = await run_in_threadpool(work.events.list, caller, query)
    if not found.events and query.wait:
        found = await _wait(work, caller, query)
    return json_reply(found)


async def _wait(work: WorkServices, caller: Caller, query: EventWaitQuery) -> EventList:
    loop = asyncio.get_running_loop()
    end = loop.time() + query.wait
    with work.notifier.listen(caller.user_id) as signal:
        while True:
            signal.clear()
            found = await run_in_threadpool(work.events.list, caller, query)
            if found.events or work.notifier.is_ended or loop.time() >= end:
                return found
            try:
                async with asyncio.timeout_at(end):
                    await signal.wait()
            except TimeoutError:
                return found
