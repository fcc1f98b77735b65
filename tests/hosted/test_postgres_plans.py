"""The cost of statements in PostgreSQL: each uses its index under row-level security (EN-2, EN-10)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from psycopg import sql

from task_core.store import Order, Selection
from task_core.store.collection import HIGHEST
from task_core.store.statements import LAST_ID, SQL, Parameters, count_children_of, count_matches, page, siblings
from tests.core.engines import STATES
from tests.core.test_store_statements import selections
from tests.postgres import SERVER_ROLE, make_tables, needs_postgres, shared_server

if TYPE_CHECKING:
    from task_hosted.postgres.connection import PostgresConnection

pytestmark = [needs_postgres, pytest.mark.requirement("EN-2", "EN-10")]

COUNT: Final = int(os.environ.get("TASK_PLAN_RECORDS", "20000"))
"""Records in the list, and in the tree, whose first record is the parent of all others."""

OTHERS: Final = (
    """
    INSERT INTO lists (tenant, kind, id, version, revision, purged, fields)
    SELECT tenant, kind, 'x', 1, 1, 0, '{}'
    FROM (SELECT 'u' || n AS tenant FROM generate_series(1, 2000) AS n UNION SELECT 't') AS tenants,
         (VALUES ('cards'), ('trees')) AS kinds (kind)
    """,
    "INSERT INTO counts SELECT tenant, kind, '', 'todo', '', 0, 1 FROM lists WHERE tenant <> 't'",
    "INSERT INTO counts SELECT 't', 'trees', '/x' || n, 'todo', '', 0, 1 FROM generate_series(1, 10000) AS n",
    "INSERT INTO commits SELECT tenant, kind, 'x' || n, n FROM lists, generate_series(1, 10) AS n",
    "INSERT INTO calls SELECT tenant, kind, 'x' || n, '', '', n FROM lists, generate_series(1, 10) AS n",
)
"""Rows of other tenants and parents, so that reading a whole table is never the cheapest plan."""

RECORDS: Final = """
    INSERT INTO records (tenant, kind, id, revision, document, parent, position, state, is_open, facet, rank, created,
                         updated, topic)
    SELECT %(tenant)s, %(kind)s, 'c' || to_char(n, 'FM000000'), n, '{"id":"c' || to_char(n, 'FM000000') || '"}',
           CASE WHEN %(kind)s = 'trees' THEN CASE n WHEN 1 THEN '' ELSE 'c000001' END END, n * 4294967296,
           (ARRAY['todo', 'doing', 'done'])[1 + n %% 3], 1, '', n %% 4, n, n, 'topic ' || n %% 1000
    FROM generate_series(1, %(count)s) AS n
"""

TAGS: Final = """
    INSERT INTO tags (tenant, kind, tag, id)
    SELECT 't', 'cards', 'tag ' || n %% 1000, 'c' || to_char(n, 'FM000000') FROM generate_series(1, %(count)s) AS n
