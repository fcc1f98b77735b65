"""Selections that a store answers (EN-3), and every statement that it runs, in the words of SQLite (EN-13).

Each key begins with tenant and kind. Only names of columns are inserted into the text.
"""
# ruff: noqa: S608 - only names of columns are put into the text; every value is a parameter

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from task_core.models import Record

__all__ = [
    "LAST_ID",
    "LIST_VALUES",
    "SQL",
    "Key",
    "Order",
    "Parameters",
    "Selection",
    "count_children_of",
    "count_matches",
    "page",
    "siblings",
]

Parameters = dict[str, Any]
"""The parameters of a statement by name: texts, whole numbers and None."""

LAST_ID: Final = "\U0010ffff"
"""Sorts after every id."""

Key = tuple[int | str, ...]
"""The position of a record in an order: the values that the order compares, then the id."""

_KEY: Final = "tenant = :tenant AND kind = :kind"
_ONE: Final = f"{_KEY} AND id = :id"
_COUNT: Final = "scope = :scope AND state = :state AND facet = :facet AND rank = :rank"

LIST_VALUES: Final = ("revision", "purged", "fields", "number", "size", "moment", "claims")
"""The columns of a list that a transaction saves."""

_COLUMNS: Final = (
    *("id", "revision", "removed", "document", "parent", "position", "state", "is_open"),
    *("facet", "rank", "created", "updated", "topic", "words"),
)
_CONTENT: Final = tuple(name for name in _COLUMNS if name not in {"id", "removed", "parent", "position"})


class Order(Enum):
    """The orders that stores keep an index for: the columns that they compare, ties by id."""

    CREATED = ("created",)
    RANK = ("rank", "created")
    UPDATED = ("updated", "created")

    def key(self, record: Record) -> Key:
        """Return where ``record`` is in this order."""
        return (*(getattr(record.columns, name) for name in self.value), record.id)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A choice of records and their order; an empty field lets every record pass (EN-3)."""

    states: tuple[str, ...] = ()
    facets: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    topic: str = ""
    tags: tuple[str, ...] = ()
    """any of them"""
    words: tuple[str, ...] = ()
    """all of them, folded as the record's text is"""
    since: int | None = None
    """records that were updated then or later, and those without a time of update; microseconds since 1970"""
    order: Order = Order.CREATED
    descending: bool = False
    after: Key | None = None
    """the key of the last record on the previous page"""
    limit: int | None = None


