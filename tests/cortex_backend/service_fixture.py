"""The services of projects, tasks and events over a database with people in it, without HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.orm import Session

from cortex_backend.caller import Caller
from cortex_backend.database import CortexDatabase
from cortex_backend.schemas.tasks import TaskDraft, TaskPatch, TaskView
from cortex_backend.service.work import WorkServices
from tests.cortex_backend.backend_fixture import ROLES, MovableClock, PreparedData

__all__ = ["ServiceFixture", "open_services"]


class ServiceFixture:
    """One database, its services, and the people of a prepared_data as callers."""

    owner: Caller
    member: Caller
    viewer: Caller
    stranger: Caller

    def __init__(self, database: CortexDatabase, prepared_data: PreparedData) -> None:
        self.database = database
        self.clock = MovableClock()
        self.work = WorkServices(database, self.clock)
        self.project = prepared_data.project
        self.task = prepared_data.task
        self.foreign_project = prepared_data.foreign_project
        for role in ROLES:
            tokens = prepared_data.tokens[role]
            setattr(self, role, Caller(tokens["user"]["id"], tokens["session"]["id"], role))

    def new_task(self, title: str = "Sweep", **fields: Any) -> int:  # noqa: ANN401
        """Create a task of the owner and return its id."""
        body = TaskDraft.model_validate({"project_id": self.project, "title": title, **fields})
        with self.database.write() as session:
            creation = self.work.tasks.create(session, self.owner, body)
        return TaskView.model_validate_json(creation.body).id

    def change(self, caller: Caller, task_id: int, tag: str | None = None, **fields: Any) -> TaskView:  # noqa: ANN401
        """Change a task and return it."""
        return self.work.tasks.change(caller, task_id, TaskPatch.model_validate(fields), tag)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session for queries."""
        with self.database.read() as session:
            yield session


@contextmanager
def open_services(copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    """Yield the services over a copy of a prepared database, and close it."""
    url, prepared_data = copy
    database = CortexDatabase(url)
    try:
        yield ServiceFixture(database, prepared_data)
    finally:
        database.close()
