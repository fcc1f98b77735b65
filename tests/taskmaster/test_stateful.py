"""All writing tools in any order: after every call the project keeps what it must keep (TM-9 to TM-57)."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from mcp_types import CallToolResult
from typing_extensions import override

from taskmaster_mcp.core.graph import build_graph, find_path
from taskmaster_mcp.core.items import PRIORITIES, TagTasks
from taskmaster_mcp.core.stored_words import STATUSES
from tests.taskmaster.conftest import Object, ServedProject, item, named, tag
from tests.taskmaster.json_parts import list_members, list_parts

IDS = st.sampled_from(["1", "2", "3", "4", "5", "1.1", "1.2", "2.1", "3.1", "9", "12", "2.7"])
TAGS = st.sampled_from(["master", "beta", "gone"])

ODD_TEXTS = {
    "1.5\n": "1.50\n",
    '"Description 3"': '"Description \\u0033"',
    '"status": "completed",\n': '"status" :\t"completed" ,\n\n',
    '"priority": "huge"': '"priority":"huge"',
}
"""What the project has in place of what any program would write, by that."""

START: Object = {
    "$schema": "kept",
    "master": tag(
        item(1, odd={"x": [1, 1.5]}, subtasks=[item(1), item(2, 1, "4")]),
        item("2", "1", subtasks=[item("2.1")], metadata={"a": 1}),
        item(3, 1, status="completed"),
        item(4, "1.1", 999, priority="huge"),
        own="kept",
    ),
    "beta": tag(item(1), item(5, 1), item(77)),
}


def lists_in(document: Object) -> dict[str, TagTasks]:
    return {name: TagTasks(name, value) for name, value in document.items() if isinstance(value, dict)}


for name, found in lists_in(START).items():
    for place in found.items:
        place.fields["title"] = f"{name} {place.id}"  # no two items share one


def dangling_in(lists: Mapping[str, TagTasks]) -> Counter[tuple[str, str]]:
    """Return what depends on nothing, by its title and the id of what is missing."""
    found = Counter[tuple[str, str]]()
    for tasks in lists.values():
        known = tasks.index()
        found.update((it.title, target) for it in tasks.items for target in it.targets if target not in known)
    return found


def cycles(tasks: TagTasks) -> set[tuple[str, str]]:
    graph = build_graph(tasks)
    return {(name, target) for name, found in graph.items() for target in found if find_path(graph, target, name)}


def extras(document: Object) -> Counter[str]:
    """Return the fields that no tool knows, of every item that is left."""
    lists = lists_in(document).values()
    return Counter(
        json.dumps([it.title, it.fields["odd"]]) for found in lists for it in found.items if "odd" in it.fields
    )


def tasks_in(tag_text: str) -> dict[str, str]:
    """Return the tasks of a tag as they are written, by what they mean."""
    written = list_parts(list_members(tag_text)["tasks"])
    return {json.dumps(json.loads(text)): text for _, text in written}


def check_bytes(before: str, after: str, tags: set[str]) -> None:
    """Check that nothing but ``tags`` was written anew, and in these only the tasks that have changed."""
    old, new = list_members(before), list_members(after)
    for name in old.keys() - tags:
        assert new.get(name) == old[name]
    for name in old.keys() & new.keys() & tags:
        tasks = tasks_in(new[name])
        kept = {value: text for value, text in tasks_in(old[name]).items() if value in tasks}
        assert kept.items() <= tasks.items()


def check_tasks(tool: str, before: Object, after: Object) -> None:
    """Check that no id is there twice, no dependency leads nowhere or in a cycle, and ids keep their types."""
    old, new = lists_in(before), lists_in(after)
    for name, tasks in new.items():
        known = Counter(it.id for it in old[name].items) if name in old else Counter[str]()
        assert all(count == 1 or count <= known[it] for it, count in Counter(it.id for it in tasks.items).items())
        assert cycles(tasks) == set()
    kinds = {it.title: type(it.fields["id"]) for tasks in old.values() for it in tasks.tasks}
    kept = [it for tasks in new.values() for it in tasks.tasks if it.title in kinds]
    assert [type(it.fields["id"]) for it in kept] == [kinds[it.title] for it in kept]
    if tool != "copy_tag":
        assert not dangling_in(new) - dangling_in(old)
    if tool not in {"remove_task", "remove_subtask", "clear_subtasks", "expand_task", "delete_tag", "copy_tag"}:
        assert extras(after) == extras(before)


class Machine(RuleBasedStateMachine):
    """Calls the tools of a server on a project with hazards in it."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.served = ServedProject(Path(self.folder.name))
        text = json.dumps(START, indent=2)
        for usual, odd in ODD_TEXTS.items():
            assert usual in text
            text = text.replace(usual, odd)
        self.served.write(text)
        self.titles = 0
        self.loop = asyncio.Runner()

    @override
    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.loop.close()
            self.folder.cleanup()

    def call(self, tool: str, tags: set[str], **arguments: object) -> None:
        before, text = self.served.document, self.served.path.read_bytes()
        given = {name: value for name, value in named(arguments).items() if value is not None}
        result = self.loop.run(self.answer(tool, given))
        after = self.served.document
        assert "UNEXPECTED" not in str(result.structured_content)
        if result.is_error:
            assert self.served.path.read_bytes() == text
        else:
            check_bytes(text.decode(), self.served.path.read_text("utf-8"), tags)
            assert after["master"]["metadata"]["own"] == "kept"
            check_tasks(tool, before, after)

    async def answer(self, tool: str, arguments: Object) -> CallToolResult:
        return await self.served.client.result(tool, arguments)

    @rule(dependencies=st.lists(IDS, max_size=2), where=TAGS)
    def add_task(self, dependencies: list[str], where: str) -> None:
        self.titles += 1
        self.call("add_task", {where}, title=f"new {self.titles}", dependencies=dependencies, tag=where)

    @rule(parent=IDS, task=st.none() | IDS, dependencies=st.lists(IDS, max_size=2))
    def add_subtask(self, parent: str, task: str | None, dependencies: list[str]) -> None:
        self.titles += 1
        title = f"new {self.titles}"
        self.call("add_subtask", {"master"}, id=parent, taskId=task, title=title, dependencies=dependencies)

    @rule(ids=st.lists(IDS, min_size=1, max_size=2), status=st.sampled_from(STATUSES), where=TAGS)
    def set_status(self, ids: list[str], status: str, where: str) -> None:
        self.call("set_task_status", {where}, id=",".join(ids), status=status, tag=where)

    @rule(name=IDS, priority=st.sampled_from(PRIORITIES), append=st.booleans())
    def update(self, name: str, priority: str, append: bool) -> None:
        self.call("update_task", {"master"}, id=name, priority=priority, details="d", append=append)

    @rule(source=IDS, other=IDS)
    def move(self, source: str, other: str) -> None:
        self.call("move_task", {"master"}, from_=source, to=other)

    @rule(ids=IDS, there=TAGS, take=st.booleans(), drop=st.booleans())
    def move_to_tag(self, ids: str, there: str, take: bool, drop: bool) -> None:
        options = {"withDependencies": take, "ignoreDependencies": drop}
        self.call("move_task", {"master", there}, from_=ids, fromTag="master", toTag=there, **options)

    @rule(ids=st.lists(IDS, min_size=1, max_size=2))
    def remove(self, ids: list[str]) -> None:
        self.call("remove_task", {"master"}, id=",".join(ids))

    @rule(name=IDS, convert=st.booleans())
    def remove_subtask(self, name: str, convert: bool) -> None:
        self.call("remove_subtask", {"master"}, id=name, convert=convert)

    @rule(name=IDS)
    def clear(self, name: str) -> None:
        self.call("clear_subtasks", {"master"}, id=name)

    @rule(source=IDS, other=IDS)
    def depend(self, source: str, other: str) -> None:
        self.call("add_dependency", {"master"}, id=source, dependsOn=other)

    @rule(source=IDS, other=IDS)
    def undepend(self, source: str, other: str) -> None:
        self.call("remove_dependency", {"master"}, id=source, dependsOn=other)

    @rule()
    def fix(self) -> None:
        self.call("fix_dependencies", {"master"})

    @rule(name=IDS, force=st.booleans(), dependencies=st.lists(IDS | st.integers(1, 3), max_size=2))
    def expand(self, name: str, force: bool, dependencies: list[str | int]) -> None:
        self.titles += 1
        plan = [{"title": f"new {self.titles}"}, {"title": f"next {self.titles}", "dependencies": dependencies}]
        self.call("expand_task", {"master"}, id=name, force=force, subtasks=plan)

    @rule(name=TAGS, new=st.sampled_from(["gone", "other"]))
    def copy_and_rename(self, name: str, new: str) -> None:
        self.call("copy_tag", {new}, sourceName=name, targetName=new)
        self.call("rename_tag", {"gone", "other"}, oldName="gone", newName="other")
        self.call("delete_tag", {"other"}, name="other")


@pytest.mark.requirement("TM-9", "TM-18", "TM-20", "TM-23", "TM-36", "TM-55", "TM-57")
def test_no_order_of_calls_breaks_a_project() -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=12, stateful_step_count=15, deadline=None, suppress_health_check=[*HealthCheck]),
    )
