"""Claims of agents without a process of their own: they end at a deadline (AG-14)."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from typing_extensions import override

from task_core.claims.claim import Claim, ClaimLost, NotClaimed, TaskClaimed
from task_core.claims.session_files import SessionFiles
from task_core.errors import InvalidArguments, StoreWriteFailed
from task_core.history.changes import BOARD, made_by
from task_core.store import Collection, MemoryDatabase, Store
from task_core.store.claim_register import LISTENING, ClaimRegister
from task_core.store.claiming import StoreClaiming
from task_core.store.document import DocumentDatabase
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import CreateTaskArguments
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import StoredTask
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.view import TasksView
from tests.core.claim_team import NOON, Team


@pytest.fixture
def hurried(tmp_path: Path) -> tuple[Team, list[Store[StoredTask]], WarningList]:
    """Agents without processes of their own, who have a minute from call to call, and what they are warned of."""
    team, warnings = Team(tmp_path), WarningList()

    def opened() -> Store[StoredTask]:
        database = DocumentDatabase(team.path, CODEC, WarningList(), lambda: team.now, fsync=False)
        register = ClaimRegister(warnings, SessionFiles(team.path), seconds=60)
        return Store(database, CODEC.kind, clock=lambda: team.now, claims=register)

    return team, [opened(), opened()], warnings


def claim(store: Store[StoredTask], task: str, agent: str, *, is_remote: bool = True) -> Claim:
    with made_by("client 1", "claim_task", agent, is_remote=is_remote):
        found = StoreClaiming(store, TasksView(store)).claim(task, "", is_forced=False).claim
    assert found
    return found


def change(store: Store[StoredTask], task: str, agent: str, *, by: str = "client 1", is_remote: bool = True) -> None:
    with made_by(by, "update_task", agent, is_remote=is_remote), store.transaction() as work:
        old = work.get(task)
        work.replace(old.changed(title=f"{old.title}!"))


@pytest.mark.requirement("AG-14")
def test_the_claim_of_an_agent_without_a_process_ends_unless_it_calls_again(
    hurried: tuple[Team, list[Store[StoredTask]], WarningList],
) -> None:
    team, (one, two), warnings = hurried
    task = TaskService(one, Random(1)).create_task(CreateTaskArguments(title="Paint")).id

    with pytest.raises(InvalidArguments, match="agent: give a name of your own"):
        claim(one, task, "")
    held = claim(one, task, "ann")
    for _ in range(3):  # each call gives it another minute
        team.now += timedelta(seconds=50)
        change(two, task, held.token)
        with pytest.raises(TaskClaimed, match="or longer if its agent calls"):
            claim(two, task, "bob")
    team.now += timedelta(seconds=61)
    change(one, task, held.token)  # nobody else has taken it
    team.now += timedelta(seconds=61)
    again = claim(one, task, "ann")
    assert (again.token, again.until - held.until) == (held.token, (3 * 50 + 2 * 61) * 1_000_000)
    assert warnings.take() == []
    team.now += timedelta(seconds=61)
    later = claim(two, task, "bob")
    assert later.since > held.since
    for agent, error in ((held.token, ClaimLost), ("ann", TaskClaimed)):
        with pytest.raises(error):
            change(one, task, agent)
    change(one, task, "bob")


@pytest.mark.requirement("AG-14")
def test_nothing_is_released_in_the_name_of_a_claim_that_has_ended(
    hurried: tuple[Team, list[Store[StoredTask]], WarningList],
) -> None:
    team, (one, two), _ = hurried
    task = TaskService(one, Random(1)).create_task(CreateTaskArguments(title="Paint")).id
    late = claim(one, task, "ann")
    team.now += timedelta(seconds=61)
    other = claim(two, task, "bob")
    team.now += timedelta(seconds=61)
    present = claim(two, task, "ann")
    for token, error in (
        (late.token, ClaimLost),
        (other.token, ClaimLost),
        (present.token, None),
        ("ann", NotClaimed),
    ):
        with (
            made_by("client 1", "release_task", token, is_remote=True),
            pytest.raises(error) if error else nullcontext(),
        ):
            StoreClaiming(one, TasksView(one)).release(task)


@pytest.mark.requirement("AG-14")
def test_a_claim_with_a_deadline_outlives_the_server_through_which_it_was_made(
    hurried: tuple[Team, list[Store[StoredTask]], WarningList],
) -> None:
    team, (one, two), _ = hurried
    task = TaskService(one, Random(1)).create_task(CreateTaskArguments(title="Paint")).id
    held = claim(one, task, "ann")
    one.close()
    with pytest.raises(TaskClaimed):
        claim(two, task, "bob")
    change(two, task, held.token)
    team.now += timedelta(seconds=61)
    assert claim(two, task, "bob").since > held.since


@pytest.mark.requirement("AG-15")
def test_a_process_reports_what_a_person_did_through_itself_and_no_end_that_its_agent_called_off() -> None:
    now, warnings, database = NOON, WarningList(), MemoryDatabase()
    register = ClaimRegister(warnings, seconds=60, is_shared=True)
    store = Store(database, CODEC.kind, clock=lambda: now, claims=register)
    task = TaskService(store, Random(1)).create_task(CreateTaskArguments(title="Paint")).id
    claim(store, task, "ann", is_remote=False)
    change(store, task, "", by=BOARD, is_remote=False)
    assert warnings.take() == [
        f"{BOARD} changed '{task}' by 'ann' (update_task), which is claimed here: read it before you go on."
    ]
    now += timedelta(seconds=61)
    change(store, task, "ann", is_remote=False)
    assert warnings.take() == []
    now += timedelta(seconds=61)
    store.find_claims()
    assert warnings.take() == [f"The claim of '{task}' by 'ann' has ended: its time is over."]


@pytest.mark.requirement("AG-14")
def test_reading_extends_the_claims_of_the_agent_that_reads_and_writes_at_most_each_tenth_of_their_time(
    hurried: tuple[Team, list[Store[StoredTask]], WarningList],
) -> None:
    team, (one, two), _ = hurried
    task = TaskService(one, Random(1)).create_task(CreateTaskArguments(title="Paint")).id
    until = claim(one, task, "ann").until

    def read(tool: str = "list_tasks", agent: str = "ann", by: str = "client 1") -> float:
        """Return the seconds that the claim has gained."""
        with made_by(by, tool, agent, is_remote=True), two.read():
            pass
        (held,) = one.find_claims()
        return (held.until - until) / 1_000_000

    team.now += timedelta(seconds=6)
    assert read() == 0
    team.now += timedelta(seconds=1)
    assert [read(agent="bob"), read(agent=""), read(LISTENING, "", "client 2"), read()] == [0, 0, 0, 7]
    team.now += timedelta(seconds=7)
    assert read(LISTENING, "") == 14
    team.now += timedelta(seconds=61)
    assert read(LISTENING, "") == 14  # what has ended does not begin again, as its agent may have ended too
    assert read() == 75
    with made_by("client 1", "get_task", "ann", is_remote=True):
        assert not one.can_answer_now()


class LosingDatabase(MemoryDatabase):
    """A database that can lose its server at the end of a transaction."""

    is_lost = False

    @override
    def commit(self, records: Collection[StoredTask], changed: set[str]) -> None:
        if self.is_lost:
            raise StoreWriteFailed("tasks", "the connection was lost")
        super().commit(records, changed)


@pytest.mark.requirement("AG-14", "D4")
def test_a_claim_that_was_not_saved_is_not_reported_as_ended() -> None:
    warnings, database = WarningList(), LosingDatabase()
    store = Store(database, CODEC.kind, claims=ClaimRegister(warnings, is_shared=True))
    task = TaskService(store, Random(1)).create_task(CreateTaskArguments(title="Paint")).id
    database.is_lost = True
    with pytest.raises(StoreWriteFailed):
        claim(store, task, "ann", is_remote=False)
    database.is_lost = False
    change(store, task, "bob", is_remote=False)
    assert warnings.take() == []


@pytest.mark.requirement("AG-12", "D4")
def test_a_claim_stays_if_the_change_that_ends_it_is_refused_after_all(
    hurried: tuple[Team, list[Store[StoredTask]], WarningList],
) -> None:
    _, (one, two), warnings = hurried
    task = TaskService(one, Random(1)).create_task(CreateTaskArguments(title="Paint")).id
    held = claim(one, task, "", is_remote=False)

    def refuse(_before: object, _after: object) -> None:
        raise StoreWriteFailed("tasks", "it would be too large")

    one.check_growth = refuse
    with made_by("client 1", "delete", ""), pytest.raises(StoreWriteFailed), one.transaction() as work:
        work.remove(task)
    assert two.find_claims() == one.find_claims()
    assert [it.token for it in two.find_claims()] == [held.token]
    with pytest.raises(TaskClaimed):
        claim(two, task, "bob")
    assert warnings.take() == []
