"""The migrations that create and change the tables of a database (EN-13)."""

from typing import Final

__all__ = ["MIGRATIONS"]

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
        document TEXT, parent TEXT, position BIGINT, state TEXT, is_open INTEGER, facet TEXT, rank BIGINT,
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
        rank BIGINT NOT NULL, number BIGINT NOT NULL,
        PRIMARY KEY (tenant, kind, scope, state, facet, rank)
    )
    """,
)
"""The tables. ``revision`` numbers the transactions of a list without gaps. A removed record is kept for a while
with only its id, revision and time of removal. ``position`` rises with gaps, from sibling to sibling or along a list.
``counts`` has the numbers of all records (scope '') and of the children of each parent ('/' and its id)."""

_TOTALS: Final = (
    "ALTER TABLE lists ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE lists ADD COLUMN size BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE lists ADD COLUMN moment BIGINT NOT NULL DEFAULT 0",
    """
    UPDATE lists SET (number, size) = (
        SELECT COUNT(*), COALESCE(SUM(LENGTH(CAST(document AS BLOB))), 0) FROM records
        WHERE records.tenant = lists.tenant AND records.kind = lists.kind AND document IS NOT NULL
    )
    """,
)
"""The number and the bytes of the records of each list, and the latest moment that a change was given."""

_CALLS: Final = (
    """
    CREATE TABLE calls (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT NOT NULL,
        moment BIGINT NOT NULL, PRIMARY KEY (tenant, kind, id)
    )
    """,
    "CREATE INDEX calls_by_moment ON calls (tenant, kind, moment)",
)
"""The answers of calls that can be repeated, by the key of the call, and a digest of what was asked (HO-6)."""

_COMMITS: Final = (
    """
    CREATE TABLE commits (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, moment BIGINT NOT NULL,
        PRIMARY KEY (tenant, kind, id)
    )
    """,
    "CREATE INDEX commits_by_moment ON commits (tenant, kind, moment)",
)
"""The transactions that were committed lately: whoever loses the connection at COMMIT looks here (EN-14)."""

_OWNERS: Final = (
    "ALTER TABLE lists ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE lists ADD COLUMN leased BIGINT NOT NULL DEFAULT 0",
)
"""The owner of each list (EN-19). Earlier versions kept in ``leased`` until when; nothing reads that column."""

_AGENTS: Final = (
    """
    CREATE TABLE history (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, number BIGINT NOT NULL, moment BIGINT NOT NULL, size BIGINT NOT NULL,
        content TEXT NOT NULL, PRIMARY KEY (tenant, kind, number)
    )
    """,
    "ALTER TABLE lists ADD COLUMN claims TEXT NOT NULL DEFAULT '[]'",
)
"""The changes of each list, by their revisions (AG-4), and the claims of agents without a session file (AG-14)."""

MIGRATIONS: Final = (_TABLES, (*_TOTALS, *_CALLS, *_COMMITS, *_OWNERS), _AGENTS)
"""The statements that lead from each version of the schema to the next, the first from an empty database to 1."""
