"""The PostgreSQL engine: many machines share a list, and whoever changes it locks its row (EN-12)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from task_core.files import LOCK_SECONDS, Wait
from task_core.store.collection import Collection
from task_core.store.database import Database
from task_hosted.postgres.access import READ, ListAccess
from task_hosted.postgres.connection import STATEMENT_SECONDS
from task_hosted.postgres.pool import Pool
from task_hosted.postgres.session import ReadSession, WriteSession

__all__ = ["PostgresDatabase"]


class PostgresDatabase(Database):
    """The list of one tenant and kind, in the database that ``pool`` leads to."""

    def __init__(
        self,
        pool: Pool,
        tenant: str,
        kind: str,
        *,
        lock_seconds: float = LOCK_SECONDS,
        statement_seconds: float = STATEMENT_SECONDS,
        fsync: bool = True,
    ) -> None:
        """Wait at most ``lock_seconds`` for the server before something is read, and ``statement_seconds`` then."""
        self._access = ListAccess(
            pool, tenant, kind, lock_seconds=lock_seconds, statement_seconds=statement_seconds, fsync=fsync
        )
        self.name = pool.name
        self._session: WriteSession | None = None

    @contextmanager
    @override
    def reading(self) -> Iterator[ReadSession]:
        connection, row = self._access.begin(Wait(self._access.lock_seconds), READ)
        try:
            yield ReadSession(connection, row, self.name)
        finally:
            self._access.pool.give(connection, has_written=False)

    @override
    def begin(self, wait: Wait) -> WriteSession:
        self._session = WriteSession(self._access, wait, self.observer)
        return self._session

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
    def probe(self) -> None:
        self._access.pool.probe()

    @override
    def give_up(self) -> None:
        self._access.give_up()

    @override
    def close(self) -> None:
        self._access.pool.leave(self._access)
