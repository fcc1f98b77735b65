"""What cortex-mcp does beside its calls: it notifies of the changes of others, and touches no secret (CX-5, CX-92)."""

from __future__ import annotations

import re

import pytest

from tests.core.notes import wait_until
from tests.cortex_chain.deployment import SERVER, Deployment, Developer
from tests.wire.kills import tracing_problem
from tests.wire.line_client import LineClient


@pytest.mark.sample
@pytest.mark.requirement("CX-92", "CX-45", "CX-121")
def test_a_change_by_somebody_else_reaches_a_client_that_listens(deployment: Deployment, ada: Developer) -> None:
    bob = deployment.add_developer("bob")
    task = deployment.new_task("Look", assignee_id=1)
    uri = f"tasks://{task['id']}"
    with LineClient("legacy", SERVER, ada.environment) as client:
        client.request("resources/subscribe", {"uri": uri})
        # The second request waits for what comes after the first, which says where the events are.
        wait_until(lambda: [asked.path for asked in deployment.relay.asked].count("/events") > 1)
        assert bob.ctx("tasks", "edit", str(task["id"]), "--priority", "HIGH")["task"]["version"] == 2
        told = client.receive()
        assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", uri)
        read = client.request("resources/read", {"uri": uri})["result"]["contents"][0]["text"]
    assert '"HIGH"' in read


@pytest.mark.long
@pytest.mark.requirement("CX-5", "CX-123")
@pytest.mark.skipif(tracing_problem() is not None, reason=str(tracing_problem()))
def test_the_server_opens_no_credentials_and_no_connection_but_its_ctx_does(
    deployment: Deployment, ada: Developer
) -> None:
    trace = deployment.folder / "trace"
    traced = ("strace", "-f", "-o", str(trace), "-e", "trace=openat,connect,socket,execve", *SERVER)
    with LineClient("legacy", traced, ada.environment) as client:
        assert client.call("start_task", task_id=deployment.new_task("Look")["id"])["isError"] is False
    lines = re.findall(r"(?m)^(\d+) +(\w+)\((.*)$", trace.read_text("utf-8"))
    server = lines[0][0]
    programs = {pid for pid, call, _ in lines if call == "execve"} - {server}
    for is_server in (True, False):
        made = [(call, rest) for pid, call, rest in lines if (pid not in programs) == is_server]
        assert any(call == "openat" and str(ada.credentials) in rest for call, rest in made) != is_server
        assert any(call == "connect" for call, rest in made) != is_server
        assert any(call == "socket" and "AF_INET" in rest for call, rest in made) != is_server
