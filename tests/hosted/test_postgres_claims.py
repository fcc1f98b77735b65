"""Claims of agents on several machines, which share a database: a deadline instead of a lock (AG-14)."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from task_core.claims.claim import ClaimLost, TaskClaimed
from task_core.history.changes import made_by
from task_core.store import open_store
from task_core.store.claiming import StoreClaiming
from task_core.warning_list import WarningList
from tasks_v1_mcp.arguments import CreateTaskArguments, UpdateTaskArguments
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.service import TaskService
from tasks_v1_mcp.settings import TasksSettings
from tasks_v1_mcp.view import TasksView
from tests.postgres import needs_postgres, store_url

pytestmark = [needs_postgres, pytest.mark.requirement("AG-14", "AG-11")]


class Member:
    """An agent on a machine of its own."""

    def __init__(self, tenant: Path, seconds: float) -> None:
        values = {"task_store": store_url(), "task_tenant": str(tenant), "task_claim_seconds": seconds}
        self.store = open_store(TasksSettings.model_validate(values), CODEC, WarningList())
        self.service = TaskService(self.store, Random(1))
        self.claiming = StoreClaiming(self.store, TasksView(self.store))

    def rename(self, task: str, agent: str = "") -> None:
        """Give a task another title, as an agent with this name."""
        with made_by("client 1", "update_task", agent):
            self.service.update_task(UpdateTaskArguments(id=task, title="New"))


def test_a_claim_is_kept_with_the_list_and_seen_on_every_machine(tmp_path: Path) -> None:
    one, two = Member(tmp_path, 600), Member(tmp_path, 600)
    task = one.service.create_task(CreateTaskArguments(title="Paint")).id
    found = one.claiming.claim("", "", is_forced=False)
    assert found.claim
    assert [claim.task for claim in two.store.find_claims()] == [task]
    assert two.claiming.claim("", "", is_forced=False).claim is None
    with pytest.raises(TaskClaimed):
        two.rename(task)
    one.rename(task)
    one.claiming.release(task)
    two.rename(task)
    assert Member(tmp_path / "another tenant", 600).store.find_claims() == []


def test_after_the_deadline_another_may_claim_and_the_token_of_the_first_is_refused(tmp_path: Path) -> None:
    one, two = Member(tmp_path, 0.000_001), Member(tmp_path, 600)
    task = one.service.create_task(CreateTaskArguments(title="Paint")).id
    first = one.claiming.claim(task, "", is_forced=False).claim
    second = two.claiming.claim("", "", is_forced=False).claim
    assert first
    assert second
    assert second.since > first.since
    for agent, error in ((first.token, ClaimLost), ("", TaskClaimed)):
        with pytest.raises(error):
            one.rename(task, agent)
