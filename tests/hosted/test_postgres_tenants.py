"""Two barriers between the tenants of one database: each alone hides all other tenants (EN-12, HO-3)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, ClassVar, Final

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from psycopg import sql

from task_core.errors import TaskError
from task_core.store import ROOTS, Collection, MemoryDatabase, Selection, Store, Transaction
from task_hosted.service.tool_calls import carry_out_once
from tests.core.engines import STATES, TREES, Card
from tests.core.ledger import open_one
from tests.postgres import SERVER_ROLE, make_tables, needs_postgres, new_pool, shared_server

if TYPE_CHECKING:
    from task_hosted.postgres import Pool

pytestmark = [needs_postgres, pytest.mark.requirement("EN-13", "HO-3")]

NAMES: Final = ["a", "b", "c", "d"]
"""Ids that both tenants give."""

EXAMPLES: Final = int(os.environ.get("TASK_TENANT_EXAMPLES", "3"))
"""Histories of two tenants to try against each barrier."""

names = st.sampled_from(NAMES)
cards = st.builds(
    Card,
    id=names,
    state=st.sampled_from(STATES),
    facet=st.sampled_from(["", "x"]),
    rank=st.none() | st.integers(1, 2),
    created=st.integers(0, 3),
    updated=st.none() | st.integers(0, 3),
    topic=st.sampled_from(["", "t"]),
    tags=st.sampled_from([(), ("p",), ("p", "q")]),
    text=st.sampled_from(["", "red fish", "blue fish"]),
)

QUESTIONS: Final = [
    Selection(),
    Selection(topic="t"),
    Selection(tags=("p",)),
    Selection(words=("fish",)),
    Selection(states=("todo",), facets=("x",)),
    Selection(after=(1, "b"), limit=2),
    Selection(since=2, descending=True),
]

Work = Callable[[Transaction[Card]], object]

numbers = count(1)


class Calendar:
    """A clock that a test sets."""

    now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Pair:
    """The list of one tenant in the database, and the same list alone in memory."""

    def __init__(self, pool: Pool, tenant: str, clock: Calendar) -> None:
        self.stores: list[Store[Card]] = [
            open_one(pool, tenant, TREES, clock=clock),
            Store(MemoryDatabase(), TREES, tenant=tenant, clock=clock),
        ]
        self.tokens = [store.changes(None, 9).token for store in self.stores]

    def do(self, work: Work) -> None:
        """Do the same to both, and check that they answer the same."""
        answers = [outcome(store, work) for store in self.stores]
        assert answers[0] == answers[1]

    def check(self) -> None:
        """Check that both show the same, whatever is asked."""
        shown = [observed(store, token) for store, token in zip(self.stores, self.tokens, strict=True)]
        assert shown[0] == shown[1]


def outcome(store: Store[Card], work: Work) -> object:
    try:
        with store.transaction() as cards_:
            return work(cards_), cards_.nodes(), len(cards_)
    except (TaskError, ZeroDivisionError) as error:
        return type(error), getattr(error, "details", None)


def look(found: Collection[Card]) -> object:
    """Return the answers to everything that can be asked of a list."""
    trees = [
        (found.subtree(name), found.ancestors(name), found.row(name).size, found.first_open_child(name))
        for name in NAMES
        if name in found
    ]
    listed = [(found.select(asked), found.count(asked)) for asked in QUESTIONS]
    children = [(found.children(parent), found.child_states(parent)) for parent in (ROOTS, *NAMES)]
    order = found.children(ROOTS, after="a", limit=2), found.count_children(ROOTS, before="b")
    return (
        found.nodes(),
        len(found),
        dict(found.fields),
        found.ids("", 9),
        found.near("bb"),
        trees,
        listed,
        children,
        order,
    )


def observed(store: Store[Card], token: str) -> object:
    news = store.changes(token, 9)
    with store.read() as found:
        return look(found), found.parents(9), news.records, news.reset


def below(work: Transaction[Card], name: str) -> set[str]:
    return {node.id for node, _ in work.subtree(name)}


class Tenants(RuleBasedStateMachine):
    """Two tenants with one database, each compared with a list that it has for itself."""

    pool: ClassVar[Pool]
    """Connections to the database."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Calendar()
        number = next(numbers)
        self.pairs = [Pair(self.pool, f"{number} {name}", self.clock) for name in ("one", "two")]

    @initialize(every=st.lists(cards, unique_by=lambda card: card.id, min_size=2))
    def begin(self, every: list[Card]) -> None:
        """Give both tenants the same tasks, and more to the second one."""
        for pair in self.pairs:
            pair.do(lambda work: work.load([(card, ROOTS) for card in every]))
        self.pairs[1].do(lambda work: work.set_fields({"owner": "two"}))

    @rule(pair=st.integers(0, 1), card=cards, parent=st.just(ROOTS) | names, index=st.none() | st.integers(0, 2))
    def add(self, pair: int, card: Card, parent: str, index: int | None) -> None:
        self.pairs[pair].do(lambda work: work.add(card, parent, index))

    @rule(pair=st.integers(0, 1), card=cards)
    def replace(self, pair: int, card: Card) -> None:
        self.pairs[pair].do(lambda work: work.replace(card))

    @rule(pair=st.integers(0, 1), name=names)
    def remove(self, pair: int, name: str) -> None:
        self.pairs[pair].do(lambda work: work.remove(name))

    @rule(pair=st.integers(0, 1), name=names, parent=st.just(ROOTS) | names, index=st.none() | st.integers(0, 2))
    def move(self, pair: int, name: str, parent: str, index: int | None) -> None:
        self.pairs[pair].do(lambda work: parent in below(work, name) or work.move(name, parent, index))

    @rule(pair=st.integers(0, 1), every=st.lists(cards, unique_by=lambda card: card.id, max_size=3))
    def load(self, pair: int, every: list[Card]) -> None:
        self.pairs[pair].do(lambda work: work.load([(card, ROOTS) for card in every]))

    @rule(pair=st.integers(0, 1), key=names, answer=names)
    def answer(self, pair: int, key: str, answer: str) -> None:
        answers = {carry_out_once(store, key, "digest", lambda: answer) for store in self.pairs[pair].stores}
        assert len(answers) == 1

    @rule(pair=st.integers(0, 1), card=cards)
    def fail(self, pair: int, card: Card) -> None:
        def work(work: Transaction[Card]) -> None:
            work.load([(card, ROOTS)])
            raise ZeroDivisionError

        self.pairs[pair].do(work)

    @rule(days=st.sampled_from([1, 31]))
    def wait(self, days: int) -> None:
        self.clock.now += timedelta(days=days)

    @invariant()
    def each_sees_what_it_would_see_alone(self) -> None:
        for pair in self.pairs:
            pair.check()


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The name of a database of its own: what one test breaks may not hurt others."""
    name = shared_server().new_database()
    make_tables(shared_server().store_url("postgres", name))
    yield name
    shared_server().drop(name)


@contextmanager
def a_pool(database: str, user: str) -> Iterator[Pool]:
    pool = new_pool(shared_server().store_url(user, database))
    try:
        yield pool
    finally:
        pool.close()


@contextmanager
def without_tenant(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the condition on the tenant out of every statement that the engine sends."""
    from task_hosted.postgres import access  # noqa: PLC0415 - it needs the driver

    whole, changed = access.translate, 0

    def broken(statement: str) -> str:
        nonlocal changed
        for condition in ("records.tenant = :tenant AND ", "tenant = :tenant AND "):
            changed += condition in statement
            statement = statement.replace(condition, "")
        return whole(statement)

    with monkeypatch.context() as patch:
        patch.setattr(access, "translate", broken)
        yield
    assert changed


