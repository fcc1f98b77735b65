"""PostgreSQL dialect: keywords, placeholders, text encoding, and error mapping (EN-15)."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import psycopg

from task_core.errors import DuplicateId, StoreDamaged, StoreLocked, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.store.statements import Parameters

__all__ = ["describe", "is_conflict", "is_locked", "is_lost", "make_fault", "pack", "translate", "unpack"]

_WORDS: Final = (
    ("instr(", "strpos("),
    ("LENGTH(CAST(document AS BLOB))", "octet_length(document)"),
    (" TEXT", ' TEXT COLLATE "C"'),  # ordered by code points, as in every other engine
)

_PARAMETER: Final = re.compile(r"(?<!:):([a-z]\w*)")

_CODES: Final = {"\x00": "\x01\x01\x01\x02", "\x01": "\x01\x01\x02\x02", "\x02": "\x01\x02\x02\x02"}
"""PostgreSQL cannot store U+0000. These codes keep the order of texts, and no part of an encoded text looks like
another code, so texts can be compared and searched in their stored form."""

_PACKED: Final = str.maketrans(_CODES)
_UNPACKED: Final = {code: character for character, code in _CODES.items()}
_ANY_CODE: Final = re.compile("[\x01\x02]{4}")

_LEAST, _MOST = -(2**63), 2**63


@lru_cache(maxsize=512)
def translate(statement: str) -> str:
    """Return ``statement`` with the keywords and placeholders of PostgreSQL."""
    for general, own in _WORDS:
        statement = statement.replace(general, own)
    return _PARAMETER.sub(r"%(\1)s", statement)


def pack(parameters: Parameters) -> Parameters:
    """Return ``parameters`` as they are stored.

    It raises ``OverflowError`` for a number of more than 64 bits, and ``UnicodeEncodeError`` for half a character.
    """
    return {name: _pack(value) for name, value in parameters.items()}


def _pack(value: object) -> object:
    if isinstance(value, int) and not _LEAST <= value < _MOST:
        raise OverflowError("a number does not fit 64 bits")
    if isinstance(value, str):
        value.encode()
        return value.translate(_PACKED)
    return value


def unpack(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return ``rows`` with their texts as they were before ``pack``."""
    return [tuple(map(_unpack, row)) for row in rows]


def _unpack(value: object) -> object:
    if isinstance(value, str) and "\x01" in value:
        return _ANY_CODE.sub(lambda found: _UNPACKED[found[0]], value)
    return value


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the outcome is unknown or the server refuses writes, so that another connection must be used."""
    state = error.sqlstate
    if state is None:  # the driver's own: no connection, or one that ended, perhaps amid an answer
        return isinstance(error, psycopg.OperationalError) or type(error) is psycopg.DatabaseError
    return state.startswith(("08", "57P")) or state in {"25006", "25P03", "40003"}


def is_conflict(error: psycopg.Error) -> bool:
    """Return whether the server rolled the transaction back because of another one."""
    return error.sqlstate in {"40001", "40P01"}


def is_locked(error: psycopg.Error) -> bool:
    """Return whether another transaction held the row of the list for longer than the lock timeout."""
    return error.sqlstate == "55P03"


def make_fault(error: psycopg.Error, name: str, waited: float, *, is_writing: bool) -> TaskError:
    """Return the error of the store ``name`` for a failure after ``waited`` seconds."""
    state = error.sqlstate or ""
    cause = describe(error)
    if error.sqlstate is None:  # of a failed connection, not the place, which may be a path (ERR-1)
        cause = cause.rpartition("failed: ")[2]
    if state == "23505":
        return DuplicateId(name)
    if state in {"55P03", "57014"}:
        return StoreLocked(waited)
    if state in {"42P01", "42703", "3F000"}:
        cause = "its tables are missing or outdated: run the server's command 'migrate'"
        return StoreUnreadable(name, cause)
    if state == "42501":
        cause += ": run the server's command 'migrate' with the name of this role"
    if state in {"XX001", "XX002"}:
        return StoreDamaged(name, cause, "a sound database")
    return (StoreWriteFailed if is_writing else StoreUnreadable)(name, cause)


def describe(error: psycopg.Error) -> str:
    """Return the error in one line, without its details, which may quote a task."""
    text = error.diag.message_primary or str(error)
    first = next(iter(text.strip().splitlines()), type(error).__name__)
    return f"{first} [{error.sqlstate}]" if error.sqlstate else first
