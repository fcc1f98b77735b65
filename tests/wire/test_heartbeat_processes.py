"""Several heartbeat servers on one store, and servers that are killed: real processes, real files."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.processes import ending
from tests.wire.line_client import PATIENCE, LineClient
from tests.wire.storm_servers import ROUTINE, SERVERS, entry_ids

EACH = 30

HOLD = (
    "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print('held', flush=True); input()"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "HEARTBEAT.md").write_text(ROUTINE, "utf-8")
    return tmp_path


def serve(folder: Path, **settings: str) -> LineClient:
    """Return a client of a new server over the HEARTBEAT.md in ``folder``, with more settings if there are any."""
    environment = {**SERVERS["heartbeat"]().environment(folder), **settings}
    return LineClient(command=(sys.executable, "-m", "heartbeat_mcp"), environment=environment)


def stored_ids(folder: Path) -> list[str]:
    """Return the ids in the store, as another program would read them."""
    return [task.id for task in SERVERS["heartbeat"]().stored(folder)]


def create_all(client: LineClient, number: int) -> None:
    client.write(b"".join(client.call_line(n, "task_create", raw_user_request=f"{number}-{n}") for n in range(EACH)))


@contextmanager
def held_by_another_process(lock: Path) -> Iterator[None]:
    """Hold the lock in a process of its own for as long as the block runs."""
    command = [sys.executable, "-c", HOLD, str(lock)]
    with ending(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate(b"\n")


@pytest.mark.requirement("C1", "C2", "C4", "C5", "ST-2", "TOOL-7")
@pytest.mark.parametrize("processes", [3])
def test_calls_in_flight_to_several_processes_all_count_and_each_sees_at_once_what_another_has_done(
    folder: Path, processes: int
) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(serve(folder)) for _ in range(processes)]
        for number, client in enumerate(clients):
            create_all(client, number)
        answers = [answer for client in clients for answer in client.collect(range(EACH)).values()]
        one, other, *_ = clients
        changed = answers[-1]["result"]["structuredContent"]["id"]
        for status in ("Running", "Pending"):
            other.call("task_update", task_id=changed, updates={"status": status})
            assert one.call("task_get", task_id=changed)["structuredContent"]["status"] == status
        listed = one.call("task_list", limit=100)["structuredContent"]["tasks"]
        assert [task["id"] for task in listed] == stored_ids(folder)
    assert not any(answer["result"]["isError"] for answer in answers)
    acknowledged = [answer["result"]["structuredContent"]["id"] for answer in answers]
    assert len(set(acknowledged)) == processes * EACH
    assert sorted(stored_ids(folder)) == sorted(acknowledged)
    assert entry_ids(folder) == stored_ids(folder)


@pytest.mark.requirement("CLI-5", "P3")
@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM], ids=str)
def test_a_server_that_is_asked_to_end_answers_what_it_has_read(folder: Path, how: str | signal.Signals) -> None:
    with serve(folder) as client:
        create_all(client, 0)
        answers = [client.receive()]
        if isinstance(how, signal.Signals):
            client.process.send_signal(how)
        else:
            client.close_input()
        answers += client.rest()
        assert client.exit_code() == 0
    made = [answer["result"]["structuredContent"]["id"] for answer in answers if not answer["result"]["isError"]]
    assert len(made) >= (1 if isinstance(how, signal.Signals) else EACH)
    assert set(made) <= set(stored_ids(folder))
    with serve(folder) as client:
        assert not client.call("task_create", raw_user_request="after")["isError"]


@pytest.mark.requirement("C2", "TOOL-7")
def test_while_another_process_holds_the_lock_ping_is_answered_and_calls_say_so(folder: Path) -> None:
    with serve(folder) as holder:
        holder.call("task_create", raw_user_request="x")
        lock = folder / "heartbeat_state.json.lock"
        with held_by_another_process(lock), serve(folder, TASK_LOCK_TIMEOUT="1") as client:
            client.write(client.call_line(1, "task_create", raw_user_request="y"))
            assert "result" in client.request("ping")
            assert len(client.request("tools/list")["result"]["tools"]) == 4
            error = client.receive()["result"]["structuredContent"]["error"]
        assert error["code"] == "StoreLocked"
        assert 1.0 <= error["details"]["waited"] < PATIENCE
        assert len(holder.call("task_list")["structuredContent"]["tasks"]) == 1
