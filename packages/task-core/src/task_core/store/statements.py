"""Every statement that a store runs, and the migrations that create its tables (EN-13).

Each key begins with tenant and kind. Parameters are named (``:id``), so that each dialect can use its own form. Only
column names are inserted into the text.
"""
# ruff: noqa: S608 - only names of columns are put into the text; every value is a parameter

from collections.abc import Iterable
from typing import Any, Final

from task_core.store.base import Kind, Selection

__all__ = ["LAST_ID", "MIGRATIONS", "SQL", "Parameters", "counting", "counting_children", "page", "siblings"]

Parameters = dict[str, Any]
"""The parameters of a statement by name: texts, whole numbers and None."""

LAST_ID: Final = "\U0010ffff"
"""Sorts after every id."""

_TABLES: Final = (
    """
    CREATE TABLE lists (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL,
        revision BIGINT NOT NULL, purged BIGINT NOT NULL, fields TEXT NOT NULL,
        PRIMARY KEY (tenant, kind)
    )
    """,
    """
    CREATE TABLE records (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, revision BIGINT NOT NULL, removed BIGINT,
        document TEXT, parent TEXT, position BIGINT, state TEXT, is_open INTEGER, facet TEXT, rank INTEGER,
        created BIGINT, updated BIGINT, topic TEXT, words TEXT,
        PRIMARY KEY (tenant, kind, id)
    )
    """,
    "CREATE INDEX by_revision ON records (tenant, kind, revision, id)",
    "CREATE INDEX by_removal ON records (tenant, kind, removed) WHERE removed IS NOT NULL",
    "CREATE INDEX by_creation ON records (tenant, kind, state, created, id) WHERE created IS NOT NULL",
    "CREATE INDEX by_rank ON records (tenant, kind, state, rank, created, id) WHERE rank IS NOT NULL",
    "CREATE INDEX by_update ON records (tenant, kind, state, updated, created, id) WHERE updated IS NOT NULL",
    "CREATE INDEX by_topic ON records (tenant, kind, topic, created, id) WHERE topic IS NOT NULL",
    "CREATE INDEX by_place ON records (tenant, kind, parent, position) WHERE parent IS NOT NULL",
    "CREATE INDEX by_open_place ON records (tenant, kind, parent, position) WHERE is_open = 1",
    """
    CREATE TABLE tags (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, tag TEXT NOT NULL, id TEXT NOT NULL,
        PRIMARY KEY (tenant, kind, tag, id)
    )
    """,
    """
    CREATE TABLE counts (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL, state TEXT NOT NULL, facet TEXT NOT NULL,
        rank INTEGER NOT NULL, number BIGINT NOT NULL,
        PRIMARY KEY (tenant, kind, scope, state, facet, rank)
    )
    """,
)
"""The tables. ``revision`` numbers the units of work of a list without gaps. A removed record is kept for a while
with only its id, revision and time of removal. ``position`` rises with gaps, from sibling to sibling or along a list.
``counts`` has the numbers of all records (scope '') and of the children of each parent ('/' and its id)."""

MIGRATIONS: Final = (_TABLES,)
"""The statements that lead from each version of the schema to the next, the first from an empty database to 1."""

_KEY: Final = "tenant = :tenant AND kind = :kind"
_ONE: Final = f"{_KEY} AND id = :id"
_COUNT: Final = "scope = :scope AND state = :state AND facet = :facet AND rank = :rank"

_COLUMNS: Final = (
    *("id", "revision", "removed", "document", "parent", "position", "state", "is_open"),
    *("facet", "rank", "created", "updated", "topic", "words"),
)
_CONTENT: Final = tuple(name for name in _COLUMNS if name not in {"id", "removed", "parent", "position"})