def play(pool: Pool, *, is_first_enough: bool = False) -> None:
    Tenants.pool = pool
    options = settings(
        max_examples=EXAMPLES,
        stateful_step_count=12,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=[Phase.generate] if is_first_enough else [*Phase],
        report_multiple_bugs=not is_first_enough,
    )
    run_state_machine_as_test(Tenants, settings=options)


def test_row_level_security_alone_keeps_tenants_apart(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_pool(database, SERVER_ROLE) as pool, without_tenant(monkeypatch):
        play(pool)


def test_the_statements_alone_keep_tenants_apart(database: str) -> None:
    with a_pool(database, "postgres") as pool:
        play(pool)


def test_without_both_barriers_a_tenant_sees_others(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = pytest.raises((AssertionError, TaskError, ValueError))
    with a_pool(database, "postgres") as pool, without_tenant(monkeypatch), fails:
        play(pool, is_first_enough=True)  # in whatever way


def test_the_server_shows_a_role_no_rows_of_a_tenant_that_it_has_not_named_and_takes_none(database: str) -> None:
    from task_hosted.postgres.connection import connect_once  # noqa: PLC0415 - it needs the driver

    with a_pool(database, SERVER_ROLE) as pool:
        for tenant in ("ada", "bob"):
            with open_one(pool, tenant).transaction() as work:
                work.add(Card(id=tenant))
    with connect_once(shared_server().store_url(SERVER_ROLE, database)) as session:
        for tenant in (None, "ada", "", "bob"):
            if tenant is not None:
                session.execute("SELECT set_config('app.tenant', %s, false)", [tenant])
            for table in ("lists", "records", "counts", "commits"):
                found = session.execute(sql.SQL("SELECT DISTINCT tenant FROM {}").format(sql.Identifier(table)))
                assert found.fetchall() == ([(tenant,)] if tenant else [])
        insert = "INSERT INTO tags (tenant, kind, tag, id) VALUES ('ada', 'cards', 't', 'i')"
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            session.execute(insert)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            session.execute("UPDATE records SET tenant = 'ada'")
        assert session.execute("DELETE FROM records WHERE tenant = 'ada'").rowcount == 0
