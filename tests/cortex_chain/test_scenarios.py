"""The two scenarios of the design document, step by step and word for word (CX-123)."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from mcp_types import TextContent

import cortex_mcp
from tests.cortex_chain.deployment import CTX, SEED_SERVER, Deployment, Developer, ask
from tests.cortex_cli.stub_server import StubRequest

SEED_ENVIRONMENT = {"PYTHONPATH": str(Path(str(cortex_mcp.__file__)).parent.parent)}
"""What the document's configuration of a client sets."""


class Recorder:
    """A program in place of ``ctx``, which notes how it is called and becomes ``ctx``."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "recorded-ctx"
        self._notes = folder / "commands"
        note = f"printf '%s\\n' \"$*\" >> {shlex.quote(str(self._notes))}"
        self.path.write_text(f'#!/bin/sh\n{note}\nexec {shlex.quote(CTX)} "$@"\n', "utf-8")
        self.path.chmod(0o700)

    @property
    def commands(self) -> list[str]:
        """How it was called, but for the question what it is."""
        return [f"ctx {line}" for line in self._notes.read_text("utf-8").splitlines() if "version" not in line]


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


@pytest.mark.requirement("CX-123", "CX-3", "CX-70", "CX-71", "CX-86")
async def test_the_scenario_an_ai_starts_a_task(deployment: Deployment, ada: Developer, recorder: Recorder) -> None:
    branches: list[tuple[str, str]] = []

    def note(asked: StubRequest) -> None:
        if asked.path == "/tasks/42":
            branches.append((asked.method, ada.git("branch", "--list", "feature/*")))

    deployment.relay.before = note
    async with ada.client(SEED_SERVER, CORTEX_CTX=str(recorder.path), **SEED_ENVIRONMENT) as client:
        answer = await ask(client, "start_task", task_id=42)  # step 1, and 6
    assert recorder.commands == ["ctx tasks start 42 --json"]  # step 2
    (patch,) = (asked for asked in deployment.relay.asked if asked.method == "PATCH")
    assert (patch.path, json.loads(patch.body)["status"]) == ("/tasks/42", "IN_PROGRESS")  # step 3
    assert branches[-1] == ("PATCH", ""), "the backend comes first, and git after it"
    assert ada.branch == "feature/task-42-xxx"  # step 4
    assert ada.git("reflog", "-1", "--format=%gs") == "checkout: moving from main to feature/task-42-xxx"
    shown = {"success": True, "task_id": 42, "branch": "feature/task-42-xxx", "created": True, "status": "IN_PROGRESS"}
    assert answer.items() >= shown.items()  # step 5
    assert answer["task"].items() >= {"id": 42, "branch_name": "feature/task-42-xxx"}.items()


@pytest.mark.requirement("CX-123", "CX-3", "CX-52", "CX-86", "CX-88", "CX-98")
async def test_the_scenario_an_ai_lists_tasks(deployment: Deployment, ada: Developer, recorder: Recorder) -> None:
    deployment.new_task("Write it down", assignee_id=1)
    deployment.relay.asked.clear()
    async with ada.client(SEED_SERVER, CORTEX_CTX=str(recorder.path), **SEED_ENVIRONMENT) as client:
        result = await client.call_tool("list_tasks", {})  # step 1
    assert recorder.commands == ["ctx tasks list --json"]  # step 2
    assert deployment.relay.paths() == ["GET /tasks/"]  # step 3
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == ada.ctx("tasks", "list")  # steps 4 and 5
    assert json.loads(content.text)["message"] == "1 task"
