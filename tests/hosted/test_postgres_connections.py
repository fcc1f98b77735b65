"""Connections to PostgreSQL: how they are found, shared, lost and replaced, and how long anybody waits for one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from socket import AF_UNIX, socket
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pytest

from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed
from task_core.store import Store
from tests.core.engines import Card
from tests.core.ledger import LEDGER, begin, check, count_up, open_one
from tests.core.notes import DEADLINE, in_background, wait_for_turn, wait_until
from tests.hosted.postgres_proxy import Moment, Proxy, Step
from tests.postgres import (
    SERVER_ROLE,
    PostgresServer,
    make_tables,
    needs_postgres,
    new_pool,
    postgres_server,
    shared_server,
    store_pool,
    store_url,
)

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

pytestmark = [needs_postgres, pytest.mark.requirement("EN-15")]


@pytest.fixture(scope="module")
def second() -> Iterator[PostgresServer]:
    """Another server, with empty tables in a database of the same name."""
    with postgres_server() as server:
        name = urlsplit(store_url()).path[1:]
        server.run(f"CREATE DATABASE {name}")
        make_tables(server.store_url("postgres", name))
        yield server


def use_many(pool: Pool, tenant: object, number: int = 5) -> None:
    """Let the pool hold this many connections, none of them in use."""
    there = threading.Barrier(number)

    def one() -> None:
        with open_one(pool, tenant).read():
            there.wait(DEADLINE)

    with in_background() as start:
        start(*[one] * number)


def ids(store: Store[Card]) -> set[str]:
    with store.read() as cards:
        return {node.id for node in cards.nodes()} - {LEDGER}


# Ways to the server


@pytest.mark.requirement("EN-17")
@pytest.mark.parametrize(
    ("address", "question", "answer"),
    [
        ("postgresql:///{database}?host={folder}&user={role}", "SELECT current_user", SERVER_ROLE),
        ("postgresql://{role}@/{database}?host={folder}&application_name=a+b%20c", "SHOW application_name", "a+b c"),
        ("postgresql://{role}@/{database}?host={folder}&pooler=transaction", "SHOW application_name", "task-core"),
        ("postgresql://{role}@/{database}?options=-c%20work_mem%3D1MB&host={folder}", "SHOW work_mem", "1MB"),
        ("postgresql://{role}@{none},{place}/{database}", "SHOW transaction_read_only", "off"),
        ("postgresql://{role}@/{database}?host={none},{folder}", "SHOW transaction_read_only", "off"),
        ("postgresql://{role}@{place}/{database}?target_session_attrs=primary", "SELECT current_user", SERVER_ROLE),
    ],
)
def test_an_address_reaches_the_driver_as_it_was_written(address: str, question: str, answer: str) -> None:
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    folder = str(shared_server().sockets)
    database = urlsplit(store_url()).path[1:]
    place, none = quote(folder, safe=""), quote(f"{folder}/none", safe="")
    url = address.format(role=SERVER_ROLE, folder=folder, database=database, place=place, none=none)
    with connect_once(url) as connection:
        assert connection.execute(question.encode()).fetchall() == [(answer,)]


@pytest.mark.requirement("EN-17")
@pytest.mark.parametrize("form", ["postgresql://{role}@{hosts}{path}", "postgresql://{role}@{path}?host={hosts}"])
def test_of_several_servers_the_one_that_takes_writes_is_used(
    second: PostgresServer, tmp_path: Path, form: str
) -> None:
    path = urlsplit(store_url()).path
    second.run(f"ALTER DATABASE {path[1:]} SET default_transaction_read_only = on")
    hosts = ",".join(quote(str(server.sockets), safe="") for server in (second, shared_server()))
    begin(open_one(new_pool(form.format(role=SERVER_ROLE, hosts=hosts, path=path)), tmp_path))
    check(open_one(store_pool(), tmp_path), set())
    second.run(f"ALTER DATABASE {path[1:]} RESET default_transaction_read_only")


@pytest.mark.requirement("EN-17")
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("hostaddr=10.0.0.1,10.0.0.2", "read-write"),
        ("hostaddr=10.0.0.1,10.0.0.2&target_session_attrs=any", None),
        ("hostaddr=10.0.0.1", None),
    ],
)
def test_of_several_numeric_addresses_the_driver_looks_for_the_one_that_takes_writes(
    query: str, wanted: str | None
) -> None:
    from task_hosted.postgres.connection import split_url  # noqa: PLC0415 - it needs the driver

    _, options = split_url(f"postgresql:///tasks?{query}")
    assert options.get("target_session_attrs") == wanted


def url_of(*folders: object, port: str = "") -> str:
    """Return the address of the servers with sockets in these folders."""
    hosts = ",".join(quote(str(folder), safe="") + port for folder in folders)
    return f"postgresql://{SERVER_ROLE}@{hosts}{urlsplit(store_url()).path}"


@pytest.mark.requirement("EN-15", "EN-22")
@pytest.mark.parametrize("port", ["", ":5432"], ids=["no port", "a port"])
def test_a_server_that_does_not_answer_holds_up_nobody_for_long(tmp_path: Path, port: str) -> None:
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    with closing(socket(AF_UNIX)) as silent:
        silent.bind(str(tmp_path / ".s.PGSQL.5432"))
        silent.listen()
        for folders in ([tmp_path, shared_server().sockets], [shared_server().sockets, tmp_path]):
            with connect_once(url_of(*folders, port=port)) as connection:
                assert connection.execute("SELECT current_user").fetchall() == [(SERVER_ROLE,)]


@pytest.fixture(scope="module")
def orphan() -> Iterator[PostgresServer]:
    """A server with empty tables, which ``promote`` of its copies makes an orphan."""
    with postgres_server() as server:
        name = urlsplit(store_url()).path[1:]
        server.run(f"CREATE DATABASE {name}")
        make_tables(server.store_url("postgres", name))
        yield server


@pytest.mark.requirement("EN-22")
def test_of_several_servers_that_take_writes_the_one_with_the_highest_timeline_is_used(
    orphan: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from task_hosted.postgres import connection  # noqa: PLC0415 - it needs the driver

    with orphan.copy() as primary:
        pool = new_pool(url_of(orphan.sockets, primary.sockets))
        store = open_one(pool, tmp_path)
        begin(store)
        primary.promote()
        for folders in ([orphan.sockets, primary.sockets], [primary.sockets, orphan.sockets]):
            with connection.connect_once(url_of(*folders)) as connected:
                assert connected.place == (str(primary.sockets), "5432")
        assert pool.take(tmp_path) is None  # the connection led to the orphan
        begin(store)
        count_up(store, "a")
        monkeypatch.setattr(connection, "_TRUST_SECONDS", 0)
        check(store, {"a"})
        primary.stop()
        assert ids(store) == set()  # better the orphan than nothing
        pool.close()


@pytest.mark.requirement("EN-22", "EN-15")
def test_a_server_that_knows_no_timeline_is_used_and_a_bad_address_is_no_fault_until_it_is_needed(
    orphan: PostgresServer, tmp_path: Path
) -> None:
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    path = urlsplit(store_url()).path
    name = "pg_walfile_name(pg_lsn)"
    with connect_once(orphan.store_url("postgres", path[1:])) as owner:
        owner.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC".encode())
        begin(open_one(new_pool(url_of(f"{orphan.sockets}/none", orphan.sockets)), tmp_path))
        owner.execute(f"GRANT EXECUTE ON FUNCTION {name} TO PUBLIC".encode())
    problem = new_pool(f"{url_of(orphan.sockets)}?color=red").explain()
    assert problem
    assert "color" in problem.message


@pytest.mark.requirement("EN-22", "EN-14")
def test_a_commit_that_an_orphan_does_not_answer_is_carried_out_by_the_primary(
    orphan: PostgresServer, tmp_path: Path
) -> None:
    pool = new_pool(url_of(orphan.sockets, f"{orphan.sockets}/none"))
    begin(open_one(pool, tmp_path))
    with orphan.copy() as primary:
        pool.close()
        pool = new_pool(url_of(orphan.sockets, primary.sockets))
        store = open_one(pool, tmp_path, lock_seconds=DEADLINE, statement_seconds=1.5)
        check(store, set())
        primary.promote()
        orphan.alter("SET synchronous_standby_names = 'gone'")  # no commit is answered any more
        count_up(store, "a")
        check(store, {"a"})
        check(open_one(new_pool(url_of(primary.sockets)), tmp_path), {"a"})
        orphan.alter("RESET synchronous_standby_names")
        pool.close()


@pytest.mark.requirement("EN-15")
@pytest.mark.parametrize("fsync", [True, False])
def test_a_transaction_sets_what_its_statements_need(tmp_path: Path, fsync: bool) -> None:
    from task_hosted.postgres import PostgresDatabase  # noqa: PLC0415 - it needs the driver

    asked = ("jit", "idle_in_transaction_session_timeout", "synchronous_commit")
    database = PostgresDatabase(store_pool(), str(tmp_path), "cards", fsync=fsync)
    with database.reading() as session:
        shown = [session.run(f"SELECT current_setting('{name}')", {})[0][0] for name in asked]
    assert shown == ["off", "5s", "on" if fsync else "off"]  # the server of the tests has synchronous_commit = off


# Losses


def test_the_next_call_works_after_all_connections_were_lost(proxy: Proxy, pool: Pool, tmp_path: Path) -> None:
    store, direct = open_one(pool, tmp_path), open_one(store_pool(), tmp_path)
    begin(store)
    use_many(pool, tmp_path)
    proxy.cut_all()
    count_up(store, "a")
    use_many(pool, tmp_path)
    proxy.cut_all()
    assert ids(store) == {"a"}
    check(direct, {"a"})


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGQUIT], ids=["stop", "crash"])
def test_calls_go_on_after_a_restart_of_the_server_also_those_that_waited_for_it(
    second: PostgresServer, tmp_path: Path, ending: signal.Signals
) -> None:
    pool = new_pool(second.store_url(SERVER_ROLE, urlsplit(store_url()).path[1:]))
    store, hasty = open_one(pool, tmp_path), open_one(pool, tmp_path, lock_seconds=1)
    begin(store)
    use_many(pool, tmp_path)
    second.stop(ending)
    with pytest.raises(StoreUnreadable, match=r"cannot be read \((No such file or directory|Connection refused)"):
        count_up(hasty, "never")
    with in_background() as start:
        start(lambda: count_up(store, "a"), lambda: ids(store))
        second.start()
    count_up(store, "b")
    check(store, {"a", "b"})
    pool.close()


def test_a_pool_that_was_closed_and_opened_while_somebody_read_takes_his_connection_back(
    pool: Pool, tmp_path: Path
) -> None:
    own = new_pool(pool.url)
    store = open_one(own, tmp_path)
    begin(store)
    with store.read() as cards:
        store.close()
        count_up(store, "a")
        assert "a" not in cards
    check(store, {"a"})
    store.close()


# Waits


def test_who_finds_no_connection_waits_for_one_and_no_longer_than_for_the_list(tmp_path: Path) -> None:
    own = new_pool(store_url())
    begin(open_one(own, tmp_path))
    with ExitStack() as readers:
        for _ in range(10):
            readers.enter_context(open_one(own, tmp_path).read())
        with pytest.raises(StoreLocked):
            count_up(open_one(own, tmp_path, lock_seconds=0.1), "never")
        with in_background() as start:
            start(lambda: count_up(open_one(own, tmp_path), "a"))
            readers.pop_all().close()
    check(open_one(own, tmp_path), {"a"})
    own.close()


def test_the_wait_for_a_list_can_be_longer_than_the_server_can_count(pool: Pool, tmp_path: Path) -> None:
    store = open_one(pool, tmp_path, lock_seconds=1e9)
    begin(store)
    check(store, set())


@pytest.mark.requirement("C2", "P3")
@pytest.mark.parametrize("has_connection", [True, False], ids=["connected", "connecting"])
def test_closing_ends_the_wait_for_a_server_that_says_nothing(
    proxy: Proxy, tmp_path: Path, has_connection: bool
) -> None:
    own = new_pool(proxy.url(store_url()))
    store = open_one(own, tmp_path, lock_seconds=600)
    begin(store)
    proxy.running.clear()
    if not has_connection:
        proxy.cut_all()
    ended: list[object] = []

    def wait() -> None:
        with pytest.raises(StoreLocked) as caught, store.read():
            pass
        ended.append(caught.value)

    with in_background() as start:
        before = proxy.connections
        (thread,) = start(wait)
        if has_connection:
            wait_for_turn(thread, line="super().wait(")
        else:
            wait_until(lambda: proxy.connections > before)
        store.close()
        wait_until(lambda: ended)


# A server that was frozen goes on later


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.ANSWER], ids=["before", "after"])
def test_a_unit_is_applied_once_if_the_server_freezes_at_its_commit_and_goes_on_in_time(
    proxy: Proxy, pool: Pool, tmp_path: Path, moment: Moment
) -> None:
    store, direct = open_one(pool, tmp_path, statement_seconds=1), open_one(store_pool(), tmp_path)
    begin(store)
    frozen: list[Step] = []
    before = proxy.connections
    proxy.plan = partial(freeze, proxy, moment, frozen)
    with in_background() as start:
        start(lambda: count_up(store, "a"))
        wait_until(lambda: proxy.connections > before)
        proxy.running.set()
    check(direct, {"a"})
    assert frozen


@pytest.mark.parametrize("moment", [Moment.BEFORE, Moment.ANSWER], ids=["before", "after"])
def test_it_is_reported_as_unknown_whether_a_unit_was_saved_if_the_server_freezes_at_its_commit(
    proxy: Proxy, pool: Pool, tmp_path: Path, moment: Moment
) -> None:
    store, direct = open_one(pool, tmp_path, lock_seconds=1, statement_seconds=1), open_one(store_pool(), tmp_path)
    begin(direct)
    frozen: list[Step] = []
    proxy.plan = partial(freeze, proxy, moment, frozen)
    with pytest.raises(StoreWriteFailed, match="It is unknown whether this was saved"):
        count_up(store, "a")
    with pytest.raises(StoreUnreadable):
        ids(store)
    proxy.running.set()
    count_up(open_one(pool, tmp_path), "b")  # once this has the list, the lost transaction has ended
    check(direct, ids(direct) | {"b"})
    assert frozen


def test_a_frozen_server_is_noticed_within_a_unit_which_then_changed_nothing(
    proxy: Proxy, pool: Pool, tmp_path: Path
) -> None:
    store, direct = open_one(pool, tmp_path, lock_seconds=1, statement_seconds=1), open_one(store_pool(), tmp_path)
    begin(direct)

    def work() -> None:
        with store.transaction() as cards:
            cards.add(Card(id="a"))
            proxy.running.clear()
            cards.get(LEDGER)

    with pytest.raises(StoreWriteFailed, match="Nothing was saved"):
        work()
    proxy.running.set()
    count_up(open_one(pool, tmp_path), "b")
    check(direct, {"b"})


def freeze(proxy: Proxy, moment: Moment, frozen: list[Step], step: Step) -> None:
    """Freeze the server once, at this moment of a commit."""
    if not frozen and step.moment is moment and step.kind in "EC" and step.text == "COMMIT":
        frozen.append(step)
        proxy.running.clear()


# A client that was frozen


@pytest.mark.parametrize("is_within", [True, False], ids=["within an exchange", "after one"])
def test_a_client_that_froze_holds_a_list_only_for_a_while(tmp_path: Path, is_within: bool) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    store = open_one(store_pool(), tmp_path, statement_seconds=0.6)
    begin(store)
    frozen = connect_once(store_url())
    with suppress(psycopg.OperationalError), ExitStack() as stack:
        stack.enter_context(frozen.pipeline())
        frozen.execute("BEGIN")
        frozen.execute("SELECT set_config('app.tenant', %s, true)", [str(tmp_path)])
        assert frozen.execute("SELECT revision FROM lists FOR UPDATE").fetchall()
        if not is_within:
            stack.close()
        count_up(store, "a")
        frozen.execute("UPDATE lists SET revision = 0").fetchall()
    assert frozen.broken
    check(store, {"a"})
