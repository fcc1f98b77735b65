"""The table and the counts (HI-7), on trees in a store; and what of them fits where there are many tasks."""

from __future__ import annotations

import pytest

from hierarchy_mcp.results import ProgressSummary
from hierarchy_mcp.summary import summarize_progress, table
from hierarchy_mcp.tree import find_path
from tests.hierarchy.conftest import Object, ids, planted, rows, tree

RELEASE = tree(
    "Release",
    tree(
        "Build",
        tree("Compile", status="done"),
        tree("Link", status="in_progress"),
        tree("Strip"),
    ),
    tree("Ship"),
)

REST = tree("Rest", status="done")


def table_of(*trees: Object, leaf: str, named: str, changed: tuple[str, ...] = ()) -> str:
    with planted(*trees).read() as tasks:
        return table(tasks, find_path(tasks, leaf), tasks.get(named), changed)


def summary_of(*trees: Object, completed: str, following: str = "") -> ProgressSummary:
    with planted(*trees).read() as tasks:
        ahead = find_path(tasks, following) if following else []
        return summarize_progress(tasks, find_path(tasks, completed), ahead, ())


@pytest.mark.requirement("R3.6", "R3.11", "R3.14", "HI-7")
def test_the_table_has_every_task_in_the_order_of_the_tree() -> None:
    found = table_of(RELEASE, REST, leaf="Link", named="Build", changed=("Link", "Build", "Release"))
    assert found.splitlines() == [
        "| Task Name | Parent Task | Status | Status Changed | Subtasks | Progress |",
        "| --- | --- | --- | --- | --- | --- |",
        "| Release | - | in_progress | ✓ | 0/2 | 0% |",
        "| Build | Release | in_progress | ✓ | 1/3 | 33% |",
        "| Compile | Build | done | - | - | 100% |",
        "| Link | Build | in_progress | ✓ | - | 0% |",
        "| Strip | Build | todo | - | - | 0% |",
        "| Ship | Release | todo | - | - | 0% |",
        "| Rest | - | done | - | - | 100% |",
    ]


@pytest.mark.requirement("HI-7", "S3")
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("a|b", r"a\|b"),
        ("a\\|b", r"a\\\|b"),
        ("a\nb\r\x1b", r"a\u{a}b\u{d}\u{1b}"),
        ("a\u202eb", r"a\u{202e}b"),
        ("![x](y)", r"\!\[x\](y)"),
        ("<b>*c*", r"\<b\>\*c\*"),
        ("http://x www.y", r"http\://x www\.y"),
        ("日本語 ✓", "日本語 ✓"),
        ("x" * 81, "x" * 79 + "…"),
    ],
    ids=["bar", "backslash", "control", "bidi", "image", "html", "link", "plain", "long"],
)
def test_no_name_breaks_the_table(name: str, cell: str) -> None:
    found = table_of(tree("a", tree("x"), name=name), leaf="x", named="a")
    assert found.splitlines()[2:] == [
        f"| {cell} | - | todo | - | 0/1 | 0% |",
        f"| x | {cell} | todo | - | - | 0% |",
    ]


def long_tree(name: str, count: int, done: int = 0, *more: Object) -> Object:
    below = [tree(f"{name}{number}", status="done" if number < done else "todo") for number in range(count)]
    return tree(name, *below, *more)


@pytest.mark.requirement("HI-7")
def test_up_to_sixty_tasks_are_all_shown() -> None:
    found = table_of(long_tree("a", 59), leaf="a0", named="a")
    assert len(rows(found)) == 60
    more = table_of(long_tree("a", 60), leaf="a0", named="a")
    assert more.splitlines()[-2:] == ["", "Tasks not shown: 1; listTasks shows them."]


@pytest.mark.requirement("HI-7", "TOOL-9")
def test_names_that_would_make_the_table_too_large_are_cut_further() -> None:
    long = tree("a", *(tree(f"{number}" + "\N{MATHEMATICAL DOUBLE-STRUCK CAPITAL A}" * 70) for number in range(59)))
    shown = rows(table_of(long, leaf="a", named="a"))
    assert len(shown) == 60
    assert all(row[0].endswith("…") for row in shown[1:])


