"""The answers of calls that a client may repeat: a list keeps them for a day, beside its records (HO-6)."""

from abc import ABC, abstractmethod
from typing import Any, Final

from task_core.errors import InvalidArguments
from task_core.models import Clock, microseconds
from task_core.store.base import CALL_KEY
from task_core.store.statements import SQL

__all__ = ["KeptAnswers"]

_ANSWERED: Final = 24 * 3600 * 1_000_000
"""Microseconds for which the answer of a call is kept (HO-6)."""

_MAX_CALLS: Final = 10_000
"""Answers of calls that one list keeps, so that a client cannot fill the database with them."""

_MAX_SIZE: Final = 20_000_000
"""Characters of all these answers."""


class KeptAnswers(ABC):
    """Answers of earlier calls, as a transaction knows them."""

    _clock: Clock
    _is_changed: bool

    @abstractmethod
    def _run(self, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
        """Carry out one statement on the list and return its rows."""

    def find_answer(self, key: str, digest: str) -> str | None:
        """Return the answer that was kept under ``key`` in the last 24 hours (HO-6).

        Raises:
            InvalidArguments: the key is that of a call with another ``digest``.
        """
        for kept, answer in self._run(SQL.CALL, id=key, limit=microseconds(self._clock()) - _ANSWERED):
            if kept != digest:
                raise _refuse_key("another call had this key: give each call a key of its own")
            return str(answer)
        return None

    def keep_answer(self, key: str, digest: str, answer: str) -> None:
        """Keep the answer of a call under a new ``key``, and forget those that are too old.

        Raises:
            InvalidArguments: too many are kept.
        """
        moment = microseconds(self._clock())
        self._run(SQL.PURGE_CALLS, limit=moment - _ANSWERED)
        ((count, size),) = self._run(SQL.COUNT_CALLS)
        if count >= _MAX_CALLS or size + len(answer) > _MAX_SIZE:
            limits = f"{_MAX_CALLS:,} answers of the last 24 hours, of {_MAX_SIZE:,} characters"
            raise _refuse_key(f"this list keeps at most {limits}: leave the key out")
        self._run(SQL.ADD_CALL, id=key, digest=digest, answer=answer, moment=moment)
        self._is_changed = True


def _refuse_key(reason: str) -> InvalidArguments:
    return InvalidArguments([(f"_meta.{CALL_KEY}", reason)])
