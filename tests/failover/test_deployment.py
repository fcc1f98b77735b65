"""The example of a hosted server, as its commands run it: servers end, are killed and come back under load."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from socket import create_server
from typing import Final

import psutil
import pytest

from examples.hosted import programs
from examples.hosted.cluster import find_postmaster, find_primary, is_complete
from examples.hosted.daemons import Daemons
from examples.hosted.database import DATABASE, connect
from examples.hosted.layout import MEMBERS, NODES, REPLICAS, ROOT, Layout
from examples.hosted.listen import listen
from examples.hosted.passwords import SUPERUSER
from examples.hosted.services import ask_for_token
from tests.core.listening import until
from tests.core.notes import open_folder, wait_until
from tests.failover.channels import HttpChannel
from tests.failover.ledger import Fate, Tally, tally
from tests.failover.load import Load
from tests.failover.observe import count_words
from tests.ports import free_port

CHANGES: Final = 40
"""Changes that must be acknowledged before and after something happens."""

NAMES: Final = (*MEMBERS, *NODES, "issuer", *REPLICAS, "proxy")

UNLIMITED: Final = {"TASK_CALLS_PER_SECOND": "10000", "TASK_CALLS_BURST": "10000"}


def what_is_missing() -> str | None:
    if sys.platform != "linux":
        return "the hosted example is not tested: it needs Linux"
    try:
        for find in (programs.find_etcd, programs.find_haproxy, programs.find_patroni, programs.find_postgres):
            find()
    except programs.ProgramMissing as error:
        return f"the hosted example is not tested: {error}"
    return None


pytestmark = pytest.mark.skipif(what_is_missing() is not None, reason=str(what_is_missing()))


class Example:
    """The example, by its commands."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.daemons = Daemons(layout)

    def run(self, command: str, *words: str) -> str:
        """Return what a command prints."""
        done = self.try_to(command, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def try_to(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Return how a command ended."""
        place = ("--folder", str(self.layout.folder), "--port", str(self.layout.port))
        line = (sys.executable, "-m", "examples.hosted.main", command, *words, *place)
        environment = {**os.environ, **UNLIMITED}
        return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)

    def process(self, name: str) -> psutil.Process:
        """Return the process of a program."""
        process = self.daemons.find(name)
        assert process, f"{name} does not run"
        return process

    def work_through(self, name: str, act: Callable[[], object], *, refusal: str | None = None) -> Tally:
        """Return what became of the changes of a user while ``act`` is carried out.

        ``refusal`` is the reason with which calls may be refused meanwhile.
        """
        token = ask_for_token(self.layout, name)
        with Load(name, lambda _: HttpChannel(self.layout.public_url, token), clients=4) as load:
            for step in (lambda: None, act):
                target = load.count_acknowledged() + CHANGES
                step()
                wait_until(lambda target=target: load.count_acknowledged() >= target)
        with connect(self.layout, SUPERUSER, DATABASE) as connection:
            found = count_words(connection)
        result = tally(load.attempts, found)
        assert (result.lost, result.doubled, result.denied, result.reversed) == ([], [], [], [])
        assert result.present == result.acknowledged >= 2 * CHANGES
        reasons = [attempt.reason for attempt in load.attempts if attempt.fate is Fate.REFUSED]
        assert [reason for reason in reasons if refusal is None or refusal not in reason] == []
        return result


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the processes that work in a folder, or were told of it."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if str(folder) in " ".join((process.cwd(), *process.cmdline())):
                found.append(process)
    return found


# Steps of one test: a deployment takes long to start, and tests may run in several processes.


def up_starts_what_does_not_run_and_nothing_as_root(example: Example) -> None:
    before = {name: example.process(name).pid for name in NAMES}
    example.run("up")
    assert {name: example.process(name).pid for name in NAMES} == before
    postmasters = [find_postmaster(example.layout, node) for node in NODES]
    users = {process.uids().effective for process in (*map(example.process, NAMES), *postmasters) if process}
    assert None not in postmasters
    assert 0 not in users
    assert all(str(pid) in example.run("status") for pid in before.values())


async def a_task_created_through_one_server_is_announced_by_the_other(example: Example) -> None:
    urls = [f"http://{example.layout.address('server', machine)}/mcp" for machine in REPLICAS]
    token = example.run("token", "ada").strip()
    heard: list[str] = []
    listening = asyncio.create_task(listen(urls[1], token, heard.append))
    await until(lambda: heard == [""])
    with closing(HttpChannel(urls[0], token)) as channel:
        await asyncio.to_thread(channel.create, "news")
    await until(lambda: "tasks://list" in heard)
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening


def a_server_that_drains_ends_without_one_failed_call(example: Example) -> None:
    process = example.process(REPLICAS[0])

    def end() -> None:
        process.send_signal(signal.SIGTERM)
        psutil.wait_procs([process], timeout=20)
        assert not process.is_running()

    assert example.work_through("drain", end).unknown == 0
    example.run("up")


def a_server_that_is_killed_takes_no_acknowledged_change_with_it(example: Example) -> None:
    example.work_through("kill", example.process(REPLICAS[0]).kill)
    example.run("up")


def another_node_takes_over_when_the_database_of_the_primary_is_killed(example: Example) -> None:
    primary = find_primary(example.layout)
    assert primary
    postmaster = find_postmaster(example.layout, primary)
    assert postmaster
    # The clients share a list: what one read before the loss, another may change after it (EN-14). And on a busy
    # machine the other node may take over later than a call waits.
    example.work_through("failover", postmaster.kill, refusal="the connection was lost")
    wait_until(lambda: is_complete(example.layout))
    assert find_primary(example.layout) != primary


@pytest.mark.long
@pytest.mark.requirement("HO-5", "HO-8", "HO-9", "HO-10")
def test_the_example_starts_and_serves_and_goes_on_after_losses_and_ends() -> None:
    with open_folder() as folder:
        example = Example(Layout(folder / "hosted", free_port(60)))
        try:
            assert example.layout.public_url in example.run("up")
            up_starts_what_does_not_run_and_nothing_as_root(example)
            asyncio.run(a_task_created_through_one_server_is_announced_by_the_other(example))
            a_server_that_drains_ends_without_one_failed_call(example)
            a_server_that_is_killed_takes_no_acknowledged_change_with_it(example)
            another_node_takes_over_when_the_database_of_the_primary_is_killed(example)
        finally:
            example.run("down")
        assert processes_of(folder) == []


@pytest.mark.long
@pytest.mark.requirement("HO-9")
def test_a_program_that_ends_at_once_is_named() -> None:
    with open_folder() as folder:
        example = Example(Layout(folder / "hosted", free_port(60)))
        with create_server(("127.0.0.1", example.layout.port_of("peers", "etcd1"))):
            done = example.try_to("up")
        example.run("down")
        assert (done.returncode, "etcd1 has ended" in done.stderr) == (1, True), done.stderr
        assert processes_of(folder) == []


@pytest.mark.requirement("HO-9")
def test_what_is_not_there_is_not_stopped(tmp_path: Path) -> None:
    absent = Example(Layout(tmp_path / "absent"))
    assert "Nothing runs" in absent.run("down")
    assert not absent.layout.folder.exists()
