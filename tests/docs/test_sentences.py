"""The calls that ``docs/say.md`` shows beside each sentence: the servers carry them out, in the order of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.docs.repository import DOCS
from tests.packaging.servers import COMMANDS
from tests.servers import program_of

EXAMPLES = re.compile(r"cool-apple|task_01jd0example")
"""Ids that a server makes, as the page has them."""


def calls(name: str) -> list[dict[str, Any]]:
    """Return the calls in the section of a server."""
    section = (DOCS / "say.md").read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)]


@pytest.mark.parametrize("name", COMMANDS)
async def test_every_call_beside_a_sentence_works_in_its_order(name: str, tmp_path: Path) -> None:
    record = program_of(name)
    shown = calls(name)
    assert len(shown) >= 4
    made = ""
    async with Client(record.built(tmp_path).sdk) as client:
        for call in shown:
            arguments = json.loads(EXAMPLES.sub(made, json.dumps(call["arguments"])))
            done = await client.call_tool(call["name"], arguments)
            assert not done.is_error, done.content
            content = done.structured_content or {}
            made = made or str(content.get("task", content).get("id", ""))
            if call["name"] == record.list:
                assert content["tasks"], f"{call} finds nothing"


@pytest.mark.parametrize("name", COMMANDS)
async def test_every_prompt_of_a_server_is_named(name: str, tmp_path: Path) -> None:
    section = (DOCS / "say.md").read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    async with Client(program_of(name).built(tmp_path).sdk) as client:
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
    assert {*re.findall(r"`(\w+)`", section.rpartition("Prompts: ")[2])} == names


def test_the_page_has_a_section_for_every_server() -> None:
    assert {*re.findall(r"(?m)^## (\S+-mcp)$", (DOCS / "say.md").read_text("utf-8"))} == {*COMMANDS}
