"""The prompts of this server send a model to the right tools (PRM-1)."""

import pytest

from tests.resource_client import PROMPTS, prompt_names, prompt_text, unknown_words
from tests.tasks_v1.conftest import ServedStore
from tests.tool_client import Era


@pytest.mark.requirement("PRM-1")
async def test_a_client_can_plan_go_on_and_look_back(served: ServedStore, era: Era) -> None:
    assert await prompt_names(served.restart(), era) == [
        "tasks_v1_plan",
        "tasks_v1_next",
        "tasks_v1_weekly_review",
    ]


@pytest.mark.requirement("PRM-1")
@pytest.mark.parametrize("name", PROMPTS)
async def test_a_prompt_begins_with_a_look_at_the_tasks_and_changes_nothing_unasked(
    served: ServedStore, name: str
) -> None:
    text = await prompt_text(served.restart(), name)
    assert "1. Call list_tasks" in text
    assert "When I agree" in text


@pytest.mark.requirement("PRM-1")
async def test_a_plan_is_made_for_the_request_word_for_word(served: ServedStore) -> None:
    assert (await prompt_text(served.restart(), "plan")).endswith("\n\nThe request:\n\nPaint the fence.")


@pytest.mark.requirement("PRM-1")
async def test_prompts_name_only_tools_arguments_and_values_that_there_are(served: ServedStore) -> None:
    assert await unknown_words(served.restart()) == set()
