"""The short form of a failover: one PostgreSQL crashes again and again under the load of eight clients."""

from __future__ import annotations

import signal

import pytest

from task_hosted.postgres.connection import connect_once
from tests.core.notes import wait_until
from tests.failover.channels import StoreChannel
from tests.failover.ledger import tally
from tests.failover.load import Load
from tests.failover.observe import count_words
from tests.postgres import SERVER_ROLE, make_tables, needs_postgres, postgres_server

pytestmark = [needs_postgres, pytest.mark.long]

CRASHES = 5

CHANGES = 80
"""Changes that must be acknowledged before the next crash."""


@pytest.mark.requirement("HO-10", "EN-14")
def test_a_database_that_crashes_again_and_again_loses_and_doubles_nothing() -> None:
    with postgres_server() as server:
        database = server.new_database()
        owner, url = (server.store_url(role, database) for role in ("postgres", SERVER_ROLE))
        make_tables(owner)
        with Load("crash", lambda _: StoreChannel(url, "tenant")) as load:
            for _ in range(CRASHES):
                target = load.count_acknowledged() + CHANGES
                wait_until(lambda target=target: load.count_acknowledged() >= target)
                server.stop(signal.SIGQUIT)
                server.start()
        with connect_once(owner) as connection:
            found = count_words(connection)
    result = tally(load.attempts, found)
    assert (result.lost, result.doubled, result.denied, result.reversed) == ([], [], [], [])
    assert result.present == result.acknowledged >= CRASHES * CHANGES
