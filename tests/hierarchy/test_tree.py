"""The rules of a tree by themselves: what follows from its leaves, and what is where; no tool (HI-4 to HI-6)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from hierarchy_mcp.codec import CODEC
from hierarchy_mcp.models import HierarchyStatus, HierarchyTask, derive_status
from hierarchy_mcp.tree import active_leaves, find_blocking, find_path, first_open_leaf, next_leaf, settle
from task_core.document_file.source import Source
from task_core.errors import TaskNotFound
from task_core.store import Store
from tests.hierarchy.conftest import planted, tree

TODO, IN_PROGRESS, DONE = HierarchyStatus.TODO, HierarchyStatus.IN_PROGRESS, HierarchyStatus.DONE

FOREST = (tree("a", tree("b", tree("c", status="done"), tree("d")), tree("e")), tree("f"))


def statuses(store: Store[HierarchyTask]) -> dict[str, HierarchyStatus]:
    with store.read() as tasks:
        return {node.id: tasks.get(node.id).status for node in tasks.nodes()}


@pytest.mark.requirement("R3.4", "R3.16", "R3.17", "R3.18", "HI-8")
@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ([TODO], TODO),
        ([DONE], DONE),
        ([IN_PROGRESS], IN_PROGRESS),
        ([DONE, DONE, DONE], DONE),
        ([DONE, TODO], TODO),
        ([TODO, DONE], TODO),
        ([DONE, IN_PROGRESS, TODO], IN_PROGRESS),
        ([IN_PROGRESS, IN_PROGRESS], IN_PROGRESS),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_the_status_of_a_parent_follows_from_its_subtasks(
    below: list[HierarchyStatus], expected: HierarchyStatus
) -> None:
    assert derive_status(below) is expected


@pytest.mark.requirement("HI-8")
@given(st.recursive(st.sampled_from(["todo", "done"]), lambda below: st.lists(below, min_size=1, max_size=4)))
def test_a_parent_is_done_exactly_when_every_leaf_below_is(shape: object) -> None:
    below: dict[str, list[str]] = {}

    def grown(shape: object, *above: str) -> JsonValue:
        name = f"t{len(below)}"
        below[name] = []
        if isinstance(shape, list):
            return {"id": name, "name": name, "tasks": [grown(part, *above, name) for part in shape]}
        for task in (*above, name):
            below[task].append(str(shape))
        return {"id": name, "name": name, "status": str(shape)}

    (block,) = CODEC.decode(Source("tasks", json.dumps([grown(shape)]).encode())).records.values()
    assert {task.id: task.is_done for task, _ in block} == {
        name: {*leaves} == {"done"} for name, leaves in below.items()
    }


@pytest.mark.requirement("HI-4")
@pytest.mark.parametrize(("last", "then"), [(DONE, DONE), (TODO, TODO), (IN_PROGRESS, TODO)])
def test_a_parent_that_loses_its_last_subtask_is_a_leaf_again(last: HierarchyStatus, then: HierarchyStatus) -> None:
    store = planted(tree("p", tree("a", status=last.value)))
    assert statuses(store) == {"p": last, "a": last}
    with store.transaction() as work:
        above = work.ancestors("a")
        work.remove("a")
        settle(work, above)
    assert statuses(store) == {"p": then}


def test_a_path_leads_from_the_root_to_the_task() -> None:
    with planted(*FOREST).read() as tasks:
        assert [task.id for task in find_path(tasks, "d")] == ["a", "b", "d"]
        assert [task.id for task in find_path(tasks, "f")] == ["f"]


@pytest.mark.requirement("ERR-4")
def test_an_id_that_no_task_has_is_answered_with_near_ones() -> None:
    with planted(tree("compile"), tree("x", tree("compiler"))).read() as tasks, pytest.raises(TaskNotFound) as caught:
        find_path(tasks, "compil")
    assert caught.value.details == {"id": "compil", "near": ["compile", "compiler"]}


@pytest.mark.requirement("R3.16", "R3.18", "EN-4")
def test_what_follows_from_a_change_is_settled_up_to_where_nothing_changes() -> None:
    store = planted(*FOREST)
    with store.transaction() as work:
        work.replace(work.get("d").changed(status=DONE))
        assert [(task.id, task.status) for task in settle(work, work.ancestors("d"))] == [("b", DONE)]
    with store.transaction() as work:
        work.replace(work.get("e").changed(status=IN_PROGRESS))
        assert [(task.id, task.status) for task in settle(work, work.ancestors("e"))] == [("a", IN_PROGRESS)]
        assert settle(work, work.ancestors("d")) == []
    expected = {"a": IN_PROGRESS, "b": DONE, "c": DONE, "d": DONE, "e": IN_PROGRESS, "f": TODO}
    assert statuses(store) == expected


@pytest.mark.requirement("R3.17")
def test_the_active_leaf_is_the_task_in_progress_that_has_no_subtasks() -> None:
    with planted(*FOREST).read() as tasks:
        assert active_leaves(tasks) == []
    with planted(tree("a", tree("b", tree("c"), tree("d", status="in_progress"))), tree("e")).read() as tasks:
        assert [task.id for task in active_leaves(tasks)] == ["d"]
        assert tasks.get("a").status is IN_PROGRESS


@pytest.mark.requirement("R3.5")
def test_the_first_open_leaf_is_found_depth_first() -> None:
    with planted(*FOREST).read() as tasks:
        assert [first_open_leaf(tasks, tasks.get(name)).id for name in "abde"] == ["d", "d", "d", "e"]


@pytest.mark.requirement("R3.3", "R3.10", "HI-5")
@pytest.mark.parametrize(
    ("task_id", "free", "strict"),
    [("a", [], []), ("d", [], []), ("e", ["b"], ["b"]), ("f", [], ["a"])],
)
def test_what_is_in_the_way_are_the_open_tasks_before_it_on_each_level(
    task_id: str, free: list[str], strict: list[str]
) -> None:
    with planted(*FOREST).read() as tasks:
        path = find_path(tasks, task_id)
        for is_strict, expected in ((False, free), (True, strict)):
            found, count = find_blocking(tasks, path, strict_roots=is_strict)
            assert ([task.id for task in found], count) == (expected, len(expected))


@pytest.mark.requirement("R3.10", "HI-5")
def test_twenty_of_many_blocking_tasks_are_named_outermost_first_and_all_are_counted() -> None:
    inner = tree("b", *(tree(f"i{number}") for number in range(30)), tree("c"))
    with planted(tree("a", *(tree(f"o{number}") for number in range(15)), inner)).read() as tasks:
        found, count = find_blocking(tasks, find_path(tasks, "c"), strict_roots=False)
        expected = [*(f"o{number}" for number in range(15)), *(f"i{number}" for number in range(5))]
        assert ([task.id for task in found], count) == (expected, 45)
    with planted(tree("a", *(tree(f"o{number}") for number in range(25)), inner)).read() as tasks:
        found, count = find_blocking(tasks, find_path(tasks, "c"), strict_roots=False)
        assert ([task.id for task in found], count) == ([f"o{number}" for number in range(20)], 55)


@pytest.mark.requirement("R3.8", "HI-6")
def test_the_next_leaf_is_sought_in_the_same_root_then_after_it_then_from_the_first() -> None:
    roots = [tree("a"), tree("b", tree("c", status="done")), tree("d"), tree("e", status="done")]

    with planted(*roots).transaction() as tasks:

        def following(root_id: str, *, strict: bool = False) -> str | None:
            leaf = next_leaf(tasks, tasks.get(root_id), strict_roots=strict)
            return leaf.id if leaf else None

        assert [following(root_id) for root_id in "abde"] == ["a", "d", "d", "a"]
        assert following("d", strict=True) == "a"
    with planted(tree("e", status="done")).transaction() as tasks:
        assert next_leaf(tasks, tasks.get("e"), strict_roots=False) is None
