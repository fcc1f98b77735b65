"""The tree by itself: its one rule, and what stands where; no tool, no store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hierarchy_mcp.models import Status, Task, derived_status
from hierarchy_mcp.tree import (
    Forest,
    first_open_leaf,
    fold,
    height,
    reopened,
    status_changes,
    walk,
)
from task_core.errors import TaskNotFound

TODO, IN_PROGRESS, DONE = Status.TODO, Status.IN_PROGRESS, Status.DONE


def leaf(name: str, status: Status = TODO) -> Task:
    return Task.model_validate({"id": name, "name": name, "status": status.value})


def parent(name: str, *tasks: Task) -> Task:
    return leaf(name).with_tasks(tasks)


FOREST = Forest(
    (
        parent("a", parent("b", leaf("c", DONE), leaf("d")), leaf("e")),
        leaf("f"),
    )
)


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
def test_the_status_of_a_parent_follows_from_its_subtasks(below: list[Status], expected: Status) -> None:
    assert derived_status(below) is expected
    assert parent("p", *(leaf(f"{n}", status) for n, status in enumerate(below))).status is expected


@pytest.mark.requirement("HI-8")
@given(st.recursive(st.sampled_from(Status), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=20))
def test_a_parent_is_done_exactly_when_every_leaf_below_is(shape: object) -> None:
    def grown(shape: object, name: str) -> Task:
        if isinstance(shape, list):
            return parent(name, *(grown(part, f"{name}.{n}") for n, part in enumerate(shape)))
        return leaf(name, Status(shape))

    top = grown(shape, "t")
    for task, _ in walk([top]):
        leaves = [node.own_status for node, _ in walk([task]) if not node.tasks]
        assert task.is_done == all(status is DONE for status in leaves)
        assert (task.status is IN_PROGRESS) == (IN_PROGRESS in leaves)


def test_what_was_worked_out_does_not_pass_to_a_changed_task() -> None:
    before = parent("p", leaf("a"))
    assert (before.status, dict(before.parents), b'"todo"' in before.head_json) == (TODO, {"a": "p"}, True)
    after = before.with_tasks((leaf("a", DONE), leaf("b", DONE)))
    assert (after.status, dict(after.parents), b'"done"' in after.head_json) == (DONE, {"a": "p", "b": "p"}, True)


@pytest.mark.requirement("HI-4")
@pytest.mark.parametrize(("last", "then"), [(DONE, DONE), (TODO, TODO), (IN_PROGRESS, TODO)])
def test_a_parent_that_loses_its_last_subtask_is_a_leaf_again(last: Status, then: Status) -> None:
    assert parent("p", leaf("a", last)).with_tasks(()).status is then


def test_a_leaf_without_subtasks_stays_as_it_is_without_them() -> None:
    assert leaf("a", IN_PROGRESS).with_tasks(()).status is IN_PROGRESS


def test_a_path_leads_from_the_root_to_the_task() -> None:
    assert [task.id for task in FOREST.path("d")] == ["a", "b", "d"]
    assert [task.id for task in FOREST.path("f")] == ["f"]
    assert FOREST.subtasks(()) == FOREST.roots
    assert [task.id for task in FOREST.subtasks(FOREST.path("b"))] == ["c", "d"]


WOODS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 3)), unique_by=lambda root: root[0], max_size=4
)


@given(steps=st.lists(WOODS, max_size=6))
def test_what_stands_below_the_roots_is_known_whatever_stood_there_before(
    steps: list[list[tuple[str, int | None]]],
) -> None:
    forest = Forest(())
    for step in steps:
        standing = {root.id: root for root in forest.roots}
        roots = [
            standing[name]
            if below is None and name in standing
            else parent(name, *(leaf(f"{name}.{number}") for number in range(below or 0)))
            for name, below in step
        ]
        forest = forest.with_roots(roots)
        assert forest.owners == Forest(tuple(roots)).owners
        assert all(forest.owners[root.id] is root for root in roots)


@pytest.mark.requirement("ERR-4")
def test_an_id_that_no_task_has_is_answered_with_near_ones() -> None:
    with pytest.raises(TaskNotFound) as caught:
        Forest((leaf("compile"), parent("x", leaf("compiler")))).path("compil")
    assert caught.value.details == {"id": "compil", "near": ["compile", "compiler"]}


def test_a_change_makes_new_nodes_on_the_path_and_shares_the_rest() -> None:
    path = FOREST.path("d")
    after = FOREST.replaced(path, path[-1].changed(own_status=DONE))
    (a, f), (b, e) = after.roots, after.roots[0].tasks
    assert f is FOREST.roots[1]
    assert e is FOREST.roots[0].tasks[1]
    assert b.tasks[0] is FOREST.roots[0].tasks[0].tasks[0]
    assert (a.status, b.status, b.tasks[1].status) == (TODO, DONE, DONE)
    assert [task.status for task in FOREST.path("d")] == [TODO, TODO, TODO]


def test_changed_statuses_are_found_without_looking_at_what_is_shared() -> None:
    path = FOREST.path("d")
    assert status_changes(FOREST, FOREST.replaced(path, path[-1].changed(own_status=DONE))) == {"b", "d"}
    assert status_changes(FOREST, FOREST.replaced(path, path[-1].changed(name="other"))) == set()


def test_the_active_leaf_is_found_by_going_down() -> None:
    assert FOREST.active() is None
    path = FOREST.path("d")
    active = FOREST.replaced(path, path[-1].changed(own_status=IN_PROGRESS)).active()
    assert active is not None
    assert [task.id for task in active] == ["a", "b", "d"]
    assert Forest(()).active() is None


@pytest.mark.requirement("R3.5")
def test_the_first_open_leaf_is_found_depth_first() -> None:
    assert [task.id for task in first_open_leaf(FOREST.path("a"))] == ["a", "b", "d"]
    assert first_open_leaf(FOREST.path("e")) == FOREST.path("e")


@pytest.mark.requirement("R3.3", "R3.10", "HI-5")
@pytest.mark.parametrize(
    ("task_id", "free", "strict"),
    [("c", [], []), ("d", [], []), ("e", ["b"], ["b"]), ("f", [], ["a"])],
)
def test_what_is_in_the_way_are_the_open_tasks_before_it_on_each_level(
    task_id: str, free: list[str], strict: list[str]
) -> None:
    path = FOREST.path(task_id)
    assert [task.id for task in FOREST.blocking(path, strict_roots=False)] == free
    assert [task.id for task in FOREST.blocking(path, strict_roots=True)] == strict


@pytest.mark.requirement("R3.8", "HI-6")
def test_the_next_leaf_is_sought_in_the_same_root_then_after_it_then_from_the_first() -> None:
    forest = Forest((leaf("a"), parent("b", leaf("c", DONE)), leaf("d"), leaf("e", DONE)))

    def following(root_id: str, *, strict: bool = False) -> list[str] | None:
        path = forest.next_leaf(root_id, strict_roots=strict)
        return [task.id for task in path] if path else None

    assert [following(root_id) for root_id in "abde"] == [["a"], ["d"], ["d"], ["a"]]
    assert following("d", strict=True) == ["a"]
    assert Forest((leaf("e", DONE),)).next_leaf("e", strict_roots=False) is None


def test_a_reopened_tree_has_only_todo_leaves_and_keeps_what_its_parents_say() -> None:
    done = leaf("c", DONE).changed(resolution="made")
    top = parent("a", parent("b", done, leaf("d")).changed(resolution="ours"), leaf("e"))
    after = reopened(top)
    assert {task.id: (task.status, task.resolution) for task, _ in walk([after])} == {
        "a": (TODO, None),
        "b": (TODO, "ours"),
        "c": (TODO, None),
        "d": (TODO, None),
        "e": (TODO, None),
    }
    assert reopened(after) is after


def test_a_fold_meets_every_node_once_and_the_deepest_first() -> None:
    met: list[str] = []

    def size(task: Task, below: tuple[int, ...]) -> int:
        met.append(task.id)
        return 1 + sum(below)

    assert fold(FOREST.roots[0], lambda task: task.tasks, size) == 5
    assert met == ["d", "c", "e", "b", "a"]


def test_the_height_of_a_tree_counts_its_levels() -> None:
    assert (height(leaf("a")), height(FOREST.roots[0])) == (1, 3)
