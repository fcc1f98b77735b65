"""The prompts of this server send a model to the right tools (PRM-1)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.heartbeat.conftest import Desk, call
from tests.resource_client import PROMPTS, prompt_names, prompt_text, unknown_words
from tests.tool_client import Era


@pytest.mark.requirement("PRM-1")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_can_plan_go_on_and_look_back(desk: Desk, era: Era) -> None:
    assert await prompt_names(desk.server(), era) == ["heartbeat_plan", "heartbeat_next", "heartbeat_weekly_review"]


@pytest.mark.requirement("PRM-1")
async def test_a_prompt_begins_with_a_look_at_the_tasks_and_changes_nothing_unasked(desk: Desk) -> None:
    for name in PROMPTS:
        text = await prompt_text(desk.server(), name)
        assert "1. Call task_list" in text
        assert "When I agree" in text


@pytest.mark.requirement("PRM-1")
async def test_a_plan_is_made_for_the_request_word_for_word(desk: Desk) -> None:
    assert (await prompt_text(desk.server(), "plan")).endswith("\n\nThe request:\n\nPaint the fence.")


@pytest.mark.requirement("PRM-1")
async def test_prompts_name_only_tools_arguments_and_values_that_there_are(desk: Desk) -> None:
    assert await unknown_words(desk.server()) == set()


@pytest.mark.requirement("PRM-1", "HB-4", "HB-7")
async def test_a_review_of_the_week_sees_what_was_finished_in_it_though_it_is_archived_already(
    stored_desk: Desk,
) -> None:
    wanted = "task_list with include_archived true and days_to_keep_completed 7"
    assert wanted in await prompt_text(stored_desk.server(), "weekly_review")
    server = stored_desk.server(task_retention_days="0.5")
    tasks = [(await call(server, "task_create", raw_user_request=f"{number}"))["id"] for number in range(3)]
    await call(server, "task_update", task_id=tasks[0], updates={"status": "Complete"})
    stored_desk.now += timedelta(days=6)
    await call(server, "task_update", task_id=tasks[1], updates={"status": "Fail"})
    stored_desk.now += timedelta(days=2)
    server = stored_desk.server(task_retention_days="0.5")
    page = await call(server, "task_list", include_archived=True, days_to_keep_completed=7)
    assert [task["id"] for task in page["tasks"]] == tasks[1:]
    assert page["tasks"][0]["archived"]
