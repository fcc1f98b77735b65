"""The table and the counts (HI-7), on values."""

from __future__ import annotations

import pytest

from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.summary import Counts, counts, parent_progress, per_cent, table


def task(name: str, *tasks: Task, status: Status = Status.TODO) -> Task:
    task_id = name if name.isprintable() else "hostile"
    return Task.model_validate({"id": task_id, "name": name, "status": status.value}).with_tasks(tasks)


ROOTS = (
    task(
        "Release",
        task("Build", task("Compile", status=Status.DONE), task("Link", status=Status.IN_PROGRESS), task("Strip")),
        task("Ship"),
    ),
    task("Rest", status=Status.DONE),
)


@pytest.mark.requirement("R3.6", "R3.11", "R3.14", "HI-7")
def test_the_table_has_every_task_in_the_order_of_the_tree() -> None:
    assert table(ROOTS, {"Release", "Build", "Link"}).splitlines() == [
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
        ("日本語 ✓", "日本語 ✓"),
    ],
    ids=["bar", "backslash", "control", "bidi", "plain"],
)
def test_no_name_breaks_the_table(name: str, cell: str) -> None:
    assert table([task(name, task("x"))], ()).splitlines()[2:] == [
        f"| {cell} | - | todo | - | 0/1 | 0% |",
        f"| x | {cell} | todo | - | - | 0% |",
    ]


@pytest.mark.requirement("R3.13", "HI-6")
def test_counts_are_of_all_tasks_parents_too() -> None:
    assert counts(ROOTS) == Counts(total=7, done=2, in_progress=3, todo=2)


@pytest.mark.requirement("R3.12", "HI-6")
def test_the_progress_of_a_parent_is_that_of_its_direct_subtasks() -> None:
    assert [(entry.task.id, entry.done, entry.total) for entry in parent_progress(ROOTS)] == [
        ("Release", 0, 2),
        ("Build", 1, 3),
    ]


@pytest.mark.parametrize(("done", "total", "expected"), [(0, 1, 0), (2, 3, 66), (199, 200, 99), (3, 3, 100)])
def test_percentages_are_rounded_down(done: int, total: int, expected: int) -> None:
    assert per_cent(done, total) == expected
