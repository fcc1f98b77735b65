"""The engines that keep one contract, and a record that fills every column, in a list and in a tree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue
from typing_extensions import override

from task_core.document_file.source import Source
from task_core.models import Clock, Columns, Record, utc_now
from task_core.store import Codec, Kind, ListCodec, MemoryDatabase, Selection, Store
from task_core.store.codec import Decoded
from task_core.store.collection import Node
from task_core.store.database import Database
from task_core.store.document import DocumentDatabase
from task_core.store.sqlite import SqliteDatabase
from task_core.store.statements import Key
from task_core.text import fold
from task_core.warning_list import WarningList
from tests.postgres import needs_postgres, store_pool

__all__ = [
    "CARDS",
    "ENGINES",
    "FILE_ENGINES",
    "LASTING_ENGINES",
    "LIST",
    "STATES",
    "TREE",
    "TREES",
    "Card",
    "Engine",
    "matching",
    "selected",
]

STATES: Final = ("todo", "doing", "done")


class Card(Record):
    """A record with a value for every column."""

    state: str = "todo"
    facet: str = ""
    rank: int | None = None
    created: int = 0
    updated: int | None = None
    topic: str = ""
    tags: tuple[str, ...] = ()
    text: str = ""

    @cached_property
    @override
    def columns(self) -> Columns:
        """What a store filters, orders and counts cards by."""
        return Columns(
            state=self.state,
            facet=self.facet,
            rank=self.rank,
            created=self.created,
            updated=self.updated,
            topic=self.topic,
            tags=self.tags,
            text=lambda: fold(self.text),
        )


CARDS: Final = Kind("cards", Card, states=STATES)
TREES: Final = Kind("trees", Card, states=STATES, closed=frozenset({"done"}), is_tree=True)


class TreeCodec(Codec[Card]):
    """A document with one tree a line, its records side by side, each with its parent."""

    head = b'{"trees": [\n'

    @override
    def block(self, nodes: Sequence[Node]) -> bytes:
        return b'{"rows":[' + b",".join(b"[%s,%s]" % (_dump(node.parent), node.line) for node in nodes) + b"]}"

    @override
    def tail(self, roots: Iterable[str], fields: Mapping[str, JsonValue]) -> bytes:
        return b'\n],"fields":' + _dump(dict(fields)) + b"}\n"

    @override
    def decode(self, source: Source) -> Decoded[Card]:
        document = json.loads(source.data)
        blocks = [_dump(tree) for tree in document["trees"]]
        trees = [[(Card.model_validate(item), parent) for parent, item in tree["rows"]] for tree in document["trees"]]
        ids = [tree[0][0].id for tree in trees]
        return Decoded(dict(zip(ids, blocks, strict=True)), dict(zip(ids, trees, strict=True)), document["fields"])


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True)
class Engine:
    """One engine, and how a store of it is opened."""

    name: str

    @property
    def is_lasting(self) -> bool:
        """Whether a store outlives its process, and others share it."""
        return self.name != "memory"

    def path(self, folder: Path) -> Path:
        """Return where this engine keeps a store in ``folder``."""
        return folder / f"store.{self.name}"

    def open(
        self,
        folder: Path,
        codec: Codec[Card],
        *,
        tenant: str = "",
        clock: Clock = utc_now,
        lock_seconds: float = 60,
        fsync: bool = False,
        history_days: float = 0,
        warnings: WarningList | None = None,
    ) -> Store[Card]:
        """Return a store as a process of its own would open it; one in memory is always a new one."""
        path = self.path(folder)
        database: Database = MemoryDatabase()
        if self.name == "postgresql":
            from task_hosted.postgres import PostgresDatabase  # noqa: PLC0415 - it needs the driver

            tenant = f"{folder} {tenant}"  # each test has tenants of its own
            database = PostgresDatabase(store_pool(), tenant, codec.kind.name, lock_seconds=lock_seconds)
        elif self.name == "json":
            database = DocumentDatabase(path, codec, warnings or WarningList(), clock, fsync=fsync)
        elif self.is_lasting:
            database = SqliteDatabase(path, fsync=fsync)
        database.history_days = history_days
        return Store(database, codec.kind, tenant=tenant, clock=clock, lock_seconds=lock_seconds)


LIST: Final = ListCodec(CARDS)
"""The document of a list of cards."""
TREE: Final = TreeCodec(TREES)
"""The document of trees of cards."""

FILE_ENGINES: Final = (Engine("json"), Engine("sqlite"))
LASTING_ENGINES: Final = (*FILE_ENGINES, Engine("postgresql"))
ENGINES: Final = (Engine("memory"), *LASTING_ENGINES)


def _each(engines: Iterable[Engine]) -> pytest.MarkDecorator:
    marks = {"postgresql": [needs_postgres]}
    every = [pytest.param(engine, id=engine.name, marks=marks.get(engine.name, ())) for engine in engines]
    return pytest.mark.parametrize("engine", every)


each_engine = _each(ENGINES)
each_lasting_engine = _each(LASTING_ENGINES)
each_file_engine = _each(FILE_ENGINES)


def matching(cards: Iterable[Card], asked: Selection) -> list[Card]:
    """Return the cards that pass every filter of ``asked``: what its words mean, in plain Python."""
    return [
        card
        for card in cards
        if card.state in (asked.states or STATES)
        and (not asked.facets or card.facet in asked.facets)
        and (not asked.ranks or card.rank in asked.ranks)
        and asked.topic in ("", card.topic)
        and (not asked.tags or {*asked.tags} & {*card.tags})
        and all(word in fold(card.text) for word in asked.words)
        and (asked.since is None or card.updated is None or card.updated >= asked.since)
        and (asked.after is None or _is_after(card, asked, asked.after))
    ]


def selected(cards: Iterable[Card], asked: Selection) -> list[Card]:
    """Return what ``asked`` selects of the cards, in plain Python."""
    found = [card for card in matching(cards, asked) if _is_in(card, asked)]
    return sorted(found, key=asked.order.key, reverse=asked.descending)[: asked.limit]


def _is_in(card: Card, asked: Selection) -> bool:
    return getattr(card, asked.order.value[0]) is not None


def _is_after(card: Card, asked: Selection, after: Key) -> bool:
    key = asked.order.key(card)
    return _is_in(card, asked) and (key < after if asked.descending else key > after)
