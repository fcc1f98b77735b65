"""Prompts are listed in order, filled in with what was given, and refused with what is wrong (PRM-1, PRM-2)."""

from __future__ import annotations

import json

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PromptArgument, TextContent

from tests.core.shelf import Shelf

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def refusal(name: str, arguments: dict[str, str], mode: str = "auto") -> MCPError:
    async with Client(Shelf().server.sdk, mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
    return caught.value


@pytest.mark.requirement("PRM-1")
@BOTH_ERAS
async def test_prompts_are_listed_in_order_with_what_is_to_be_filled_in(mode: str) -> None:
    async with Client(Shelf().server.sdk, mode=mode) as client:
        greet, look = (await client.list_prompts()).prompts
    assert (greet.name, greet.title, greet.description) == ("greet", "Greet", "Be polite.")
    assert greet.arguments == [PromptArgument(name="whom", description="Somebody.", required=True)]
    assert (look.name, look.arguments) == ("look", None)


@pytest.mark.requirement("PRM-1")
@BOTH_ERAS
async def test_a_prompt_is_what_the_user_says(mode: str) -> None:
    async with Client(Shelf().server.sdk, mode=mode) as client:
        greeting = await client.get_prompt("greet", {"whom": "Zoë\n{x}"})
        look = await client.get_prompt("look")
    (message,) = greeting.messages
    assert (message.role, message.content) == ("user", TextContent(text="Say hello.\n\nThe whom:\n\nZoë\n{x}"))
    assert (greeting.description, look.messages[0].content) == ("Be polite.", TextContent(text="Look around."))


@pytest.mark.requirement("PRM-2", "ERR-4")
@BOTH_ERAS
async def test_an_unknown_prompt_comes_with_near_ones(mode: str) -> None:
    error = await refusal("gret", {}, mode)
    assert (error.code, error.data) == (INVALID_PARAMS, {"code": "UnknownPrompt", "name": "gret", "near": ["greet"]})


@pytest.mark.requirement("PRM-2")
@BOTH_ERAS
@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        pytest.param({}, ["whom"], id="missing"),
        pytest.param({"whom": " \n"}, ["whom"], id="blank"),
        pytest.param({"whom": "x" * 100_001}, ["whom"], id="too long"),
        pytest.param({"whom": "x", "how": "y"}, ["how"], id="unknown"),
        pytest.param({"who": "x"}, ["who", "whom"], id="misspelt"),
    ],
)
async def test_a_wrong_argument_is_named(arguments: dict[str, str], paths: list[str], mode: str) -> None:
    error = await refusal("greet", arguments, mode)
    assert (error.code, error.data["code"]) == (INVALID_PARAMS, "InvalidArguments")
    assert [entry["path"] for entry in error.data["fields"]] == paths


@pytest.mark.requirement("PRM-2", "ERR-4")
async def test_a_misspelt_argument_comes_with_the_near_one() -> None:
    assert (await refusal("greet", {"who": "x"})).data["near"] == ["whom"]


@pytest.mark.requirement("PRM-2", "TOOL-3", "S1")
@pytest.mark.parametrize(("name", "arguments"), [("Ω" * 9_000, {}), ("greet", {"Ω" * 9_000: "x"})])
async def test_a_refusal_repeats_at_most_200_characters(name: str, arguments: dict[str, str]) -> None:
    error = await refusal(name, arguments)
    assert 0 < (error.message + json.dumps(error.data, ensure_ascii=False)).count("Ω") <= 200
