"""Two writers at once: no update is lost, no key is used twice, events stay in order (CX-24, CX-25, CX-44)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from cortex_backend.enums import EventKind
from cortex_backend.models import EventRow
from cortex_backend.problems import Problem
from cortex_backend.schemas.projects import ProjectPatch
from cortex_backend.service.repeats import Creation, Repeats
from cortex_backend.store.events import NewEvent, add_events, newest_event_id
from cortex_backend.store.projects import find_project
from cortex_backend.store.rows import change_row
from cortex_backend.store.tasks import find_task
from tests.core.notes import in_background, wait_until
from tests.cortex_backend.backend_fixture import PreparedData, raises_problem
from tests.cortex_backend.service_fixture import ServiceFixture, open_services

REQUEST = ("k", "a digest")


@pytest.fixture
def services(prepared_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    with open_services(prepared_copy) as found:
        yield found


@pytest.fixture
def shared(postgres_copy: tuple[str, PreparedData]) -> Iterator[ServiceFixture]:
    """A services on PostgreSQL, where writers run side by side."""
    with open_services(postgres_copy) as found:
        yield found


def is_blocked(services: ServiceFixture) -> bool:
    """Return whether a transaction of PostgreSQL waits for another one."""
    query = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with services.reading() as session:
        return session.execute(query).scalar_one() > 0


def write_events(services: ServiceFixture, session: Session, *kinds: EventKind) -> None:
    add_events(session, services.owner, services.clock(), *map(NewEvent, kinds))


def ids(services: ServiceFixture) -> list[int]:
    with services.reading() as session:
        return [*session.scalars(select(EventRow.id).order_by(EventRow.id))]


@pytest.mark.requirement("CX-24")
@pytest.mark.parametrize("tag", [None, '"1"'])
def test_a_change_that_comes_second_is_made_to_what_the_first_one_left(tag: str | None, shared: ServiceFixture) -> None:
    problems: list[Problem] = []

    def rename() -> None:
        try:
            shared.change(shared.member, shared.task, tag, description="Second")
        except Problem as problem:
            problems.append(problem)

    with in_background() as run, shared.database.write() as session:
        found = find_task(session, shared.owner.user_id, shared.task)
        assert found is not None
        assert change_row(session, found.row, {"title": "First"}, shared.clock())
        run(rename)
        wait_until(lambda: is_blocked(shared))
    task = shared.work.tasks.get(shared.owner, shared.task)
    if tag is None:
        assert (task.title, task.description, task.version) == ("First", "Second", 3)
    else:
        assert (task.title, task.description, task.version) == ("First", "", 2)
        assert problems[0].members == {"current_version": 2}


@pytest.mark.requirement("CX-24")
def test_of_two_who_start_a_task_at_once_one_has_it(shared: ServiceFixture) -> None:
    problems: list[Problem] = []

    def start() -> None:
        try:
            shared.change(shared.member, shared.task, status="IN_PROGRESS")
        except Problem as problem:
            problems.append(problem)

    with in_background() as run, shared.database.write() as session:
        found = find_task(session, shared.owner.user_id, shared.task)
        assert found is not None
        changes = {"status": "IN_PROGRESS", "assignee_id": shared.owner.user_id}
        assert change_row(session, found.row, changes, shared.clock())
        run(start)
        wait_until(lambda: is_blocked(shared))
    assert [problem.code for problem in problems] == ["AssignedToOther"]
    assert shared.work.tasks.get(shared.owner, shared.task).version == 2


@pytest.mark.requirement("CX-24")
def test_two_changes_of_a_project_are_both_kept(shared: ServiceFixture) -> None:
    def rename() -> None:
        body = ProjectPatch(default_branch="trunk")
        shared.work.projects.change(shared.owner, shared.project, body, None)

    with in_background() as run, shared.database.write() as session:
        found = find_project(session, shared.owner.user_id, shared.project)
        assert found is not None
        assert change_row(session, found.row, {"name": "First"}, shared.clock())
        run(rename)
        wait_until(lambda: is_blocked(shared))
    project = shared.work.projects.get(shared.owner, shared.project)
    assert (project.name, project.default_branch, project.version) == ("First", "trunk", 3)


@pytest.mark.requirement("CX-44")
@pytest.mark.parametrize("is_kept", [True, False], ids=["committed", "dropped"])
def test_the_second_writer_gets_the_next_number_once_the_first_has_ended(
    shared: ServiceFixture, *, is_kept: bool
) -> None:
    before = ids(shared)

    def write() -> None:
        with shared.database.write() as session:
            write_events(shared, session, EventKind.LOGOUT)

    with in_background() as run, shared.database.write() as session:
        write_events(shared, session, EventKind.LOGIN)
        run(write)
        wait_until(lambda: is_blocked(shared))
        if not is_kept:
            session.rollback()
    last = before[-1]
    assert ids(shared) == [*before, last + 1, *([last + 2] if is_kept else [])]


@pytest.mark.requirement("CX-44")
def test_events_of_many_writers_are_numbered_without_a_gap(services: ServiceFixture) -> None:
    before = ids(services)

    def write(writer: int) -> None:
        for number in range(10):
            try:
                with services.database.write() as session:
                    write_events(services, session, *[EventKind.LOGIN] * (number % 3))
                    assert 1 // ((writer + number) % 4) < 2
            except ZeroDivisionError:
                continue

    with in_background() as run:
        run(*(partial(write, writer) for writer in range(3)))
    after = ids(services)
    assert after == [*range(1, len(after) + 1)]
    assert len(after) > len(before)
    with services.reading() as session:
        assert newest_event_id(session) == after[-1]


@pytest.mark.requirement("CX-25")
def test_a_repeat_in_another_process_waits_and_gets_the_first_answer(shared: ServiceFixture) -> None:
    others = Repeats(shared.database, shared.clock)
    answers: list[Creation] = []

    def repeat() -> None:
        answers.append(others.run(shared.owner, *REQUEST, lambda _: Creation(body="second", project_id=shared.project)))

    with in_background() as run:

        def create(_: object) -> Creation:
            run(repeat)
            wait_until(lambda: is_blocked(shared))
            return Creation(body="first", project_id=shared.project, location="/tasks/1", version=1)

        first = shared.work.repeats.run(shared.owner, *REQUEST, create)
    assert not first.is_replayed
    assert answers == [first.model_copy(update={"is_replayed": True})]


@pytest.mark.requirement("CX-25")
def test_a_repeat_of_a_request_that_runs_is_refused_and_done_afterwards(services: ServiceFixture) -> None:
    entered, left = threading.Event(), threading.Event()

    def create(_: object) -> Creation:
        entered.set()
        assert left.wait(20)
        return Creation(body="first", project_id=services.project)

    with in_background() as run:
        run(lambda: services.work.repeats.run(services.owner, *REQUEST, create))
        assert entered.wait(20)
        with raises_problem("RequestInProgress"):
            services.work.repeats.run(services.owner, *REQUEST, create)
        left.set()
    with raises_problem("IdempotencyKeyReused"):
        services.work.repeats.run(services.owner, "k", "another digest", create)
    assert services.work.repeats.run(services.owner, *REQUEST, create).body == "first"
