"""A client for servers of others, which may write more than answers on their output."""

import json

from typing_extensions import override

from benchmarks.wire import Client

__all__ = ["ForeignClient"]

_EDGE = 100
"""Bytes at each end of an answer among which its id is; looking through all of it would be measured too."""


class ForeignClient(Client):
    """A server process of another project; notifications, and lines that are not of the protocol, are passed over."""

    @override
    def exchange(self, line: bytes) -> bytes:
        number = json.loads(line.splitlines()[-1])["id"]
        wanted = f'"id":{number}'.encode()
        self.write(line)
        while wanted not in (answer := self._next_line())[:_EDGE] + b"\n" + answer[-_EDGE:]:
            pass
        return answer

    def _next_line(self) -> bytes:
        chunks = [self._received]
        while b"\n" not in chunks[-1]:
            chunks.append(self._more())
        line, _, self._received = b"".join(chunks).partition(b"\n")
        return line