class SQL:
    """The statements that are always the same."""

    LIST = f"SELECT version, id, {', '.join(LIST_VALUES)}, owner FROM lists WHERE {_KEY}"
    ADD_LIST = """
        INSERT INTO lists (tenant, kind, id, version, revision, purged, fields)
        VALUES (:tenant, :kind, :id, :version, 0, 0, '{}') ON CONFLICT (tenant, kind) DO NOTHING
    """
    SAVE_LIST = f"UPDATE lists SET {', '.join(f'{name} = :{name}' for name in LIST_VALUES)} WHERE {_KEY}"
    SET_OWNER = f"UPDATE lists SET owner = :owner WHERE {_KEY}"

    HAS = f"SELECT 1 FROM records WHERE {_ONE} AND removed IS NULL"
    ROW = f"SELECT document, parent, position FROM records WHERE {_ONE} AND removed IS NULL"
    ALL = f"SELECT id, parent, document FROM records WHERE {_KEY} AND removed IS NULL ORDER BY position"
    IDS = f"""
        SELECT id FROM records WHERE {_KEY} AND id >= :first AND id < :end AND removed IS NULL ORDER BY id LIMIT :limit
    """
    NEXT_IDS = f"SELECT id FROM records WHERE {_KEY} AND id >= :id AND removed IS NULL ORDER BY id LIMIT :limit"
    EARLIER_IDS = f"SELECT id FROM records WHERE {_KEY} AND id < :id AND removed IS NULL ORDER BY id DESC LIMIT :limit"
    CHANGES = f"""
        SELECT revision, id, document FROM records
        WHERE {_KEY} AND (revision, id) > (:revision, :id) ORDER BY revision, id LIMIT :limit
    """

    ADD = f"""
        INSERT INTO records (tenant, kind, {", ".join(_COLUMNS)})
        VALUES (:tenant, :kind, {", ".join(f":{name}" for name in _COLUMNS)})
        ON CONFLICT (tenant, kind, id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}
    """
    REPLACE = f"UPDATE records SET {', '.join(f'{name} = :{name}' for name in _CONTENT)} WHERE {_ONE}"
    REMOVE = f"""
        UPDATE records SET revision = :revision, removed = :removed,
        {", ".join(f"{name} = NULL" for name in _COLUMNS[3:])} WHERE {_ONE}
    """
    PLACE = f"UPDATE records SET revision = :revision, parent = :parent, position = :position WHERE {_ONE}"
    SPACE = f"UPDATE records SET position = :position WHERE {_ONE}"
    TOUCH = f"UPDATE records SET revision = :revision WHERE {_ONE}"
    # Added to, so that no database seeks the newest revision first, among all records.
    NEWEST_REMOVED = f"SELECT MAX(revision + 0) FROM records WHERE {_KEY} AND removed < :limit"
    PURGE = f"DELETE FROM records WHERE {_KEY} AND removed < :limit"
    CALL = f"SELECT digest, answer FROM calls WHERE {_ONE} AND moment >= :limit"
    COUNT_CALLS = f"SELECT COUNT(*), COALESCE(SUM(LENGTH(answer)), 0) FROM calls WHERE {_KEY}"
    PURGE_CALLS = f"DELETE FROM calls WHERE {_KEY} AND moment < :limit"
    ADD_CALL = """
        INSERT INTO calls (tenant, kind, id, digest, answer, moment)
        VALUES (:tenant, :kind, :id, :digest, :answer, :moment)
    """

    ADD_CHANGE = """
        INSERT INTO history (tenant, kind, number, moment, size, content)
        VALUES (:tenant, :kind, :number, :moment, :size, :content)
    """
    HISTORY = f"""
        SELECT number, moment, content FROM history
        WHERE {_KEY} AND number < :before AND moment >= :oldest AND instr(content, :needle) > 0
        ORDER BY number DESC LIMIT :limit
    """
    PURGE_OLD_HISTORY = f"DELETE FROM history WHERE {_KEY} AND moment < :limit"
    PURGE_LONG_HISTORY = f"""
        DELETE FROM history WHERE {_KEY} AND number <= (
            SELECT MAX(number) FROM (
                SELECT number, SUM(size) OVER (ORDER BY number DESC) AS total FROM history WHERE {_KEY}
            ) AS summed WHERE total > :limit
        )
    """

    CLEAR = tuple(f"DELETE FROM {table} WHERE {_KEY}" for table in ("records", "tags", "counts"))

    ADD_TAG = "INSERT INTO tags (tenant, kind, tag, id) VALUES (:tenant, :kind, :tag, :id)"
    REMOVE_TAG = f"DELETE FROM tags WHERE {_KEY} AND tag = :tag AND id = :id"

    ADD_COUNT = """
        INSERT INTO counts (tenant, kind, scope, state, facet, rank, number)
        VALUES (:tenant, :kind, :scope, :state, :facet, :rank, :number)
        ON CONFLICT (tenant, kind, scope, state, facet, rank) DO UPDATE SET number = counts.number + excluded.number
    """
    COUNT_ALL = f"""
        INSERT INTO counts (tenant, kind, scope, state, facet, rank, number)
        SELECT tenant, kind, '', state, facet, COALESCE(rank, 0), COUNT(*) FROM records WHERE {_KEY}
        GROUP BY tenant, kind, state, facet, COALESCE(rank, 0)
    """
    COUNT_CHILDREN = f"""
        INSERT INTO counts (tenant, kind, scope, state, facet, rank, number)
        SELECT tenant, kind, '/' || parent, state, '', 0, COUNT(*) FROM records WHERE {_KEY} AND parent IS NOT NULL
        GROUP BY tenant, kind, parent, state
    """
    FORGET_COUNT = f"DELETE FROM counts WHERE {_KEY} AND {_COUNT} AND number = 0"

    HAS_COMMIT = f"SELECT 1 FROM commits WHERE {_ONE}"
    ADD_COMMIT = "INSERT INTO commits (tenant, kind, id, moment) VALUES (:tenant, :kind, :id, :moment)"
    PURGE_COMMITS = f"DELETE FROM commits WHERE {_KEY} AND moment < :limit"

    PARENTS = f"SELECT DISTINCT scope FROM counts WHERE {_KEY} AND scope > '/' ORDER BY scope LIMIT :limit"
    # A range of one parent, so that no database joins by reading all records where many have the same parent.
    BELOW = """
        WITH RECURSIVE below (level, id, parent, document, position) AS (
            SELECT 1, id, parent, document, position FROM records
            WHERE tenant = :tenant AND kind = :kind AND id = :id AND removed IS NULL
            UNION ALL
            SELECT below.level + 1, records.id, records.parent, records.document, records.position
            FROM below JOIN records
            ON records.tenant = :tenant AND records.kind = :kind AND records.parent BETWEEN below.id AND below.id
        )
        SELECT id, parent, document, level FROM below ORDER BY level, position
    """
    LAST_POSITION = f"""
        SELECT position FROM records
        WHERE {_KEY} AND parent = :parent AND position < :below ORDER BY position DESC LIMIT 1
    """
    POSITIONS = f"""
        SELECT position, id FROM records
        WHERE {_KEY} AND parent = :parent AND position > :above ORDER BY position LIMIT :limit
    """


