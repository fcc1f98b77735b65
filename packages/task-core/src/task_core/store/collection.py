"""Snapshots of a store: every question is an indexed query, and none costs more than its answer (EN-2)."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, Protocol, Self

from pydantic import JsonValue

from task_core.errors import TaskNotFound
from task_core.models import RecordT
from task_core.store.base import ROOTS, Kind, Row
from task_core.store.statements import (
    LAST_ID,
    SQL,
    Parameters,
    Selection,
    count_children_of,
    count_matches,
    page,
    siblings,
)
from task_core.text import nearest

__all__ = ["HIGHEST", "LOWEST", "Collection", "ListRow", "Node", "Session", "parse_token", "scope_of_children"]

_NEIGHBOURS: Final = 100
"""Ids on each side of an unknown one that are compared with it (EN-2)."""

LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1
"""Below every position."""

_LIMITLESS: Final = 2**31 - 1
"""A limit that no query reaches."""


class Session(Protocol):
    """One connection within one transaction of the database."""

    def run(self, statement: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Carry out one statement and return its rows."""


class Node(NamedTuple):
    """A record in its stored form: its parent, and the record as compact JSON on one line."""

    id: str
    parent: str
    line: bytes


@dataclass(frozen=True)
class ListRow:
    """Facts about a list as a whole, as the database knows them."""

    tenant: str
    kind: str
    version: int
    """of the format"""
    id: str = ""
    """random, created with the list; empty if the list does not exist yet"""
    revision: int = 0
    """of the last transaction"""
    purged: int = 0
    """the revision up to which removed records are forgotten"""
    fields: str = "{}"
    """members of the document beside its records, as JSON"""
    number: int = 0
    """of the records"""
    size: int = 0
    """bytes of the records"""
    moment: int = 0
    """the latest that a change was given; microseconds since 1970"""
    claims: str = "[]"
    """the claims that no session file has, as JSON"""
    owner: str = ""
    """The name of whoever owns the list, or nothing."""

    @property
    def key(self) -> Parameters:
        """The start of the key in every statement."""
        return {"tenant": self.tenant, "kind": self.kind}

    @property
    def token(self) -> str:
        """Asks for the changes after this state (EN-20)."""
        return f"{self.id}-{self.revision}-"

    def reload(self, session: Session) -> Self:
        """Return the row of this tenant and kind as it is in the database, or this one if there is none."""
        for values in session.run(SQL.LIST, self.key):
            return type(self)(self.tenant, self.kind, *values)
        return self