class SQL:
    """The statements that are always the same."""

    LIST = f"SELECT id, version, revision, purged, fields FROM lists WHERE {_KEY}"
    ADD_LIST = """
        INSERT INTO lists (tenant, kind, id, version, revision, purged, fields)
        VALUES (:tenant, :kind, :id, :version, 0, 0, '{}') ON CONFLICT (tenant, kind) DO NOTHING
    """
    SAVE_LIST = f"UPDATE lists SET revision = :revision, purged = :purged, fields = :fields WHERE {_KEY}"

    SIZE = f"SELECT COALESCE(SUM(number), 0) FROM counts WHERE {_KEY} AND scope = ''"
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
    NEWEST_REMOVED = f"SELECT MAX(revision) FROM records WHERE {_KEY} AND removed < :limit"
    PURGE = f"DELETE FROM records WHERE {_KEY} AND removed < :limit"
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

    PARENTS = f"SELECT DISTINCT scope FROM counts WHERE {_KEY} AND scope > '/' ORDER BY scope LIMIT :limit"
    BELOW = """
        WITH RECURSIVE below (level, id, parent, document, position) AS (
            SELECT 1, id, parent, document, position FROM records
            WHERE tenant = :tenant AND kind = :kind AND id = :id AND removed IS NULL
            UNION ALL
            SELECT below.level + 1, records.id, records.parent, records.document, records.position
            FROM below JOIN records
            ON records.tenant = :tenant AND records.kind = :kind AND records.parent = below.id
        )
        SELECT id, parent, document, level FROM below ORDER BY level, position
    """
    LAST_POSITION = f"SELECT position FROM records WHERE {_KEY} AND parent = :parent ORDER BY position DESC LIMIT 1"
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


def counting_children(scopes: Iterable[str]) -> tuple[str, Parameters]:
    """Return the statement for the numbers of children in each state, with the scope of each, and its parameters."""
    parameters: Parameters = {}
    among = _among("scope", "scope", (*scopes,), parameters)
    return f"SELECT scope, state, number FROM counts WHERE {_KEY} AND {among}", parameters


def page(kind: Kind[Any], selection: Selection) -> tuple[str, Parameters]:
    """Return the statement for the documents that ``selection`` asks for, and its parameters.

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
        ranges = ["document IS NOT NULL", *_in_states(selection, parameters)]
        ranges = [" AND ".join(ranges)]
    else:
        states = {
            f"state{number}": state for number, state in enumerate(dict.fromkeys(selection.states or kind.states))
        }
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


def counting(selection: Selection) -> tuple[str, Parameters]:
    """Return the statement for the number of records that ``selection`` asks for without its limit.

    The kept counts are used where they suffice.
    """
    filters, parameters = _filters(selection)
    filters += _in_states(selection, parameters)
    is_kept = selection.since is None and not (selection.topic or selection.tags or selection.words or selection.after)
    what, table, among = ("COUNT(*)", "records", "document IS NOT NULL")
    if is_kept:
        what, table, among = ("COALESCE(SUM(number), 0)", "counts", "scope = ''")
    return f"SELECT {what} FROM {table} WHERE {' AND '.join([_KEY, among, *filters])}", parameters


def _in_states(selection: Selection, parameters: Parameters) -> list[str]:
    # Concatenated with an empty string, so that no order's index is used.
    return [_among("state || ''", "among", selection.states, parameters)] if selection.states else []


def _filters(selection: Selection) -> tuple[list[str], Parameters]:
    """Return the conditions of everything but the states and the limit."""
    parameters: Parameters = {}
    columns = {"facet": selection.facets, "rank": selection.ranks}
    conditions = [_among(name, name, values, parameters) for name, values in columns.items() if values]
    if selection.topic:
        conditions.append("topic = :topic")
        parameters["topic"] = selection.topic
    if selection.tags:
        tagged = _among("tag", "tag", selection.tags, parameters)
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
        conditions.append(f"{{contains}}(words, :word{number}) > 0")
        parameters[f"word{number}"] = word
    return conditions, parameters


def _among(column: str, name: str, values: tuple[Any, ...], parameters: Parameters) -> str:
    names = {f"{name}{number}": value for number, value in enumerate(values)}
    parameters |= names
    return f"{column} IN ({', '.join(f':{name}' for name in names)})"
