"""The health of a replica, as a proxy asks for it (HO-7, HO-8)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from task_core.errors import StoreUnreadable
from task_hosted.service import health as health_module
from task_hosted.service.health import ReplicaHealth
from tests.core.listening import Clock, until
from tests.hosted.service import Moment, Site, hosting
from tests.postgres import SERVER_ROLE, needs_postgres, shared_server, store_url
from tests.servers import ServerRecord


async def status(site: Site, path: str = "/readyz") -> tuple[int, dict[str, object]]:
    async with site.http() as client:
        answer = await client.get(path)
    return answer.status_code, answer.json()


async def ready(health: ReplicaHealth) -> tuple[int, bytes]:
    answer = await health.ready(Request({"type": "http"}))
    return answer.status_code, bytes(answer.body)


@pytest.mark.requirement("HO-7")
async def test_a_replica_with_a_database_is_ready(tasks_v1: ServerRecord, store: str) -> None:
    async with hosting(tasks_v1, store) as site:
        assert await status(site) == (200, {"ready": True})
        assert await status(site, "/livez") == (200, {"ok": True})


@pytest.mark.requirement("HO-7")
async def test_a_replica_whose_database_is_damaged_lives_but_is_not_ready(
    tasks_v1: ServerRecord, tmp_path: Path
) -> None:
    path = tmp_path / "tasks.db"
    path.write_bytes(b"not a database" * 100)
    async with hosting(tasks_v1, f"sqlite:{path}") as site:
        assert await status(site) == (503, {"ready": False, "problem": "StoreDamaged"})
        assert await status(site, "/livez") == (200, {"ok": True})


@needs_postgres
@pytest.mark.requirement("HO-7")
@pytest.mark.parametrize("tables", ["missing", "newer"])
async def test_a_replica_is_ready_only_with_the_schema_of_its_version(tasks_v1: ServerRecord, tables: str) -> None:
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver
    from task_hosted.postgres.schema import VERSION, migrate  # noqa: PLC0415 - as above

    store_url()  # which makes the role of a server
    database = shared_server().new_database()
    with connect_once(shared_server().store_url("postgres", database)) as connection:
        if tables == "newer":
            migrate(connection, SERVER_ROLE)
            connection.execute("UPDATE schema SET version = %(version)s", {"version": VERSION + 1})
    async with hosting(tasks_v1, shared_server().store_url(SERVER_ROLE, database)) as site:
        problem = "StoreUnreadable" if tables == "missing" else "StoreNewer"
        assert await status(site) == (503, {"ready": False, "problem": problem})


@needs_postgres
@pytest.mark.requirement("HO-3", "HO-7")
async def test_a_replica_that_no_row_level_security_binds_is_not_ready_and_the_log_says_why(
    tasks_v1: ServerRecord, caplog: pytest.LogCaptureFixture
) -> None:
    owner = shared_server().store_url("postgres", urlsplit(store_url()).path[1:])
    async with hosting(tasks_v1, owner) as site:
        assert await status(site) == (503, {"ready": False, "problem": "StoreUnreadable"})
    assert "the role postgres gets around row-level security: connect as one that owns nothing" in caplog.text


@needs_postgres
@pytest.mark.requirement("HO-7")
async def test_a_replica_whose_database_is_gone_is_not_ready(tasks_v1: ServerRecord, tmp_path: Path) -> None:
    async with hosting(tasks_v1, f"postgresql://me@/tasks?host={tmp_path}") as site:
        assert await status(site) == (503, {"ready": False, "problem": "StoreUnreadable"})


@needs_postgres
@pytest.mark.requirement("HO-7")
async def test_a_busy_pool_does_not_make_a_replica_unready(tasks_v1: ServerRecord) -> None:
    async with hosting(tasks_v1, store_url()) as site:
        pool = site.hosted.pool
        assert pool
        held = [pool.take("somebody") for _ in range(10)]
        assert all(held)
        assert await status(site) == (200, {"ready": True})
        for connection in filter(None, held):
            pool.give(connection)
        pool.leave("somebody")


@pytest.mark.requirement("HO-8")
async def test_a_replica_that_is_about_to_end_is_not_ready(tasks_v1: ServerRecord, sqlite: str) -> None:
    async with hosting(tasks_v1, sqlite) as site:
        site.hosted.health.is_draining = True
        assert await status(site) == (503, {"ready": False, "problem": "draining"})


@pytest.mark.requirement("HO-7")
async def test_however_often_it_is_asked_the_database_is_polled_twice_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health_module, "_ANSWER_SECONDS", 60)  # a busy machine is no fault here
    looks = list[float]()
    clock = Moment()
    health = ReplicaHealth(lambda: looks.append(clock.seconds), clock)
    for moment in (0.0, 0.0, 0.4, 0.5, 0.9, 1.0):
        clock.seconds = moment
        answers = await asyncio.gather(*(ready(health) for _ in range(10)))
        assert {answer[0] for answer in answers} == {200}
    assert looks == [0.0, 0.5, 1.0]


@pytest.mark.requirement("HO-7")
async def test_a_database_that_hangs_is_not_ready_after_a_second_and_is_asked_only_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, answer = list[int](), threading.Event()
    moment = Moment()

    def probe() -> None:
        asked.append(1)
        answer.wait()

    health = ReplicaHealth(probe, moment)
    clock = Clock.put_into(asyncio.get_running_loop(), monkeypatch)
    for _ in range(3):
        looking = asyncio.ensure_future(ready(health))
        await until(lambda: asked)
        await clock.move(1.0)
        assert await looking == (503, b'{"ready":false,"problem":"the database does not answer in time"}')
        moment.seconds += 1
    assert asked == [1]
    answer.set()
    assert (await ready(health))[0] == 200


@pytest.mark.requirement("HO-7")
async def test_why_a_database_cannot_be_used_is_in_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise StoreUnreadable("tasks", "the password is wrong")

    assert await ready(ReplicaHealth(fail)) == (503, b'{"ready":false,"problem":"StoreUnreadable"}')
    assert "the password is wrong" in caplog.text
