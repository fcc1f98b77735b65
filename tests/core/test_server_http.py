"""An address that cannot be had is a bad setting, said in one sentence (CLI-2, CLI-3)."""

from __future__ import annotations

import socket

import pytest

from task_core.early import BadSettings
from task_core.server.http import run_http
from tests.core.shelf import Shelf


@pytest.mark.requirement("CLI-2", "CLI-3")
@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_an_address_that_another_server_has_is_refused(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadSettings) as caught:
            run_http(Shelf().server, host, port)
    assert str(caught.value) == f"--host {host} --port {port} cannot be used: Address already in use"
