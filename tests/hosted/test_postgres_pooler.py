"""Stores behind PgBouncer, which gives each transaction another session of the server (EN-15)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest

from task_core.errors import StoreLocked, TaskNotFound
from tests.core.engines import Card
from tests.core.ledger import begin, check, count_up, open_one
from tests.core.notes import DEADLINE, in_background, open_folder, wait_until
from tests.postgres import (
    SERVER_ROLE,
    needs_postgres,
    new_pool,
    shared_server,
    start_unprivileged,
    store_pool,
    store_url,
)

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = [
    needs_postgres,
    pytest.mark.skipif(PROGRAM is None, reason="Stores behind a pooler are not tested: pgbouncer is not installed"),
    pytest.mark.requirement("EN-15"),
]

SETTINGS = """\
[databases]
* = host={server}

[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
server_lifetime = 3600
logfile = {folder}/log
"""


@pytest.fixture(scope="module")
def pooler() -> Iterator[Path]:
    """The folder with the socket of a pooler that has two sessions for every client together."""
    store_url()
    with open_folder() as folder:
        (folder / "users").write_text(f'"{SERVER_ROLE}" ""\n', "utf-8")
        (folder / "settings").write_text(SETTINGS.format(server=shared_server().sockets, folder=folder), "utf-8")
        command = [str(PROGRAM), "--quiet", str(folder / "settings")]
        with start_unprivileged(command) as process:
            wait_until(lambda: process.poll() is not None or (folder / ".s.PGSQL.6432").exists())
            assert process.poll() is None, (folder / "log").read_text("utf-8")
            yield folder
            process.terminate()


@pytest.fixture
def url(pooler: Path) -> str:
    return f"postgresql://{SERVER_ROLE}@{urlsplit(store_url()).path}?host={pooler}&port=6432&pooler=transaction"


@pytest.fixture
def pool(url: str) -> Iterator[Pool]:
    yield (opened := new_pool(url))
    opened.close()


def test_many_clients_share_few_sessions_and_lose_nothing(url: str, pool: Pool, tmp_path: Path) -> None:
    pools = [pool, new_pool(url)]
    stores = [open_one(some, tmp_path) for some in pools]
    begin(stores[0])
    names: set[str] = set()

    def work(number: int) -> None:
        for turn in range(8):
            count_up(stores[number % 2], f"{number}-{turn}", names)
            with stores[number % 2].read() as cards:
                assert f"{number}-{turn}" in cards

    with in_background() as start:
        start(*(lambda number=number: work(number) for number in range(6)))
    check(open_one(store_pool(), tmp_path), names)
    assert len(names) == 48
    pools[1].close()


def test_tenants_that_share_a_session_see_nothing_of_each_other(pool: Pool, tmp_path: Path) -> None:
    ada, bob = (open_one(pool, f"{tmp_path} {name}") for name in ("ada", "bob"))
    begin(ada)
    begin(bob)
    for number in range(8):
        count_up(ada, f"a{number}")
        with bob.read() as cards, pytest.raises(TaskNotFound):
            cards.get(f"a{number}")
    check(bob, set())
    check(ada, {f"a{number}" for number in range(8)})


def test_a_unit_whose_session_is_ended_behind_the_pooler_is_carried_out_on_another(pool: Pool, tmp_path: Path) -> None:
    store = open_one(pool, tmp_path)
    begin(store)
    with store.transaction() as cards:
        cards.add(Card(id="a", tags=("p",)))
        ledger = cards.get("ledger")
        with psycopg.connect(shared_server().store_url("postgres", "template1")) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [SERVER_ROLE])
        cards.replace(ledger.changed(rank=1))
    check(store, {"a"})


def test_a_list_is_waited_for_as_long_as_without_a_pooler_and_closing_ends_that(pool: Pool, tmp_path: Path) -> None:
    store, hasty, other = (open_one(pool, tmp_path, lock_seconds=seconds) for seconds in (60, 0.1, 60))
    begin(store)
    ended: list[object] = []

    def wait() -> None:
        with pytest.raises(StoreLocked):
            count_up(other, "never")
        ended.append("locked")

    with store.transaction(), in_background() as start:
        with pytest.raises(StoreLocked):
            count_up(hasty, "never")
        start(wait)
        other.close()
        wait_until(lambda: ended)
    count_up(store, "a")
    check(store, {"a"})


@pytest.mark.parametrize("more", ["", "&target_session_attrs=read-write", "&target_session_attrs=any"])
def test_an_address_may_name_several_poolers(pooler: Path, url: str, tmp_path: Path, more: str) -> None:
    pool = new_pool(url.replace(f"host={pooler}", f"host={pooler}/none,{pooler}").replace("6432", "6432,6432") + more)
    store = open_one(pool, tmp_path)
    begin(store)
    there = Barrier(4)

    def read() -> None:
        there.wait(DEADLINE)
        check(store, set())

    with in_background() as start:
        start(*[read] * 4)
    pool.close()
