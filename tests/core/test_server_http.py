"""Requests that are given up at the end of the process (P3, HTTP-1)."""

from __future__ import annotations

from typing import NoReturn

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from task_core.server.http import OpenRequests


async def nothing() -> NoReturn:
    """Receive nothing, for ever."""
    await anyio.sleep_forever()
    raise AssertionError


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("is_begun", [False, True], ids=["not answered", "answered in part"])
async def test_a_request_that_is_given_up_has_one_answer(*, is_begun: bool) -> None:
    sent: list[Message] = []

    async def hanging(_: Scope, __: Receive, send: Send) -> None:
        if is_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        requests.give_up()
        await anyio.sleep_forever()

    async def note(message: Message) -> None:
        sent.append(message)

    requests = OpenRequests(hanging)
    await requests({"type": "http"}, nothing, note)
    assert [message["status"] for message in sent if "status" in message] == [200 if is_begun else 503]