@pytest.mark.requirement("HI-7")
def test_beyond_sixty_tasks_the_nearest_to_the_leaf_are_shown_in_tree_order() -> None:
    inner = long_tree("b", 100, 50)
    trees = [
        tree("r0"),
        long_tree("a", 30, 0, inner, tree("far", tree("deep"))),
        *(tree(f"r{n}") for n in range(1, 40)),
    ]
    found = table_of(*trees, leaf="b50", named="deep", changed=("b50", "b", "far"))
    *shown, _, left = found.splitlines()
    cells = [line.strip("| ").split(" | ") for line in shown[2:]]
    names = [row[0] for row in cells]
    beside = [f"b{number}" for number in (*range(40, 50), 50, *range(51, 61))]
    assert len(names) == 60
    assert [name for name in names if name[0] == "b" and len(name) > 1] == [*(f"b{n}" for n in range(35)), *beside]
    assert {"a", "b", "b50", "deep", "far"} <= {*names}
    with planted(*trees).read() as tasks:
        order = [task["id"] for task in flat(trees)]
        assert len(tasks) == len(order)
    assert names == sorted(names, key=order.index)
    assert left == f"Tasks not shown: {len(order) - 60}; listTasks shows them."
    (row,) = [row for row in cells if row[0] == "b"]
    assert row == ["b", "a", "todo", "✓", "50/100", "50%"]


def flat(trees: list[Object]) -> list[Object]:
    found: list[Object] = []
    for task in trees:
        below = task.get("tasks", [])
        assert isinstance(below, list)
        found += [task, *flat([child for child in below if isinstance(child, dict)])]
    return found


@pytest.mark.requirement("HI-7")
def test_what_is_near_leaves_room_for_the_subtasks_of_ancestors_and_then_for_other_roots() -> None:
    trees = [long_tree("a", 5, 0, tree("b", tree("c"))), *(tree(f"r{number}") for number in range(70))]
    found = table_of(*trees, leaf="c", named="c")
    names = [row[0] for row in rows("\n".join(found.splitlines()[:-2]))]
    assert names == ["a", *(f"a{number}" for number in range(5)), "b", "c", *(f"r{number}" for number in range(52))]


@pytest.mark.requirement("HI-7")
def test_a_root_represents_its_subtasks_if_the_leaf_is_elsewhere() -> None:
    found = table_of(tree("a"), long_tree("b", 99, 33), leaf="a", named="a")
    assert found.splitlines()[2:] == [
        "| a | - | todo | - | - | 0% |",
        "| b | - | todo | - | 33/99 | 33% |",
        "",
        "Tasks not shown: 99; listTasks shows them.",
    ]


@pytest.mark.requirement("R3.13", "HI-6")
def test_counts_are_of_all_tasks_parents_too() -> None:
    found = summary_of(RELEASE, REST, completed="Compile", following="Link")
    assert (found.total_tasks, found.completed_tasks, found.in_progress_tasks, found.todo_tasks) == (7, 2, 3, 2)
    assert found.completion_percentage == 28


@pytest.mark.requirement("R3.12", "HI-6")
def test_the_progress_of_a_parent_is_that_of_its_direct_subtasks() -> None:
    found = summary_of(RELEASE, REST, completed="Compile")
    assert [(entry.id, entry.completed_subtasks, entry.remaining_subtasks) for entry in found.parents] == [
        ("Release", 0, 2),
        ("Build", 1, 2),
    ]


@pytest.mark.requirement("R3.12", "HI-6")
def test_twenty_parents_are_all_listed_and_beyond_that_those_of_the_two_leaves_first() -> None:
    twenty = [tree(f"p{number:02}", tree(f"c{number:02}")) for number in reversed(range(20))]
    found = summary_of(*twenty, completed="c03")
    assert ids(found.model_dump(), "parents") == [task["id"] for task in twenty]
    more = [*twenty, tree("x", tree("y", tree("z")))]
    found = summary_of(*more, completed="z", following="c07")
    others = [f"p{number:02}" for number in range(20) if number != 7]
    assert ids(found.model_dump(), "parents") == ["y", "x", "p07", *others[:17]]


@pytest.mark.parametrize(("done", "total", "expected"), [(0, 1, 0), (2, 3, 66), (199, 200, 99), (3, 3, 100)])
def test_percentages_are_rounded_down(done: int, total: int, expected: int) -> None:
    (entry,) = summary_of(long_tree("a", total, done), completed="a0").parents
    assert entry.completion_percentage == expected
