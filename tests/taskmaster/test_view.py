"""The tasks of a project as people see them: in the order of the file, and next what Task Master would choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from task_core.errors import InvalidArguments, TaskError, TaskNotFound
from task_core.view import View
from taskmaster_mcp.settings import TaskmasterSettings
from taskmaster_mcp.view import open_view
from tests.taskmaster.conftest import ServedProject, item, tag

pytestmark = pytest.mark.requirement("TM-85")


def view_of(root: Path, **settings: object) -> View:
    values = {"task_master_project_root": str(root), **settings}
    return open_view(TaskmasterSettings.model_validate(values))


@pytest.fixture
def shown(project: ServedProject) -> View:
    return view_of(project.root)


def test_tasks_are_listed_with_their_subtasks_and_a_priority_that_is_not_the_usual(shown: View) -> None:
    lines = [*shown.lines()]
    assert (lines[-1].priority, lines[-1].needs, lines[-1].more) == ("high", ["2"], "Description 3\n")
    assert lines[0].priority == "medium"
    assert [line[:5] for line in lines] == [
        ("1", "done", "Title 1", "", 0),
        ("2", "in-progress", "Title 2", "", 0),
        ("2.1", "done", "Title 1", "", 1),
        ("2.2", "pending", "Title 2", "", 1),
        ("3", "pending", "Title 3", "high", 0),
    ]


@pytest.mark.parametrize(
    ("statuses", "ids"),
    [
        (["pending"], ["2.2", "3"]),
        (["done"], ["1", "2.1"]),
        (["completed"], ["1", "2.1"]),
        (["Completed"], ["1", "2.1"]),
        (["IN_PROGRESS", "done"], ["1", "2", "2.1"]),
        (["review"], []),
    ],
)
def test_tasks_can_be_listed_by_status(shown: View, statuses: list[str], ids: list[str]) -> None:
    assert [line.id for line in shown.lines(statuses)] == ids


def test_a_word_that_no_task_has_is_not_a_status(shown: View) -> None:
    known = "pending, in-progress, done, review, blocked, deferred, cancelled"
    with pytest.raises(InvalidArguments, match=f"status: give one of {known}, not 'doen'"):
        shown.lines(["doen"])


def test_a_status_that_only_this_project_has_is_one(project: ServedProject, shown: View) -> None:
    project.write({"master": tag(item(1, status="parked", priority="", subtasks=[item(1, status="odd")]))})
    assert shown.statuses[-2:] == ("parked", "odd")
    assert [line.id for line in shown.lines(["Parked"])] == ["1"]
    assert {*shown.finished} < {*shown.statuses}


@pytest.mark.parametrize(("name", "task_id"), [("2", "2"), ("#2", "2"), (" #2.1", "2.1"), ("3", "3")])
async def test_a_task_is_shown_as_its_tool_shows_it(
    project: ServedProject, shown: View, name: str, task_id: str
) -> None:
    project.put(
        ".taskmaster/reports/task-complexity-report.json",
        {"complexityAnalysis": [{"taskId": 2, "complexityScore": 7}]},
    )
    assert shown.task(name) == await project.call("get_task", id=task_id)


def test_an_unknown_task_or_subtask_is_not_found(shown: View) -> None:
    with pytest.raises(TaskNotFound, match=r"'2\.7'.*'2\.[12]'"):
        shown.task("2.7")
    with pytest.raises(TaskNotFound, match="'x'"):
        shown.task("x")


async def test_the_next_task_is_the_one_that_its_tool_chooses(project: ServedProject, shown: View) -> None:
    assert shown.next() == "2.2" == (await project.call("next_task"))["nextTask"]["id"]
    project.write({"master": tag(item(1, 2), item(2, 1))})
    assert shown.next() is None


def test_the_revision_follows_the_file_and_the_tag(project: ServedProject, shown: View) -> None:
    found = [shown.revision(), shown.revision()]
    project.write({"master": tag(item(1)), "other": tag(item(1))})
    found += [shown.revision(), shown.revision()]
    project.put(".taskmaster/state.json", {"currentTag": "other"})
    found.append(shown.revision())
    assert found[0] == found[1] != found[2] == found[3] != found[4]


def test_another_tag_is_shown_if_the_settings_say_so(project: ServedProject) -> None:
    project.write({"master": tag(), "other": tag(item(9))})
    assert [line.id for line in view_of(project.root, taskmaster_tag="other").lines()] == ["9"]


def test_a_folder_without_a_project_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    view = view_of(tmp_path)
    for look in (view.lines, view.next, view.revision, lambda: view.statuses):
        with pytest.raises(TaskError, match="has no Task Master project"):
            look()
    assert [*tmp_path.iterdir()] == []
    view.close()
