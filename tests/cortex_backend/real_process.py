"""A backend as it is run: the command in a process of its own, and a client that keeps its connection."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from tests.core.notes import DEADLINE
from tests.cortex_backend.backend_fixture import PASSWORD, SECRET
from tests.processes import ending

__all__ = ["Connection", "ServedBackend", "served_backend"]

_STARTED: Final = "cortex-backend serves on "


class Connection:
    """Somebody who is logged in at a backend."""

    def __init__(self, address: str, role: str) -> None:
        self._http = http.client.HTTPConnection(urlsplit(address).netloc, timeout=DEADLINE)
        self._headers = {"Content-Type": "application/json"}
        body = {"email": f"{role}@example.com", "password": PASSWORD, "device": "laptop"}
        status, tokens = self.send("POST", "/auth/login", body)
        assert status == 200, tokens
        self._headers["Authorization"] = f"Bearer {tokens['access_token']}"

    def send(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Send a request, and return status and body of the answer."""
        self.ask(method, path, body)
        return self.answer()

    def ask(self, method: str, path: str, body: object = None) -> None:
        """Send a request, over a connection of its own: the server ends one that is not used for five seconds."""
        self._http.close()
        self._http.request(method, path, None if body is None else json.dumps(body), self._headers)

    def answer(self) -> tuple[int, Any]:
        """Return status and body of the answer to the request that was sent."""
        answer = self._http.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


class ServedBackend:
    """A running backend, and the connections to it."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address = address
        self._process = process
        self._connections: list[Connection] = []

    def log_in(self, role: str) -> Connection:
        """Return a connection of the person with this role."""
        self._connections.append(Connection(self.address, role))
        return self._connections[-1]

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def close(self) -> None:
        """End the process and all connections."""
        for connection in self._connections:
            connection.close()
        self.terminate()


@contextmanager
def served_backend(url: str) -> Iterator[ServedBackend]:
    """Yield a backend over this database, in a process of its own."""
    settings = {"CORTEX_DATABASE_URL": url, "CORTEX_SECRET_KEYS": SECRET}
    command = [sys.executable, "-m", "cortex_backend", "serve", "--port", "0"]
    with ending(
        subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, **settings})
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.startswith(_STARTED), line
        backend = ServedBackend(line.removeprefix(_STARTED), process)
        try:
            yield backend
        finally:
            backend.close()
