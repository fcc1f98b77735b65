"""The PostgreSQL engine: many machines share a list, and whoever changes it locks its row (EN-12)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from task_core.files import Wait
from task_core.models import Clock
from task_core.store.collection import Collection
from task_core.store.database import Database
from task_hosted.postgres.access import READ, ListAccess
from task_hosted.postgres.session import ReadSession, WriteSession

__all__ = ["PostgresDatabase"]


class PostgresDatabase(ListAccess, Database):
    """The list of one tenant and kind, in the database that ``pool`` leads to."""

    _session: WriteSession | None = None

    @contextmanager
    @override
    def reading(self) -> Iterator[ReadSession]:
        connection, row = self.open(Wait(self.lock_seconds), READ)
        try:
            yield ReadSession(connection, row, self.name)
        finally:
            self.pool.give(connection, has_written=False)

    @override
    def begin(self, wait: Wait) -> WriteSession:
        self._session = WriteSession(self, wait, self.note)
        return self._session

    @override
    def now(self, records: Collection[Any], clock: Clock) -> int:
        ((moment,),) = records.run("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)")
        return int(moment)

    @override
    def commit(self, records: Collection[Any], changed: set[str]) -> None:
        assert self._session  # noqa: S101 - for the type checker: ``begin`` has made it
        self._session.commit()

    @override
    def end(self) -> None:
        session, self._session = self._session, None
        if session:
            session.close()

    @override
    def can_answer_now(self) -> bool:
        return False

    @override
    def close(self) -> None:
        self.pool.leave(self)
