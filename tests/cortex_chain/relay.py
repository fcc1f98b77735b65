"""A relay between ``ctx`` and a backend: it passes everything on, keeps what it was asked, and can hold a request."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from contextlib import closing
from typing import Final
from urllib.parse import urlencode, urlsplit

from typing_extensions import override

from tests.core.notes import DEADLINE
from tests.cortex_cli.stub_server import StubReply, StubRequest, StubServer

__all__ = ["Relay"]

_HOP_BY_HOP: Final = {"connection", "content-length", "host", "transfer-encoding"}
"""Headers that are about one connection."""


class Relay(StubServer):
    """Asks the backend at ``target``; ``before`` is called with each request first, in the thread of the request."""

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(origin)
        self.before: Callable[[StubRequest], object] = lambda _asked: None
        self.lost: list[str] = []
        """paths of which the next answer does not arrive"""
        self._target = urlsplit(target).netloc

    @override
    def answer(self, asked: StubRequest) -> StubReply:
        self.asked.append(asked)
        self.before(asked)
        with closing(http.client.HTTPConnection(self._target, timeout=3 * DEADLINE)) as connection:
            path = asked.path + (f"?{urlencode(asked.query)}" if asked.query else "")
            headers = {name: value for name, value in asked.headers.items() if name not in _HOP_BY_HOP}
            connection.request(asked.method, path, asked.body or None, headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP_BY_HOP}
            said = StubReply(answer.status, answer.read(), kept)
        if asked.path in self.lost:
            self.lost.remove(asked.path)
            return StubReply(0)
        return said
