"""Limits of requests, which the application never sees if they are exceeded (CX-20, CX-96, CX-102)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from cortex_backend.api.request_guard import RequestGuard
from tests.core.listening import until

pytestmark = pytest.mark.requirement("CX-96")

JSON = ((b"content-type", b"application/json"),)
SMALL = 64


class Inner:
    """The application behind the guard: it answers with the body and the path that it got."""

    def __init__(self) -> None:
        self.running = 0
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": scope["type"]})
            return
        body = (await receive())["body"]
        self.running += 1
        await self.may_end.wait()
        self.running -= 1
        if scope["path"] == "/last":
            body = (await receive())["type"].encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"referrer-policy", b"origin")]})
        await send({"type": "http.response.body", "body": scope["path"].encode() + b" " + body})


class Answer:
    """What came back."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return self.messages[0]["status"]

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.messages[0]["headers"])

    @property
    def code(self) -> str:
        return json.loads(self.body)["code"]


def receiver(parts: Iterable[bytes], *, ends: bool = True) -> Receive:
    """Return what hands out the parts of a body, and then waits, or says that the client has gone."""
    left: Iterator[bytes] = iter([*parts, b""])

    async def receive() -> Message:
        part = next(left, None)
        if part is None:
            return {"type": "http.disconnect"}
        if part == b"" and not ends:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": part, "more_body": part != b""}

    return receive


async def ask(guard: RequestGuard, path: str = "/x", *parts: bytes, headers: Any = JSON, ends: bool = True) -> Answer:  # noqa: ANN401
    answer = Answer()
    scope = {"type": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [*headers]}
    await guard(scope, receiver(parts, ends=ends), answer)
    return answer


async def test_a_body_comes_whole_however_it_was_sent() -> None:
    answer = await ask(RequestGuard(Inner()), "/x", b"ab", b"cd")
    assert (answer.status, answer.body) == (200, b"/x abcd")


async def test_after_the_body_the_application_hears_that_the_client_has_gone() -> None:
    assert (await ask(RequestGuard(Inner()), "/last", b"ab")).body == b"/last http.disconnect"


@pytest.mark.requirement("CX-20")
@pytest.mark.parametrize("path", ["/tasks", "/projects", "/invitations"])
async def test_a_collection_is_served_without_its_slash_too(path: str) -> None:
    assert (await ask(RequestGuard(Inner()), path)).body == f"{path}/ ".encode()


@pytest.mark.requirement("CX-102")
async def test_every_answer_has_the_headers_of_security() -> None:
    headers = (await ask(RequestGuard(Inner()))).headers
    assert headers == {
        b"cache-control": b"no-store",
        b"referrer-policy": b"origin",  # what the application says itself stays
        b"x-content-type-options": b"nosniff",
    }


@pytest.mark.requirement("CX-20")
async def test_a_body_that_is_too_large_by_its_length_is_not_read() -> None:
    headers = [*JSON, (b"content-length", b"262145")]
    answer = await ask(RequestGuard(Inner()), headers=headers, ends=False)
    assert (answer.status, answer.code) == (413, "TooLarge")


@pytest.mark.requirement("CX-20")
async def test_a_body_is_counted_as_it_comes() -> None:
    part = b"x" * 65_536
    assert (await ask(RequestGuard(Inner()), "/x", *[part] * 4)).status == 200
    answer = await ask(RequestGuard(Inner()), "/x", *[part] * 4, b"x", ends=False)
    assert (answer.status, answer.code) == (413, "TooLarge")


async def test_a_slow_body_ends() -> None:
    answer = await ask(RequestGuard(Inner(), body_seconds=0.01), "/x", b"ab", ends=False)
    assert (answer.status, answer.code) == (408, "RequestTimeout")


async def test_a_client_that_goes_before_its_body_gets_nothing() -> None:
    answer = Answer()

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    scope: Scope = {"type": "http", "path": "/x", "raw_path": b"/x", "query_string": b"", "headers": []}
    await RequestGuard(Inner())(scope, gone, answer)
    assert answer.messages == []


async def test_a_request_line_with_headers_has_at_most_16_kibibytes() -> None:
    length = 16 * 1024 - len("/x" + "content-typeapplication/json" + "x")
    assert (await ask(RequestGuard(Inner()), headers=[*JSON, (b"x", b"y" * length)])).status == 200
    answer = await ask(RequestGuard(Inner()), headers=[*JSON, (b"x", b"y" * (length + 1))])
    assert (answer.status, answer.code) == (413, "TooLarge")


@pytest.mark.requirement("CX-20")
@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [
        ("/x", b"application/json", 200),
        ("/x", b"Application/JSON; charset=utf-8", 200),
        ("/x", b"application/x-www-form-urlencoded", 415),
        ("/x", b"", 415),
        ("/auth/token", b"application/x-www-form-urlencoded", 200),
        ("/auth/token", b"application/json", 415),
    ],
)
async def test_a_body_is_of_the_type_that_its_path_takes(path: str, kind: bytes, status: int) -> None:
    assert (await ask(RequestGuard(Inner()), path, b"{}", headers=[(b"content-type", kind)])).status == status
    assert (await ask(RequestGuard(Inner()), path, headers=[(b"content-type", kind)])).status == 200


@pytest.mark.requirement("CX-15")
async def test_a_body_that_is_not_utf_8_is_refused() -> None:
    answer = await ask(RequestGuard(Inner()), "/x", b"\xff")
    assert (answer.status, answer.code) == (422, "InvalidArguments")


async def test_64_requests_are_answered_at_a_time() -> None:
    inner = Inner()
    guard = RequestGuard(inner)
    inner.may_end.clear()
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(ask(guard)) for _ in range(SMALL)]
        await until(lambda: inner.running == SMALL)
        refused = await ask(guard)
        assert (refused.status, refused.code, refused.headers[b"retry-after"]) == (503, "Unavailable", b"1")
        inner.may_end.set()
    assert {task.result().status for task in running} == {200}
    assert (await ask(guard)).status == 200


async def test_a_body_that_is_still_arriving_takes_no_place() -> None:
    inner = Inner()
    guard = RequestGuard(inner)
    slow = [asyncio.create_task(ask(guard, "/auth/login", b"{", ends=False)) for _ in range(2 * SMALL)]
    await asyncio.sleep(0)
    assert [(await ask(guard, path)).status for path in ("/x", "/events", "/healthz")] == [200] * 3
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    assert all(task.cancelled() for task in slow)


async def test_health_is_answered_while_all_places_are_taken() -> None:
    inner = Inner()
    guard = RequestGuard(inner)
    inner.may_end.clear()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(SMALL):
            tasks.create_task(ask(guard))
        await until(lambda: inner.running == SMALL)
        healths = [tasks.create_task(ask(guard, "/healthz")) for _ in range(2)]
        await until(lambda: inner.running == SMALL + 2)
        assert (await ask(guard)).status == 503
        inner.may_end.set()
    assert [task.result().status for task in healths] == [200, 200]


async def test_what_is_not_http_passes() -> None:
    answer = Answer()
    await RequestGuard(Inner())({"type": "lifespan"}, receiver([]), answer)
    assert answer.messages == [{"type": "lifespan"}]