"""


@pytest.fixture
def session() -> Iterator[PostgresConnection]:
    """A session of a server for one of two tenants, in a database of its own with many records."""
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver
    from task_hosted.postgres.dialect import translate  # noqa: PLC0415 - as above

    name = shared_server().new_database()
    make_tables(shared_server().store_url("postgres", name))
    with connect_once(shared_server().store_url("postgres", name)) as owner:
        owner.patience = 600  # for a machine with much else to do
        for kind, tenant, number in (("cards", "t", COUNT), ("trees", "t", COUNT), ("cards", "u1", COUNT // 10)):
            owner.execute(RECORDS, {"kind": kind, "tenant": tenant, "count": number})
        owner.execute(TAGS, {"count": COUNT})
        for kind in ("cards", "trees"):
            for statement in (SQL.COUNT_ALL, SQL.COUNT_CHILDREN):
                owner.execute(translate(statement).encode(), {"tenant": "t", "kind": kind})
        for statement in OTHERS:
            owner.execute(statement.encode())
        owner.execute("ANALYZE")
    with connect_once(shared_server().store_url(SERVER_ROLE, name)) as connection:
        connection.execute("SELECT set_config('app.tenant', 't', false)")
        yield connection
    shared_server().drop(name)


class Plan(NamedTuple):
    """The plan by which PostgreSQL runs a statement."""

    indexes: set[str]
    scans: list[str]
    """tables that are read from end to end"""
    sorted: int
    """rows that were put in order"""
    read: int
    """rows that were looked at"""


def plan(session: PostgresConnection, statement: str, parameters: Parameters, *, is_generic: bool) -> Plan:
    """Return how a statement is carried out, with these values or for any; it is taken back."""
    from task_hosted.postgres.dialect import translate  # noqa: PLC0415 - it needs the driver

    used = {name: value for name, value in parameters.items() if f":{name}" in statement}
    text = translate(statement)
    for number, name in enumerate(used, 1):
        text = text.replace(f"%({name})s", f"${number}")
    types = ", ".join("text" if isinstance(value, str) else "bigint" for value in used.values())
    values = sql.SQL(", ").join(map(sql.Literal, used.values()))
    session.execute("BEGIN")
    session.execute(f"SET LOCAL plan_cache_mode = force_{'generic' if is_generic else 'custom'}_plan".encode())
    try:
        session.execute(f"PREPARE asked{f' ({types})' if types else ''} AS {text}".encode())
        asked = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked")
        found = session.execute(asked + (sql.SQL(" ({})").format(values) if used else sql.SQL(""))).fetchall()
    finally:
        session.execute("ROLLBACK")
        session.execute("DEALLOCATE asked")
    return summed([*steps(found[0][0][0]["Plan"])])


def steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield step
    for part in step.get("Plans", ()):
        yield from steps(part)


def summed(every: list[dict[str, Any]]) -> Plan:
    read = [step for step in every if "Scan" in step["Node Type"] and step["Node Type"] != "Subquery Scan"]
    return Plan(
        {step["Index Name"] for step in every if "Index Name" in step},
        [step["Relation Name"] for step in every if step["Node Type"] == "Seq Scan"],
        int(sum(step["Actual Rows"] * step["Actual Loops"] for step in every if "Sort" in step["Node Type"])),
        int(sum(_looked_at(step) * step["Actual Loops"] for step in read)),
    )


def _looked_at(step: dict[str, Any]) -> float:
    removed = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    return float(step["Actual Rows"] + sum(step.get(name, 0) for name in removed))


LIMIT: Final = 20

VALUES: Final[Parameters] = {
    "tenant": "t",
    "id": "c000500",
    "first": "c0005",
    "end": f"c0005{LAST_ID}",
    "sibling": "c000500",
    "parent": "c000001",
    "scope": "/c000001",
    "state": "todo",
    "facet": "",
    "rank": 0,
    "tag": "tag 500",
    "revision": COUNT - 50,
    "above": 500 * 2**32,
    "position": 5,
    "is_open": 1,
    "removed": 5,
    "number": 1,
    "document": "{}",
    "created": 5,
    "updated": 5,
    "topic": "x",
    "words": "y",
    "fields": "{}",
    "purged": 0,
    "size": 5,
    "moment": 5,
    "claims": "[]",
    "version": 1,
    "digest": "",
    "answer": "",
}
"""A value for each parameter, about a record in the middle of many."""


class Hot(NamedTuple):
    """A statement that calls make often: the indexes that it must use, and how much it may look at."""

    statement: str
    indexes: set[str]
    read: int = 1
    parameters: Parameters = {}  # noqa: RUF012 - nothing changes it
    sorted: int = 0


def pages() -> Iterator[tuple[str, Hot]]:
    indexes = {Order.CREATED: "by_creation", Order.RANK: "by_rank", Order.UPDATED: "by_update"}
    for number, asked in enumerate(selections()):
        if not asked.limit or asked.words:
            continue
        statement, parameters = page(STATES, replace(asked, limit=LIMIT))
        states = len(asked.states or STATES)
        if asked.topic or asked.tags:
            # What few records share (100 a topic, 200 these tags) is looked up and then put in order, unless
            # even fewer come after the key.
            parameters |= {"topic": "topic 500"} if asked.topic else {"tag0": "tag 500", "tag1": "tag 501"}
            index = {"by_topic"} if asked.topic else {"tags_pkey"}
            yield f"page {number} of a topic or tags", Hot(statement, index, 700, parameters, LIMIT)
        else:
            yield f"page {number}", Hot(statement, {indexes[asked.order]}, LIMIT + states, parameters)


def questions() -> Iterator[tuple[str, Hot]]:
    one, many = {"limit": 1}, {"limit": LIMIT}
    yield "get", Hot(SQL.ROW, {"records_pkey"})
    yield "in", Hot(SQL.HAS, {"records_pkey"})
    yield "list", Hot(f"{SQL.LIST} FOR UPDATE", {"lists_pkey"})
    yield "news", Hot(SQL.CHANGES, {"by_revision"}, LIMIT, many)
    yield "near", Hot(SQL.NEXT_IDS, {"records_pkey"}, LIMIT, many)
    yield "near, before", Hot(SQL.EARLIER_IDS, {"records_pkey"}, LIMIT, many)
    yield "ids", Hot(SQL.IDS, {"records_pkey"}, LIMIT, many)
    yield "below", Hot(SQL.BELOW, {"records_pkey", "by_place"}, 5, sorted=1)
    yield "last position", Hot(SQL.LAST_POSITION, {"by_place"}, 1, {"below": HIGHEST})
    yield "positions", Hot(SQL.POSITIONS, {"by_place"}, LIMIT, many)
    yield "newest removed", Hot(SQL.NEWEST_REMOVED, {"by_removal"}, 0, one)
    yield "call", Hot(SQL.CALL, {"calls_pkey"}, 0, one)
    yield "commit", Hot(SQL.HAS_COMMIT, {"commits_pkey"}, 0)
    statement, parameters = count_children_of(["/c000001", "/c000002"])
    yield "child states", Hot(statement, {"counts_pkey"}, 2 * len(STATES), parameters)
    statement, parameters = count_matches(Selection(states=("todo",), ranks=(1,)))
    yield "count", Hot(statement, {"counts_pkey"}, len(STATES) * 4, parameters)
    for is_open in (False, True):
        index = "by_open_place" if is_open else "by_place"
        for name, after, before in (("first", False, False), ("after", True, False), ("before", False, True)):
            statement = siblings(is_open=is_open, after=after, before=before, is_limited=True)
            place = {"records_pkey"} if after or before else set()
            yield f"{name} {'open ' * is_open}children", Hot(statement, {index} | place, LIMIT + 1, many)


def changes() -> Iterator[tuple[str, Hot]]:
    for name in ("REPLACE", "REMOVE", "PLACE", "SPACE", "TOUCH"):
        yield name.lower(), Hot(getattr(SQL, name), {"records_pkey"})
    yield "save list", Hot(SQL.SAVE_LIST, {"lists_pkey"})
    yield "remove tag", Hot(SQL.REMOVE_TAG, {"tags_pkey"})
    yield "forget count", Hot(SQL.FORGET_COUNT, {"counts_pkey"}, 2)
    yield "purge", Hot(SQL.PURGE, {"by_removal"}, 0, {"limit": 1})
    yield "purge calls", Hot(SQL.PURGE_CALLS, {"calls_by_moment"}, 0, {"limit": 1})
    yield "purge commits", Hot(SQL.PURGE_COMMITS, {"commits_by_moment"}, 0, {"limit": 1})
    for name in ("ADD_LIST", "ADD", "ADD_TAG", "ADD_COUNT", "ADD_COMMIT", "ADD_CALL"):
        yield name.lower().replace("_", " "), Hot(getattr(SQL, name), set(), 0, {"id": "new"})


# One test, for the many records take far longer to make than all statements do, and each process makes them anew.
def test_each_hot_statement_uses_its_index_and_looks_at_no_more_than_its_answer(session: PostgresConnection) -> None:
    faults: dict[str, Plan] = {}
    for (name, hot), is_generic in product([*pages(), *questions(), *changes()], (False, True)):
        kind = "trees" if "parent" in hot.statement or ":scope" in hot.statement else "cards"
        found = plan(session, hot.statement, {**VALUES, "kind": kind, **hot.parameters}, is_generic=is_generic)
        is_indexed = found.indexes >= hot.indexes and not found.scans
        if not is_indexed or found.read > hot.read or found.sorted > hot.sorted:
            faults[f"{name} for {'any' if is_generic else 'these'} values"] = found
    assert faults == {}
