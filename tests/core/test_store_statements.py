"""The SQL of the stores: whose rows each statement touches, what it may not use, and what it costs (EN-2, EN-13)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import task_core
import task_hosted
from task_core.models import utc_now
from task_core.store import ROOTS, Kind, Order, Selection, Transaction
from task_core.store.collection import ListRow
from task_core.store.database import Connection, open_in_memory
from task_core.store.migrations import MIGRATIONS
from task_core.store.statements import SQL, Key, count_matches, page, siblings
from tests.core.engines import CARDS, STATES, TREES, Card

pytestmark = pytest.mark.requirement("EN-2")

ADVANCED = ["OFFSET", "NOTIFY", "LISTEN", "ADVISORY", "SKIP LOCKED", "SEQUENCE", "SERIAL", "AUTOINCREMENT", "JSONB"]
"""What is unavailable or harmful in some database of those that the statements are for (EN-11)."""

_TABLE = re.compile(r"\b(?:FROM|UPDATE|JOIN|INTO) (lists|records|tags|counts|calls|commits)\b")

_KEYED = (
    r"\bWHERE tenant = :tenant AND kind = :kind\b",
    r"\bON records\.tenant = :tenant AND records\.kind = :kind\b",
    r"\bINTO (?:lists|records|tags|counts|calls|commits) \(tenant, kind, ",
)

_FOREIGN_KEY = re.compile(r"\b(?:PRIMARY KEY|ON CONFLICT|INDEX \w+ ON \w+) \((?!tenant, kind\b)")


def offences(statement: str) -> list[str]:
    """Return what is wrong with a statement, nothing for a good one."""
    text = " ".join(statement.split())
    found = [word for word in ADVANCED if word in text.upper()]
    # Values of rows that are read in the same statement come with the key that they were read by.
    if len(_TABLE.findall(text)) > sum(len(re.findall(keyed, text)) for keyed in _KEYED):
        found.append("a table without tenant and kind")
    if " OR " in re.sub(r"\([^()]*\)", "", text):
        found.append("OR, which leads out of the key")
    if _FOREIGN_KEY.search(text):
        found.append("a key that does not begin with tenant and kind")
    return found


AFTER = {Order.CREATED: (500,), Order.RANK: (1, 500), Order.UPDATED: (500, 500)}


def selections() -> Iterator[Selection]:
    """Yield every form of a selection."""
    filters: list[Selection] = [
        Selection(),
        Selection(topic="t"),
        Selection(tags=("p", "q")),
        Selection(facets=("x",), ranks=(1, 2), words=("a", "b"), since=4),
    ]
    for some, states, order, descending, is_after, limit in product(
        filters, ((), ("todo",), STATES[:2]), Order, (False, True), (False, True), (None, 20)
    ):
        after: Key | None = (*AFTER[order], "c000500") if is_after else None
        yield replace(some, states=states, order=order, descending=descending, after=after, limit=limit)


def sibling_statements() -> Iterator[str]:
    for is_open, (after, before), is_count, is_limited in product(
        (False, True), ((False, False), (True, False), (False, True)), (False, True), (False, True)
    ):
        yield siblings(is_open=is_open, after=after, before=before, is_count=is_count, is_limited=is_limited)


def statements() -> Iterator[str]:
    """Yield every statement that a store can make, and those that make its tables."""
    for name, value in vars(SQL).items():
        if not name.startswith("_"):
            yield from value if isinstance(value, tuple) else (value,)
    for selection in selections():
        yield page(CARDS.states, selection)[0]
        yield count_matches(selection)[0]
    yield from sibling_statements()
    for migration in MIGRATIONS:  # what they rewrite is every tenant's
        yield from (statement for statement in migration if not statement.lstrip().startswith("UPDATE"))


def test_every_statement_begins_its_key_with_tenant_and_kind_and_is_plain_sql() -> None:
    every = [*statements()]
    assert len(every) > 400
    assert {statement: found for statement in every if (found := offences(statement))} == {}


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM records WHERE id = :id",
        "SELECT id FROM records WHERE kind = :kind AND tenant = :tenant",
        "SELECT id FROM records WHERE tenant = :tenant AND id = :id",
        "SELECT id FROM records WHERE tenant = :tenant AND kind = :kind OR id = :id",
        "SELECT id FROM records WHERE tenant = :tenant AND kind = :kind AND id IN (SELECT id FROM tags WHERE tag = :t)",
        "DELETE FROM counts",
        "UPDATE lists SET revision = 1",
        "INSERT INTO tags (id, tag) VALUES (:id, :tag)",
        "INSERT INTO tags (tenant, kind, id) VALUES (:tenant, :kind, :id) ON CONFLICT (id) DO NOTHING",
        "CREATE TABLE more (tenant TEXT, kind TEXT, id TEXT, PRIMARY KEY (id))",
        "CREATE INDEX by_name ON records (name)",
        "SELECT id FROM records WHERE tenant = :tenant AND kind = :kind LIMIT 20 OFFSET 40",
        "SELECT id FROM lists WHERE tenant = :tenant AND kind = :kind FOR UPDATE SKIP LOCKED",
        "SELECT pg_advisory_lock(1)",
        "NOTIFY news",
        "CREATE SEQUENCE numbers",
        "CREATE TABLE more (tenant TEXT, kind TEXT, document JSONB, PRIMARY KEY (tenant, kind))",
    ],
)
def test_a_statement_that_leaves_its_list_or_is_not_plain_sql_is_found(statement: str) -> None:
    assert offences(statement)


_POSTGRES: Final = Path(str(task_hosted.__file__)).parent / "postgres"


def postgres_statements() -> Iterator[str]:
    """Yield what the modules for PostgreSQL have of statements, with ``…`` for what is put into them."""
    verb = re.compile(r"\s*(ALTER|BEGIN|CREATE|DELETE|GRANT|INSERT|RELEASE|ROLLBACK|SAVEPOINT|SELECT|UPDATE)\b")
    for path in _POSTGRES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [part.value if isinstance(part, ast.Constant) else "…" for part in parts]
            if isinstance(node, ast.JoinedStr | ast.Constant) and verb.match(text := "".join(map(str, texts))):
                yield text


@pytest.mark.requirement("EN-11")
def test_what_only_postgresql_is_sent_is_plain_too_and_reaches_no_rows_of_a_list() -> None:
    # A table with one row, of no tenant, and the question whether a server takes writes, which names no table.
    every = [text for text in postgres_statements() if "INTO schema" not in text and "pg_is_in_recovery" not in text]
    assert len(every) > 12
    assert {statement: found for statement in every if (found := offences(statement))} == {}


def test_statements_are_made_in_one_module_and_tables_in_two_others() -> None:
    store = Path(str(task_core.__file__)).parent / "store"
    packages = store.parents[3]
    sql = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\s.*(FROM|VALUES|SET|WHERE)\b|^CREATE ", re.DOTALL)
    found = {
        f"{path.name}: {' '.join(node.value.split())[:60]}"
        for path in packages.glob("*/src/**/*.py")
        if not path.is_relative_to(packages / "cortex-backend")  # it has tables of its own, and no store of the core
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and sql.search(node.value)
        if path not in {store / "statements.py", store / "migrations.py", _POSTGRES / "schema.py"}
    }
    assert found == {  # what they ask about the database itself
        "sqlite.py: SELECT COUNT(*) FROM sqlite_master",
        "engine.py: SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 ",
        "access.py: SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE",
    }


# What they cost


class Plan(NamedTuple):
    """How SQLite carries out a statement."""

    searches: list[str]
    scans: list[str]
    sorts: list[str]


@cache
def plain() -> Connection:
    return open_in_memory("plain")


def plan(statement: str) -> Plan:
    named = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
    steps = [row[3] for row in plain().run(f"EXPLAIN QUERY PLAN {statement}", named)]
    return Plan(*([step for step in steps if step.startswith(word)] for word in ("SEARCH", "SCAN", "USE TEMP")))


INDEXES = {Order.CREATED: "by_creation", Order.RANK: "by_rank", Order.UPDATED: "by_update"}


@pytest.mark.requirement("EN-3")
def test_a_page_in_a_declared_order_is_a_range_of_the_index_of_that_order() -> None:
    for selection in selections():
        if selection.topic or selection.tags:
            continue
        found = plan(page(CARDS.states, selection)[0])
        count = len(selection.states or STATES)
        columns = ",".join((*selection.order.value, "id"))
        below = f"({columns}){'<' if selection.descending else '>'}" if selection.after else selection.order.value[0]
        assert len(found.searches) == count
        for search in found.searches:
            assert f"USING INDEX {INDEXES[selection.order]} (tenant=? AND kind=? AND state=? AND " in search
            assert below in search
        # Where pages of several states are merged, each has its limit behind it: no more than those are put in order.
        merged = count if selection.limit and count > 1 else 0
        assert found.scans == [f"SCAN part{number}" for number in range(merged)]
        assert len(found.sorts) == merged


@pytest.mark.requirement("EN-3")
def test_a_topic_and_tags_are_looked_up_by_their_index() -> None:
    for selection in selections():
        for statement in (page(CARDS.states, selection)[0], count_matches(selection)[0]):
            found = plan(statement)
            if selection.topic:
                assert any("by_topic (tenant=? AND kind=? AND topic=?" in search for search in found.searches)
            elif selection.tags:
                assert any("tags_1 (tenant=? AND kind=? AND tag=?)" in search for search in found.searches)
                assert any("records_1 (tenant=? AND kind=? AND id=?)" in search for search in found.searches)
            if selection.topic or selection.tags:
                assert found.scans == []


@pytest.mark.requirement("EN-4")
def test_children_are_a_range_of_the_index_of_places() -> None:
    for statement in sibling_statements():
        found = plan(statement)
        index = "by_open_place" if "is_open" in statement else "by_place"
        assert f"INDEX {index} (tenant=? AND kind=? AND parent=?" in found.searches[0]
        assert ("position<?" in found.searches[0]) == ("position <" in statement)
        assert ("position>?" in found.searches[0]) == ("position >" in statement)
        assert found.scans == found.sorts == []


def test_no_other_statement_looks_at_all_rows_but_those_that_are_about_all() -> None:
    # Of calls and of its history, a list keeps only so much.
    whole = {"ALL", "CLEAR", "COUNT_ALL", "COUNT_CHILDREN", "COUNT_CALLS", "PURGE_LONG_HISTORY", "PURGE_OLD_HISTORY"}
    for name, value in vars(SQL).items():
        if name.startswith("_") or name in whole:
            continue
        found = plan(value)
        assert all(" (tenant=? AND kind=?" in search for search in found.searches), name
        if name == "BELOW":  # what is below one record is put in order by level
            assert (found.scans, len(found.sorts)) == (["SCAN below"] * 2, 1)
            assert any(
                "by_place (tenant=? AND kind=? AND parent>? AND parent<?)" in search for search in found.searches
            )
            continue
        assert (name, found.scans, found.sorts) == (name, [], [])
        narrowed = [search for search in found.searches if not search.endswith("(tenant=? AND kind=?)")]
        assert narrowed == found.searches or name in {
            "LIST",
            "SAVE_LIST",
            "COUNT_CALLS",
            "SET_OWNER",
        }


@cache
def filled(count: int) -> Connection:
    """Return tables with a list and a tree of ``count`` records each, the tree in one level below one root."""
    connection = open_in_memory(f"{count} records")
    for kind, parent, parent_of_first in ((CARDS, None, None), (TREES, "c000001", ROOTS)):
        row = ListRow("", kind.name, kind.version)
        connection.run(SQL.ADD_LIST, row.key | {"id": "x", "version": 1})
        connection.run(
            """
            INSERT INTO records (tenant, kind, id, revision, document, parent, position, state, is_open, facet, rank,
                                 created, updated, topic, words)
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
            SELECT '', :kind, printf('c%06d', n), n, printf('{"id":"c%06d","state":"todo"}', n),
                   CASE n WHEN 1 THEN :first ELSE :parent END, n * 4294967296, 'todo', 1, '', 1, n, n, NULL, NULL
            FROM numbers
            """,
            {"kind": kind.name, "count": count, "parent": parent, "first": parent_of_first},
        )
        connection.run(SQL.COUNT_ALL, row.key)
        if kind.is_tree:
            connection.run(SQL.COUNT_CHILDREN, row.key)
    return connection


def steps(work: Callable[[Transaction[Card]], object], kind: Kind[Card], count: int) -> int:
    """Return how many instructions of SQLite ``work`` takes among ``count`` records; it is taken back."""
    connection = filled(count)
    done = 0

    def one_more() -> int:
        nonlocal done
        done += 1
        return 0

    connection.run("BEGIN")
    row = ListRow("", kind.name, kind.version).reload(connection)
    connection.sqlite.set_progress_handler(one_more, 1)
    try:
        work(Transaction(kind, connection, row, utc_now))
    finally:
        connection.sqlite.set_progress_handler(None, 1)
        connection.run("ROLLBACK")
    return done


FEW, MANY = 1_000, 20_000
MIDDLE = "c000500"


def is_hot(asked: Selection) -> bool:
    """Return whether this is a page of a list without filters that few records pass."""
    return bool(asked.limit) and not (asked.topic or asked.tags or asked.words)


@pytest.mark.requirement("EN-4", "EN-10")
@pytest.mark.parametrize(
    ("kind", "work"),
    [
        *[
            pytest.param(CARDS, lambda cards, asked=asked: cards.select(asked), id=f"page {number}")
            for number, asked in enumerate(asked for asked in selections() if is_hot(asked))
        ],
        pytest.param(CARDS, lambda cards: cards.count(Selection(states=("todo",), ranks=(1,))), id="count"),
        pytest.param(CARDS, lambda cards: cards.get(MIDDLE), id="get"),
        pytest.param(CARDS, lambda cards: "c000500x" in cards, id="in"),
        pytest.param(CARDS, lambda cards: cards.near("c000500x"), id="near"),
        pytest.param(CARDS, lambda cards: cards.ids("c0005", 20), id="ids"),
        pytest.param(CARDS, lambda cards: cards.add(Card(id="new", tags=("p",))), id="add"),
        pytest.param(CARDS, lambda cards: cards.replace(Card(id=MIDDLE, state="done", topic="t")), id="replace"),
        pytest.param(CARDS, lambda cards: cards.remove(MIDDLE), id="remove"),
        pytest.param(TREES, lambda cards: cards.first_open_child("c000001"), id="first open child"),
        pytest.param(TREES, lambda cards: cards.children("c000001", after=MIDDLE, limit=20), id="children after"),
        pytest.param(TREES, lambda cards: cards.children("c000001", before=MIDDLE, limit=20), id="children before"),
        pytest.param(TREES, lambda cards: cards.child_states("c000001"), id="child states"),
        pytest.param(TREES, lambda cards: cards.ancestors(MIDDLE), id="ancestors"),
        pytest.param(TREES, lambda cards: cards.subtree(MIDDLE), id="below"),
        pytest.param(TREES, lambda cards: cards.parents(20), id="parents"),
        pytest.param(TREES, lambda cards: cards.add(Card(id="new"), "c000001"), id="add a child"),
        pytest.param(TREES, lambda cards: cards.move(MIDDLE, "c000002"), id="move"),
        pytest.param(TREES, lambda cards: cards.remove(MIDDLE), id="remove a child"),
    ],
)
def test_what_servers_ask_often_costs_the_same_among_many_records_as_among_few(
    kind: Kind[Card], work: Callable[[Transaction[Card]], object]
) -> None:
    few, many = (steps(work, kind, count) for count in (FEW, MANY))
    assert 0 < many <= 1.1 * few < 20_000


@pytest.mark.requirement("EN-4")
@pytest.mark.parametrize(
    ("kind", "work", "count"),
    [
        pytest.param(CARDS, len, 0, id="len"),
        pytest.param(CARDS, lambda cards: cards.get(MIDDLE), 1, id="get"),
        pytest.param(CARDS, lambda cards: cards.near(MIDDLE), 2, id="near"),
        pytest.param(CARDS, lambda cards: cards.select(Selection(states=STATES[:2], tags=("p",))), 1, id="page"),
        pytest.param(CARDS, lambda cards: cards.count(Selection(states=("todo",))), 1, id="count"),
        pytest.param(CARDS, lambda cards: (cards.add(Card(id="new")), cards.finish()), 4, id="create"),
        pytest.param(CARDS, lambda cards: ("new" in cards, cards.add(Card(id="new")), cards.finish()), 4, id="new id"),
        pytest.param(CARDS, lambda cards: (cards.get(MIDDLE), cards.get(MIDDLE)), 1, id="get twice"),
        pytest.param(CARDS, lambda cards: cards.replace(Card(id=MIDDLE)), 2, id="replace in its state"),
        pytest.param(CARDS, lambda cards: cards.replace(Card(id=MIDDLE, state="done")), 5, id="replace in another"),
        pytest.param(TREES, lambda cards: cards.first_open_child("c000001"), 1, id="first open child"),
        pytest.param(TREES, lambda cards: cards.ancestors(MIDDLE), 2, id="ancestors"),
        pytest.param(TREES, lambda cards: cards.subtree(MIDDLE), 1, id="below"),
    ],
)
def test_the_statements_of_a_question_are_counted(
    kind: Kind[Card], work: Callable[[Transaction[Card]], object], count: int
) -> None:
    made: list[str] = []
    connection = filled(FEW)
    row = ListRow("", kind.name, kind.version).reload(connection)
    connection.run("BEGIN")
    connection.sqlite.set_trace_callback(made.append)
    try:
        work(Transaction(kind, connection, row, utc_now))
    finally:
        connection.sqlite.set_trace_callback(None)
        connection.run("ROLLBACK")
    assert len(made) == count
