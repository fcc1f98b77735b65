"""An address that cannot be had is a bad setting, said in one sentence (CLI-2, CLI-3), and answers leave at once."""

from __future__ import annotations

import socket

import pytest

from task_core.bootstrap import BadSettings
from task_core.server.transports.asgi import listen
from task_core.server.transports.http import run_http
from tests.core.shelf import Shelf


@pytest.mark.requirement("CLI-2", "CLI-3")
@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_an_address_that_another_server_has_is_refused(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadSettings) as caught:
            run_http(Shelf().server, host, port)
    name = f"[{host}]" if ":" in host else host
    assert str(caught.value) == f"{name}:{port} cannot be used: Address already in use"


@pytest.mark.requirement("HO-11")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_no_answer_waits_until_the_client_has_acknowledged_its_beginning(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
