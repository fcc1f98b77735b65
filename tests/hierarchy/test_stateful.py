"""All seven tools in any order against a plain model; after every call the rules hold (HI-8)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import TypeVar

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from mcp.client import Client
from pydantic import JsonValue
from typing_extensions import override

from hierarchy_mcp.server import build_server
from hierarchy_mcp.settings import HierarchySettings
from tests.hierarchy.conftest import Object, dig, ids, objects, rows, tree, walk
from tests.hierarchy.plain_model import PlainModel, PlainTask, Refused
from tests.postgres import list_settings, needs_postgres, share_pool

OutcomeT = TypeVar("OutcomeT")

NAMES = st.sampled_from([f"t{number}" for number in range(9)])
"""Few enough for calls to meet, and for ids to be taken."""


def planted(below: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    return st.tuples(NAMES, st.lists(below, max_size=3)).map(lambda drawn: tree(drawn[0], *drawn[1]))


TREES = st.recursive(NAMES.map(tree), planted)


class Machine(RuleBasedStateMachine):
    """Calls the tools of a server, in memory or on a store that a second server reads after every call."""

    engine = "memory"
    root_order = "free"

    def __init__(self) -> None:
        super().__init__()
        self.model = PlainModel(strict=self.root_order == "strict")
        self.closing = ExitStack()
        folder = self.closing.enter_context(tempfile.TemporaryDirectory())
        is_shared = self.engine != "memory"
        store = {"task_store": f"{self.engine}:{Path(folder).resolve() / 'tasks'}" if is_shared else "memory:"}
        if self.engine == "postgresql":
            store = list_settings(Path(folder))
        self.portal = self.closing.enter_context(start_blocking_portal())
        self.client, self.reader = self.connect(store), self.connect(store) if is_shared else None

    def connect(self, store: dict[str, str]) -> Client:
        options = {**store, "root_order": self.root_order, "task_fsync": False}
        server = build_server(share_pool(HierarchySettings.model_validate(options)))
        return self.closing.enter_context(self.portal.wrap_async_context_manager(Client(server.sdk)))

    @override
    def teardown(self) -> None:
        self.closing.close()

    def call(self, tool: str, arguments: Object, *, of: Client | None = None) -> Object:
        result = self.portal.call(partial((of or self.client).call_tool, tool, arguments))
        content = result.structured_content
        assert isinstance(content, dict)
        assert result.is_error is ("error" in content)
        return content

    def refused(self, tool: str, arguments: Object, code: str) -> None:
        before = self.call("listTasks", {})
        assert dig(self.call(tool, arguments), "error", "code") == code
        assert self.call("listTasks", {}) == before

    def expect(self, outcome: Callable[[], OutcomeT], tool: str, arguments: Object) -> tuple[OutcomeT, Object] | None:
        """Return what the model says and what the tool answers, or None where both refuse."""
        try:
            expected = outcome()
        except Refused as refusal:
            self.refused(tool, arguments, str(refusal))
            return None
        return expected, self.call(tool, arguments)

    def statuses(self) -> dict[str, str]:
        return {task.id: task.status for task in self.model.all}

    def expect_table(self, table: JsonValue, before: dict[str, str]) -> None:
        marks = {task.id: "-" if before[task.id] == task.status else "✓" for task in self.model.all}
        assert rows(table) == [self.model.row(task, marks[task.id]) for task in self.model.all]

    def expect_counts(self, summary: JsonValue, statuses: list[str]) -> None:
        assert isinstance(summary, dict)
        words = {"done": "completed_tasks", "in_progress": "in_progress_tasks", "todo": "todo_tasks"}
        assert {word: summary[name] for word, name in words.items()} == {word: statuses.count(word) for word in words}
        assert summary["total_tasks"] == len(statuses)
        open_below = {task.id: len([each for each in task.tasks if each.status != "done"]) for task in self.model.all}
        parents = [task.id for task in self.model.all if task.tasks]
        shown = [(entry["id"], entry["remaining_subtasks"]) for entry in objects(summary, "parents")]
        assert shown == [(name, open_below[name]) for name in parents]

    @rule(new=TREES, parent=st.none() | NAMES, index=st.none() | st.integers(0, 3))
    def create(self, new: Object, parent: str | None, index: int | None) -> None:
        arguments = {**new, "parentId": parent, "insertIndex": index}
        is_told = parent is None or any(
            not task.tasks and task.mark != "todo" for task in self.model.all if task.id == parent
        )
        if outcome := self.expect(lambda: self.model.create(new, parent, index), "createTask", arguments):
            created, answer = outcome
            assert shape([answer["task"]]) == plain_shape([created])
            assert {task.status for task in created.all} == {"todo"}
            assert ("message" in answer) is is_told

    @rule(task_id=NAMES, parent=st.none() | NAMES, index=st.none() | st.integers(0, 3))
    def move(self, task_id: str, parent: str | None, index: int | None) -> None:
        arguments: Object = {"id": task_id, "parentId": parent, "insertIndex": index}
        if outcome := self.expect(lambda: self.model.move(task_id, parent, index), "updateTask", arguments):
            moved, answer = outcome
            assert shape([answer["task"]]) == plain_shape([moved])

    @rule(task_id=NAMES)
    def get(self, task_id: str) -> None:
        if outcome := self.expect(lambda: self.model.find(task_id), "getTask", {"id": task_id}):
            expected, answer = outcome
            assert shape([answer["task"]]) == plain_shape([expected])

    @rule(parent=st.none() | NAMES)
    def list_tasks(self, parent: str | None) -> None:
        if outcome := self.expect(lambda: self.model.below(parent), "listTasks", {"parentId": parent, "depth": 0}):
            expected, answer = outcome
            found = [(task["id"], task["subtask_count"]) for task in objects(answer, "tasks")]
            assert found == [(task.id, len(task.tasks)) for task in expected]

    @rule(task_id=NAMES)
    def reopen(self, task_id: str) -> None:
        arguments: Object = {"id": task_id, "status": "todo"}
        if outcome := self.expect(lambda: self.model.reopen(task_id), "updateTask", arguments):
            assert dig(outcome[1], "task", "status") == "todo"

    @rule(task_id=NAMES, status=st.sampled_from(["in_progress", "done"]))
    def go_around(self, task_id: str, status: str) -> None:
        code = "InvalidTransition" if task_id in self.statuses() else "TaskNotFound"
        self.refused("updateTask", {"id": task_id, "status": status, "resolution": "no"}, code)

    @rule(task_id=NAMES)
    def delete(self, task_id: str) -> None:
        if outcome := self.expect(lambda: self.model.delete(task_id), "deleteTask", {"id": task_id}):
            deleted, answer = outcome
            assert answer == {"id": task_id, "deleted": deleted}

    @rule(task_id=NAMES)
    def start(self, task_id: str) -> None:
        before = self.statuses()
        if outcome := self.expect(lambda: self.model.start(task_id), "startTask", {"id": task_id, "table": True}):
            leaf, answer = outcome
            assert dig(answer, "active_task", "id") == leaf.id
            started = [task.id for task in self.model.all if task.status == "in_progress" != before[task.id]]
            assert ids(answer, "started_tasks") == started
            self.expect_table(answer["hierarchy_summary"], before)

    @rule(task_id=NAMES)
    def complete(self, task_id: str) -> None:
        before = self.statuses()
        arguments: Object = {"id": task_id, "resolution": f"{task_id} is done", "table": True}
        if outcome := self.expect(
            lambda: self.model.complete(task_id, f"{task_id} is done"), "completeTask", arguments
        ):
            following, answer = outcome
            after = self.statuses()
            assert answer.get("next_task_id") == following
            assert ("All tasks are done" in str(answer["message"])) is (set(after.values()) == {"done"})
            completed = [name for name, status in after.items() if status == "done" != before[name]]
            assert [task_id, *ids(answer, "auto_completed_parents")] == completed[::-1]
            self.expect_table(dig(answer, "progress_summary", "table"), before)
            self.expect_counts(dig(answer, "progress_summary"), [*after.values()])

    @rule(data=st.data())
    def follow(self, data: st.DataObject) -> None:
        """Start or complete what can be, so that runs get far."""
        waiting = [leaf.id for root in self.model.roots for leaf in root.leaves if leaf.mark != "done"]
        if waiting:
            step = data.draw(st.sampled_from([self.start, self.complete]))
            step(data.draw(st.sampled_from(waiting[:2])))

    @invariant()
    def the_rules_hold(self) -> None:
        answer = self.call("listTasks", {})
        roots = objects(answer, "tasks")
        assert shape([*roots]) == plain_shape(self.model.roots)
        assert len([task for task in walk(roots) if task["status"] == "in_progress" and not task["tasks"]]) <= 1
        for task in walk(roots):
            if task["status"] == "done":
                assert {below["status"] for below in walk(objects(task, "tasks"))} <= {"done"}
        if self.reader:
            assert self.call("listTasks", {}, of=self.reader) == answer


def shape(tasks: list[JsonValue]) -> list[object]:
    return [
        (task["id"], task["status"], task["resolution"], shape([*objects(task, "tasks")])) for task in objects(tasks)
    ]


def plain_shape(tasks: list[PlainTask]) -> list[object]:
    return [(task.id, task.status, task.resolution, plain_shape(task.tasks)) for task in tasks]


@pytest.mark.requirement("HI-8", "EN-5", "ERR-2", "R3.15", "R3.17", "R6.9", "ST-2")
@pytest.mark.parametrize(
    ("engine", "root_order", "examples"),
    [
        ("memory", "free", 3),
        ("sqlite", "strict", 2),
        *(
            pytest.param(engine, root_order, 20, marks=pytest.mark.by_hand)
            for engine, root_order in product(["memory", "json", "sqlite"], ["free", "strict"])
        ),
        pytest.param("postgresql", "strict", 6, marks=[needs_postgres, pytest.mark.by_hand]),
    ],
)
def test_the_rules_hold_after_every_call(engine: str, root_order: str, examples: int) -> None:
    case = type("Case", (Machine,), {"engine": engine, "root_order": root_order})
    quick = settings(max_examples=examples, stateful_step_count=40, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(case, settings=quick)
