"""Real disks: full, read-only, slow. Without the right to mount, or without strace, these tests are skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.core.notes import deleted_files, wait_until
from tests.wire.kills import attached, tracing_problem
from tests.wire.line_client import LineClient
from tests.wire.storm_servers import SERVERS, Kind

SMALL = "size=1m"

FULL = {"json": "No space left on device [ENOSPC]", "sqlite": "database or disk is full"}
"""What a full disk is called by the engine that meets it."""


def mount(*arguments: str) -> None:
    """Mount something, or say that it cannot be done here."""
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root may mount a disk, and only Linux does it so")
    try:
        subprocess.run(("mount", *arguments), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing can be mounted here: {error}")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one MiB."""
    mount("-t", "tmpfs", "-o", SMALL, "tmpfs", str(tmp_path))
    try:
        yield tmp_path
    finally:
        subprocess.run(("umount", "--lazy", str(tmp_path)), check=True)


KINDS = [SERVERS["heartbeat"]("json"), SERVERS["tasks-v1"]("sqlite")]


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def serve(kind: Kind, folder: Path) -> LineClient:
    return LineClient(command=kind.record.module_command, environment=kind.environment(folder))


def create(client: LineClient, kind: Kind, token: str) -> dict[str, Any]:
    """Return the result of a creation."""
    change = kind.create(token, lambda: f"word of {token}")
    return client.call(change.tool, **change.arguments)


def check_created(client: LineClient, kind: Kind, token: str) -> None:
    result = create(client, kind, token)
    assert not result["isError"], result


def listed(client: LineClient, kind: Kind) -> list[str]:
    """Return the texts of the tasks that a server lists, in alphabetical order."""
    result = client.call(kind.record.list)
    assert not result["isError"]
    tasks = result["structuredContent"]["tasks"]
    return sorted(task.get("raw_user_request") or task.get("name") or task["title"] for task in tasks)


def fill(folder: Path) -> Path:
    """Return a file that takes all the room that is left."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(512)):
            pass
    return path


def check_refused(result: dict[str, Any], kind: Kind, cause: str) -> None:
    assert result["isError"]
    error = result["structuredContent"]["error"]
    assert error["code"] == "StoreWriteFailed"
    assert cause in error["message"]
    assert error["details"]["file"] in {kind.store, f"{kind.store}.lock"}


@pytest.mark.requirement("D4", "D5", "D3", "ERR-2")
def test_on_a_full_disk_a_creation_says_so_lists_work_and_freed_room_is_used(kind: Kind, disk: Path) -> None:
    kind.prepare(disk)
    with serve(kind, disk) as client:
        check_created(client, kind, "first")
        wait_until(lambda: not deleted_files(disk, client.process.pid))
        filler = fill(disk)
        check_refused(create(client, kind, "second"), kind, FULL[kind.engine])
        assert listed(client, kind) == ["first"]
        with serve(kind, disk) as other:
            assert listed(other, kind) == ["first"]
        filler.unlink()
        check_created(client, kind, "third")
        assert listed(client, kind) == ["first", "third"]
        assert [task.token for task in kind.stored(disk)] == ["first", "third"]
    assert set(os.listdir(disk)) <= kind.kept


@pytest.mark.requirement("D4", "D5", "D3", "ERR-2")
def test_on_a_read_only_disk_a_creation_says_so_and_lists_work(kind: Kind, disk: Path) -> None:
    kind.prepare(disk)
    with serve(kind, disk) as client:
        check_created(client, kind, "first")
    (disk / f"{kind.store}.lock").unlink()
    mount("-o", "remount,ro", str(disk))
    with serve(kind, disk) as client:
        assert listed(client, kind) == ["first"]
        check_refused(create(client, kind, "second"), kind, "Read-only file system [EROFS]")
        assert listed(client, kind) == ["first"]
        mount("-o", "remount,rw", str(disk))
        # A list that was too slow may still be trying to take something in, and what waits with it fails with it.
        wait_until(lambda: not create(client, kind, "third")["isError"])
        assert listed(client, kind) == ["first", "third"]
    assert set(os.listdir(disk)) <= kind.kept


@pytest.mark.requirement("D5", "AG-12")
def test_on_a_read_only_disk_trees_with_claims_are_listed(disk: Path) -> None:
    kind = SERVERS["hierarchy"]("json")
    kind.prepare(disk)
    environment = {**kind.environment(disk), "TASK_EXTRA_TOOLS": "claims"}
    with LineClient(command=kind.record.module_command, environment=environment) as client:
        check_created(client, kind, "first")
        assert not client.call("claimTask")["isError"]
    mount("-o", "remount,ro", str(disk))
    with serve(kind, disk) as client:
        assert listed(client, kind) == ["first"]


@pytest.mark.requirement("TOOL-7", "C2")
def test_while_a_slow_disk_syncs_other_requests_are_answered(kind: Kind, tmp_path: Path) -> None:
    if problem := tracing_problem():
        pytest.skip(problem)
    kind.prepare(tmp_path)
    change = kind.create("first", lambda: "word")
    with serve(kind, tmp_path) as client:
        assert listed(client, kind) == []
        client.request("tools/list")  # the first answer takes time
        with attached(client.process.pid, "-f", "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=500000"):
            client.write(client.call_line(1, change.tool, **change.arguments))
            client.write(client.line("ping", request_id=2) + client.line("tools/list", request_id=3))
            answers = [client.receive()["id"] for _ in range(3)]
        assert answers[-1] == 1
        assert listed(client, kind) == ["first"]
