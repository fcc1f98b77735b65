"""The tasks file of a project, shared with other processes and with Task Master (TM-26 to TM-28)."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from task_core.claims.claim import Claim
from task_core.claims.session_files import SessionFiles
from task_core.document_file import LockedFile
from task_core.document_file.source import Source
from task_core.errors import StoreLocked, TaskError
from task_core.files import Wait
from task_core.history.changes import OUTSIDE, Change, Origin, current_origin
from task_core.history.history_file import HistoryFile
from task_core.models import Clock, Record, microseconds
from task_core.store import Kind, StoreSettings
from task_core.store.base import Changes
from task_core.store.claim_register import ClaimRegister
from task_core.warning_list import WarningList
from taskmaster_mcp.codec import CODEC, TagDocument
from taskmaster_mcp.project.tag_history import compare

__all__ = ["TagStore"]

_KIND: Final = Kind("taskmaster", Record, holds_many=True, stamp="updatedAt")
"""A change of the file may concern any task."""


class TagStore:
    """The tasks file at ``path``: snapshots of it, and transactions, one at a time in all processes."""

    kind: Kind[Any] = _KIND

    def __init__(self, path: Path, settings: StoreSettings, warnings: WarningList, clock: Clock) -> None:
        self.check: Callable[[TagDocument], None] = lambda _: None
        """called when a transaction begins; an error that it raises ends it"""
        self._file = LockedFile(path, CODEC, warnings, clock, fsync=settings.task_fsync)
        self._settings = settings
        self._clock = clock
        days, is_private = settings.task_history_days, CODEC.is_private
        self.history = HistoryFile(self._file, warnings, clock, lambda: days, is_private=is_private)
        self.claims = ClaimRegister(warnings, SessionFiles(path), seconds=settings.task_claim_seconds)
        """who holds which task"""
        self._turn = threading.Lock()
        self._outer = threading.local()
        self._document = TagDocument()
        self._id = secrets.token_hex(6)
        self._number = 0

    @property
    def token(self) -> str:
        """A token that differs after every change that this process has seen."""
        return f"{self._id}-{self._number}-"

    @contextmanager
    def read(self) -> Iterator[TagDocument]:
        """Open a snapshot, which nobody changes."""
        self._file.refresh(self._take)
        is_due = self.claims.observe(self._document, self.now)
        yield self._document
        if is_due:
            with suppress(TaskError), self.transaction():
                pass  # this extends the claims of the agent that reads

    def find_claims(self) -> list[Claim]:
        """Return the claims on open tasks, the oldest first; those whose agent is gone say so."""
        with self.read() as document:
            return self.claims.find(document, self.now)

    def now(self) -> int:
        """Return the present moment in microseconds since 1970."""
        return microseconds(self._clock())

    @contextmanager
    def transaction(self) -> Iterator[TagDocument]:
        """Open a transaction; its changes are on disk when the block ends, and nothing has changed when it raises.

        One that this thread opens within another is a part of that one.
        """
        outer: TagDocument | None = getattr(self._outer, "document", None)
        if outer is not None:
            yield outer
            return
        wait = Wait(self._settings.task_lock_timeout)
        if not self._turn.acquire(timeout=wait.remaining):
            raise StoreLocked(wait.elapsed)
        try:
            self._file.begin(wait, self._take)
            try:
                work = self._document.copy(self.token)
                kept = self.claims.begin(work, self.now)
                self.check(work)
                self._outer.document = work
                yield work
                if work.taken or self._differs(work):
                    work.history = self._compare(work, current_origin())
                self.claims.end(work, kept, self.now)
                if self._differs(work) or work.taken:
                    self.history.begin_save()
                    self._file.replace(work.data)
                    self.history.end_save(work.history if self.history.is_kept else [])
                    self._show(work)
                self.claims.settle(is_saved=True)
            finally:
                self.claims.settle(is_saved=False)
                self._outer.document = None
                self._file.end()
        finally:
            self._turn.release()

    def changes(self, since: str | None, limit: int) -> Changes[Any]:  # noqa: ARG002 - there is one change at most
        """Return whether the file has changed after the token ``since``, as a change of the whole."""
        self._file.refresh(self._take)
        token = self.token
        return Changes([] if since in (None, token) else [("", None)], token)

    def close(self) -> None:
        """Give up every wait for another process, now and later."""
        self._file.give_up()
        self.claims.close()

    def _take(self, source: Source | None) -> None:
        new = CODEC.read(source)
        self.history.take(lambda: self._compare(new, Origin(OUTSIDE, "")))
        self._show(new)

    def _compare(self, new: TagDocument, origin: Origin) -> list[Change]:
        """Return the change that leads to a ``new`` document, if it changes tasks or takes claims over."""
        steps = [*compare(self._document, new), *new.taken]
        if not steps:
            return []
        origin.change = Change(microseconds(self._clock()), origin.by, origin.tool, steps)
        return [origin.change]

    def _show(self, new: TagDocument) -> None:
        if self._differs(new):
            self._document = new
            self._number += 1

    def _differs(self, new: TagDocument) -> bool:
        return new != self._document or [*new.members] != [*self._document.members]  # the order counts too
