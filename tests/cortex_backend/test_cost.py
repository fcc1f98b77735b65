"""A page of tasks costs the same among many tasks as among few: the plans of its queries (CX-98)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

import pytest
import sqlalchemy
from sqlalchemy import Engine, event

from tests.cortex_backend.backend_fixture import BackendFixture

pytestmark = pytest.mark.requirement("CX-98")

MANY: Final = {"postgresql": 20_000, "sqlite": 5_000}
"""Tasks among which a page is sought; PostgreSQL reads all of a small table."""

PAGE: Final = 50

QUERIES: Final = {
    "mine": "assignee=me",
    "of a project": "assignee=any&project_id={project}",
    "of nobody in a project": "assignee=none&project_id={project}",
    "all": "assignee=any",
}


@pytest.fixture
def engine(each_backend: BackendFixture) -> Iterator[Engine]:
    made = sqlalchemy.create_engine(each_backend.url)
    yield made
    made.dispose()


@contextmanager
def heard() -> Iterator[list[tuple[str, Any]]]:
    """Yield the statements of the block, with their parameters."""
    found: list[tuple[str, Any]] = []

    def hear(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", hear)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", hear)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def visited_by_postgres(engine: Engine, statement: str, parameters: Any) -> int:  # noqa: ANN401
    """Return how many rows of tasks PostgreSQL reads for a query."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        plan = found.scalar_one()[0]["Plan"]
    scans = [node for node in nodes(plan) if node.get("Relation Name") == "tasks"]
    assert scans
    return sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]) for node in scans
    )


def steps_of_sqlite(engine: Engine, statement: str, parameters: Any) -> int:  # noqa: ANN401
    """Return how many rows SQLite may read for a query, by its steps; it takes about ten for each."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.create_function("lower", 1, str.lower)
        driver.set_progress_handler(step, 100)
        connection.exec_driver_sql(statement, parameters).all()
        driver.set_progress_handler(None, 0)
    return count * 10


def test_a_page_reads_as_many_rows_as_it_shows(each_backend: BackendFixture, engine: Engine) -> None:
    backend = each_backend
    many = MANY[engine.dialect.name]
    backend.add_tasks(many)
    with engine.begin() as connection:
        connection.exec_driver_sql("ANALYZE")
    for name in QUERIES:
        path = f"/tasks/?{QUERIES[name].format(project=backend.project)}&limit={PAGE}"
        cursor = backend.owner.get(path).json()["next_cursor"]
        with heard() as statements:
            page = backend.owner.get(f"{path}&cursor={quote(cursor)}").json()
        assert (len(page["tasks"]), page["total"] >= many // 3) == (PAGE, True)
        (listing,) = [found for found in statements if "ORDER BY tasks.id DESC" in found[0]]
        visited = visited_by_postgres if engine.dialect.name == "postgresql" else steps_of_sqlite
        assert visited(engine, *listing) <= 10 * PAGE


def test_a_task_is_read_with_three_queries(backend: BackendFixture) -> None:
    with heard() as statements:
        backend.owner.get(f"/tasks/{backend.task}")
    queries = [statement for statement, _ in statements if statement.startswith("SELECT")]
    assert len(queries) <= 3, queries