class Collection(Generic[RecordT]):
    """The records of a store at one moment."""

    def __init__(self, kind: Kind[RecordT], session: Session, row: ListRow) -> None:
        self.kind = kind
        self._session = session
        self._list = row
        self._rows: dict[str, Row[RecordT]] = {}
        self._absent: set[str] = set()
        """ids that were asked for in vain"""

    @cached_property
    def fields(self) -> Mapping[str, JsonValue]:
        """Members of the document beside its records."""
        fields: dict[str, JsonValue] = json.loads(self._list.fields)
        return fields

    @property
    def token(self) -> str:
        """The token that ``Store.changes`` takes for what comes after this moment, different after every change."""
        return self._list.token

    @property
    def owner(self) -> str:
        """The owner of the list, or nothing if it has none yet (EN-19)."""
        return self._list.owner

    @property
    def kept_claims(self) -> str:
        """The claims that are kept with the list, as JSON."""
        return self._list.claims

    def __contains__(self, record_id: object) -> bool:
        if not isinstance(record_id, str) or record_id in self._absent:
            return False
        is_there = record_id in self._rows or bool(self.run(SQL.HAS, id=record_id))
        if not is_there:
            self._absent.add(record_id)
        return is_there

    def is_open(self, record_id: str) -> bool:
        """Return whether there is a record with this id on which work is left."""
        return record_id in self and self.get(record_id).columns.state not in self.kind.closed

    def __len__(self) -> int:
        return self._list.number

    def get(self, record_id: str) -> RecordT:
        """Return the record with this id, or raise ``TaskNotFound``, which names up to three near ids."""
        return self.row(record_id).record

    def row(self, record_id: str) -> Row[RecordT]:
        """Return the record with this id and its place; it raises what ``get`` does."""
        if record_id not in self._rows:
            found = self.run(SQL.ROW, id=record_id)
            if not found:
                raise TaskNotFound(record_id, self.near(record_id))
            document, parent, position = found[0]
            self._rows[record_id] = self._row(document, parent or ROOTS, position)
        return self._rows[record_id]

    def near(self, record_id: str) -> list[str]:
        """Return up to three ids like this one, nearest first, from the 200 nearest to it in alphabetical order."""
        earlier = self.run(SQL.EARLIER_IDS, id=record_id, limit=_NEIGHBOURS)
        following = self.run(SQL.NEXT_IDS, id=record_id, limit=_NEIGHBOURS)
        return nearest(record_id, [name for (name,) in (*earlier, *following)])

    def ids(self, prefix: str, limit: int) -> list[str]:
        """Return the first ids that begin with ``prefix``, in alphabetical order."""
        return [name for (name,) in self.run(SQL.IDS, first=prefix, end=prefix + LAST_ID, limit=limit)]

    def select(self, selection: Selection) -> list[RecordT]:
        """Return the records that ``selection`` asks for, in its order."""
        statement, parameters = page(self.kind.states, selection)
        return [self._record(document) for document, *_ in self.run(statement, **parameters)]

    def count(self, selection: Selection) -> int:
        """Return how many records pass the filters of ``selection``, only those after its key if it has one."""
        statement, parameters = count_matches(selection)
        return self._number(statement, **parameters)

    def nodes(self) -> list[Node]:
        """Return all records, siblings in order; the cost grows with their number."""
        return [Node(name, parent or ROOTS, document.encode()) for name, parent, document in self.run(SQL.ALL)]

    # Trees

    def children(
        self, parent: str, *, is_open: bool = False, after: str = "", before: str = "", limit: int | None = None
    ) -> list[RecordT]:
        """Return the children of ``parent`` in order, only the open ones with ``is_open``.

        ``after`` and ``before`` are ids of siblings; with ``before`` and a limit, the last ones are returned.
        """
        statement = siblings(is_open=is_open, after=bool(after), before=bool(before), is_limited=limit is not None)
        records = []
        for name, document, position in self.run(statement, parent=parent, sibling=after or before, limit=limit):
            if name not in self._rows:
                self._rows[name] = self._row(document, parent, position)
            records.append(self._rows[name].record)
        return records[::-1] if before else records

    def count_children(self, parent: str, *, is_open: bool = False, after: str = "", before: str = "") -> int:
        """Return how many children ``children`` would return without a limit."""
        if not (after or before):
            states = self.child_states(parent).items()
            return sum(number for state, number in states if not (is_open and state in self.kind.closed))
        statement = siblings(is_open=is_open, after=bool(after), before=bool(before), is_count=True)
        return self._number(statement, parent=parent, sibling=after or before)

    def child_states(self, parent: str) -> Mapping[str, int]:
        """Return the number of children of ``parent`` by state."""
        return self.child_states_of([parent])[parent]

    def child_states_of(self, parents: Iterable[str]) -> dict[str, dict[str, int]]:
        """Return for each of ``parents`` the number of its children by state."""
        found: dict[str, dict[str, int]] = {parent: {} for parent in parents}
        statement, parameters = count_children_of(map(scope_of_children, found))
        for scope, state, number in self.run(statement, **parameters) if found else ():
            found[scope[1:]][state] = number
        return found

    def child_ids(self, parent: str) -> list[str]:
        """Return the ids of all children of ``parent``, in order."""
        return [name for _, name in self.positions(parent, LOWEST, _LIMITLESS)]

    def first_open_child(self, parent: str) -> RecordT | None:
        """Return the first open child of ``parent``, if one is open."""
        return next(iter(self.children(parent, is_open=True, limit=1)), None)

    def ancestors(self, record_id: str) -> list[RecordT]:
        """Return the ancestors of the record, from the root down."""
        found: list[RecordT] = []
        parent = self.row(record_id).parent
        while parent:
            record, parent, *_ = self.row(parent)
            found.append(record)
        return found[::-1]

    def subtree(self, record_id: str) -> list[tuple[Node, int]]:
        """Return the record and everything below it, level by level, siblings in order, each with its level from 1."""
        found = self.run(SQL.BELOW, id=record_id)
        return [(Node(name, parent or ROOTS, document.encode()), level) for name, parent, document, level in found]

    def parents(self, limit: int) -> list[str]:
        """Return the ids of records with children, at most ``limit``, in alphabetical order."""
        return [scope[1:] for (scope,) in self.run(SQL.PARENTS, limit=limit)]

    def positions(self, parent: str, above: int, limit: int) -> list[tuple[Any, ...]]:
        """Return position and id of the first children of ``parent`` after the position ``above``."""
        return self.run(SQL.POSITIONS, parent=parent, above=above, limit=limit)

    def _row(self, document: str, parent: str, position: int) -> Row[RecordT]:
        return Row(self._record(document), parent, position, len(document.encode()))

    def _record(self, document: str | bytes) -> RecordT:
        return self.kind.record_type.model_validate_json(document)

    def _number(self, statement: str, **parameters: object) -> int:
        ((number,),) = self.run(statement, **parameters)
        return int(number)

    def run(self, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
        """Carry out one statement on the list and return its rows."""
        return self._session.run(statement, self._list.key | parameters)


def scope_of_children(parent: str) -> str:
    """Return the scope under which the children of ``parent`` are counted."""
    return f"/{parent}"


def parse_token(token: str) -> tuple[str, int, str]:
    """Return the list, the revision and the last id of a token; the revision is -1 if it is not a token."""
    name, _, rest = token.partition("-")
    revision, _, last = rest.partition("-")
    return name, int(revision) if revision.isascii() and revision.isdigit() else -1, last
