"""Reads resources and prompts of a server in memory, over the SDK's own client."""

from __future__ import annotations

import json
import re
from typing import Any

from mcp.client import Client
from mcp_types import TextContent, TextResourceContents

from task_core.server.app import TaskServer
from tests.tool_client import Era

__all__ = ["PROMPTS", "prompt_names", "prompt_text", "read_json", "read_text", "unknown_words"]

PROMPTS = {"plan": {"request": "Paint the fence."}, "next": {}, "weekly_review": {}}
"""The prompts of every server, without the prefix of each, and with arguments."""


async def read_text(server: TaskServer, uri: str, era: Era = "auto") -> str:
    """Return the text of a resource."""
    async with Client(server.sdk, mode=era) as client:
        (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.uri == uri
    return content.text


async def read_json(server: TaskServer, uri: str, era: Era = "auto") -> dict[str, Any]:
    """Return the JSON object that a resource holds."""
    value: dict[str, Any] = json.loads(await read_text(server, uri, era))
    return value


async def prompt_names(server: TaskServer, era: Era) -> list[str]:
    """Return the names of the prompts, as they are listed; each has a description, and a title without the prefix."""
    async with Client(server.sdk, mode=era) as client:
        prompts = (await client.list_prompts()).prompts
    assert [prompt.title for prompt in prompts] == ["Plan a request", "What is next?", "Weekly review"]
    assert all(prompt.description for prompt in prompts)
    return [prompt.name for prompt in prompts]


async def prompt_text(server: TaskServer, name: str, era: Era = "auto") -> str:
    """Return what a prompt says."""
    async with Client(server.sdk, mode=era) as client:
        (whole,) = (prompt.name for prompt in (await client.list_prompts()).prompts if prompt.name.endswith(f"_{name}"))
        (message,) = (await client.get_prompt(whole, PROMPTS[name])).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def unknown_words(server: TaskServer) -> set[str]:
    """Return the words of all prompts that look like names of tools, arguments or values, but are none."""
    async with Client(server.sdk) as client:
        known = str([tool.model_dump() for tool in (await client.list_tools()).tools])
    text = "\n".join([await prompt_text(server, name) for name in PROMPTS])
    words = set(re.findall(r"\b(?:[a-z]+(?:_[a-z]+)+|[a-z]+[A-Z]\w+)\b", text))
    assert words
    return {word for word in words if word not in known}
