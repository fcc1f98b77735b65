"""The tasks of the user as people see them: what ``ctx`` answers, and nothing is kept in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cortex_mcp.errors import CtxError, CtxRefused
from cortex_mcp.view import open_view
from task_core.errors import InvalidArguments, TaskNotFound
from task_core.view import Line, View
from tests.cortex_mcp.ctx_fixture import TASK, CtxFixture


@pytest.fixture
def shown(ctx: CtxFixture) -> Iterator[View]:
    view = open_view(ctx.settings())
    yield view
    view.close()


def page(*tasks: dict[str, Any], cursor: str | None = None) -> dict[str, Any]:
    return {"success": True, "tasks": [*tasks], "total": len(tasks), "next_cursor": cursor, "message": "tasks"}


def test_tasks_of_every_status_are_listed_with_a_priority_that_is_not_the_usual(ctx: CtxFixture, shown: View) -> None:
    ctx.replies("tasks_list", page({**TASK, "id": 43, "status": "DONE", "priority": "URGENT"}, TASK))
    assert [*shown.lines()] == [
        Line("43", "DONE", "Lies den Entwurf [/]", "URGENT"),
        Line("42", "TODO", "Lies den Entwurf [/]"),
    ]
    every = "--status=TODO,IN_PROGRESS,REVIEW,DONE,CANCELED"
    assert [call["argv"] for call in ctx.calls] == [["tasks", "list", "--json", every, "--limit=100"]]


def test_one_page_is_asked_for_after_the_other(ctx: CtxFixture, shown: View) -> None:
    ctx.replies("tasks_list", page({**TASK, "id": 43}, cursor="more"))
    lines = shown.lines(["todo", "in-progress"])
    assert next(iter(lines)).id == "43"
    ctx.replies("tasks_list", page(TASK))
    assert [line.id for line in lines] == ["42"]
    options = ["--status=TODO,IN_PROGRESS", "--limit=100"]
    assert [call["argv"][3:] for call in ctx.calls] == [options, [*options, "--cursor=more"]]


def test_a_word_that_is_not_a_status_is_not_asked_for(ctx: CtxFixture, shown: View) -> None:
    with pytest.raises(InvalidArguments, match="give one of TODO, IN_PROGRESS, REVIEW, DONE, CANCELED, not 'OPEN'"):
        shown.lines(["OPEN"])
    assert ctx.notes == []


def test_a_task_is_shown_with_its_description(ctx: CtxFixture, shown: View) -> None:
    assert shown.task("42") == {**TASK, "description": "Alles."}
    with pytest.raises(TaskNotFound):
        shown.task("x")
    assert [call["argv"] for call in ctx.calls] == [["tasks", "show", "42", "--json"]]


@pytest.mark.parametrize(("number", "found"), [(1, "42"), (0, None)])
def test_what_is_in_progress_is_next_and_then_what_is_to_be_done(
    ctx: CtxFixture, shown: View, number: int, found: str | None
) -> None:
    ctx.replies("tasks_list", page(*[TASK] * number))
    assert shown.next() == found
    asked = [call["argv"][3] for call in ctx.calls]
    assert asked == ["--status=IN_PROGRESS", "--status=TODO"][: 2 - number]


def test_only_listing_again_shows_a_change(ctx: CtxFixture, shown: View) -> None:
    assert shown.revision() is None
    assert ctx.notes == []
    assert {*shown.finished} == {"DONE", "CANCELED"} < {*shown.statuses}


def test_what_ctx_refuses_or_lacks_is_the_error(ctx: CtxFixture, shown: View) -> None:
    ctx.refuses("tasks_list", "NotLoggedIn", "Not logged in.")
    with pytest.raises(CtxRefused, match="Not logged in"):
        [*shown.lines()]
    missing = open_view(ctx.settings(cortex_ctx=ctx.folder / "missing"))
    with pytest.raises(CtxError, match="ctx was not found"):
        missing.next()