def siblings(*, is_open: bool, after: bool, before: bool, is_count: bool = False, is_limited: bool = False) -> str:
    """Return the statement for the children of ``:parent``, or for their number; with ``before``, in reverse order."""
    conditions = [_KEY, "parent = :parent", *(["is_open = 1"] if is_open else [])]
    if after or before:
        comparison = ">" if after else "<"
        conditions.append(f"position {comparison} (SELECT position FROM records WHERE {_KEY} AND id = :sibling)")
    among = " AND ".join(conditions)
    if is_count:
        return f"SELECT COUNT(*) FROM records WHERE {among}"
    order = "position" + " DESC" * before + " LIMIT :limit" * is_limited
    return f"SELECT id, document, position FROM records WHERE {among} ORDER BY {order}"


def count_children_of(scopes: Iterable[str]) -> tuple[str, Parameters]:
    """Return the statement for the numbers of children in each state, with the scope of each, and its parameters."""
    parameters: Parameters = {}
    among = _match_any("scope", "scope", (*scopes,), parameters)
    return f"SELECT scope, state, number FROM counts WHERE {_KEY} AND {among}", parameters


def page(states: Iterable[str], selection: Selection) -> tuple[str, Parameters]:
    """Return the statement for the documents that ``selection`` asks for among all ``states``, and its parameters.

    Each state has a range of its own in the index of the order, so that a page costs the same however many records
    there are; only a topic or tags, which few records share, are looked up first and then sorted.
    """
    filters, parameters = _filters(selection)
    columns = (*selection.order.value, "id")
    ordered = ", ".join(f"{name}{' DESC' if selection.descending else ''}" for name in columns)
    limit = ""
    if selection.limit is not None:
        limit, parameters["limit"] = " LIMIT :limit", selection.limit
    if selection.topic or selection.tags:
        ranges = ["document IS NOT NULL", *_match_states(selection, parameters)]
        ranges = [" AND ".join(ranges)]
    else:
        states = {f"state{number}": state for number, state in enumerate(dict.fromkeys(selection.states or states))}
        parameters |= states
        ranges = [f"state = :{name}" for name in states]
    parts: list[str] = []
    for among in ranges:
        conditions = " AND ".join([_KEY, among, f"{columns[0]} IS NOT NULL", *filters])
        parts.append(f"SELECT document, {', '.join(columns)} FROM records WHERE {conditions} ORDER BY {ordered}{limit}")
    if len(parts) == 1:
        return parts[0], parameters
    union = " UNION ALL ".join(f"SELECT * FROM ({part}) AS part{number}" for number, part in enumerate(parts))
    return f"{union} ORDER BY {ordered}{limit}", parameters


def count_matches(selection: Selection) -> tuple[str, Parameters]:
    """Return the statement that counts the records of ``selection`` without its limit, from kept counts if possible."""
    filters, parameters = _filters(selection)
    filters += _match_states(selection, parameters)
    is_kept = selection.since is None and not (selection.topic or selection.tags or selection.words or selection.after)
    what, table, among = ("COUNT(*)", "records", "document IS NOT NULL")
    if is_kept:
        what, table, among = ("COALESCE(SUM(number), 0)", "counts", "scope = ''")
    return f"SELECT {what} FROM {table} WHERE {' AND '.join([_KEY, among, *filters])}", parameters


def _match_states(selection: Selection, parameters: Parameters) -> list[str]:
    # Concatenated with an empty string, so that no order's index is used.
    return [_match_any("state || ''", "among", selection.states, parameters)] if selection.states else []


def _filters(selection: Selection) -> tuple[list[str], Parameters]:
    """Return the conditions of everything but the states and the limit."""
    parameters: Parameters = {}
    columns = {"facet": selection.facets, "rank": selection.ranks}
    conditions = [_match_any(name, name, values, parameters) for name, values in columns.items() if values]
    if selection.topic:
        conditions.append("topic = :topic")
        parameters["topic"] = selection.topic
    if selection.tags:
        tagged = _match_any("tag", "tag", selection.tags, parameters)
        conditions.append(f"id IN (SELECT id FROM tags WHERE {_KEY} AND {tagged})")
    if selection.after:
        comparison = "<" if selection.descending else ">"
        keys = {f"after{number}": value for number, value in enumerate(selection.after)}
        columns_ = ", ".join((*selection.order.value, "id"))
        conditions.append(f"({columns_}) {comparison} ({', '.join(f':{name}' for name in keys)})")
        parameters |= keys
    if selection.since is not None:
        conditions.append("(updated IS NULL OR updated >= :since)")
        parameters["since"] = selection.since
    for number, word in enumerate(selection.words):
        conditions.append(f"instr(words, :word{number}) > 0")
        parameters[f"word{number}"] = word
    return conditions, parameters


def _match_any(column: str, name: str, values: tuple[Any, ...], parameters: Parameters) -> str:
    names = {f"{name}{number}": value for number, value in enumerate(values)}
    parameters |= names
    return f"{column} IN ({', '.join(f':{name}' for name in names)})"
