"""What a program that uses each Python library does: list the tools of a server, and call one.

The programs are text, because each runs in an environment that has its library.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LIBRARIES", "program"]

_PROGRAM: Final = """\
import asyncio, json, sys

{use}
async def main():
    tools = [name for server in json.loads(sys.argv[1]) for name in await use(**server)]
    print(json.dumps(tools))

asyncio.run(main())
"""
"""The frame; ``use`` gets a command, its environment, a tool and the tool's arguments, and returns all names."""

LIBRARIES: Final = {
    "fastmcp": """\
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def use(command, env, tool, arguments):
    async with Client(StdioTransport(command, [], env=env)) as client:
        tools = await client.list_tools()
        await client.call_tool(tool, arguments)
    return [one.name for one in tools]
""",
    "pydantic-ai-slim[mcp]": """\
from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import FunctionModel
from fastmcp.client.transports import StdioTransport

async def use(command, env, tool, arguments):
    names = []

    def answer(messages, info):
        names[:] = [one.name for one in info.function_tools]
        is_first = len(messages) == 1
        return ModelResponse([ToolCallPart(tool, arguments) if is_first else TextPart("Done.")])

    agent = Agent(FunctionModel(answer), toolsets=[MCPToolset(StdioTransport(command, [], env=env))])
    await agent.run("Create a task.")
    return names
""",
    "openai-agents": """\
from agents.mcp import MCPServerStdio

async def use(command, env, tool, arguments):
    async with MCPServerStdio({"command": command, "env": env}) as server:
        tools = await server.list_tools()
        await server.call_tool(tool, arguments)
    return [one.name for one in tools]
""",
    "langchain-mcp-adapters": """\
from langchain_mcp_adapters.client import MultiServerMCPClient

async def use(command, env, tool, arguments):
    server = {"transport": "stdio", "command": command, "args": [], "env": env}
    tools = {one.name: one for one in await MultiServerMCPClient({"tasks": server}).get_tools()}
    await tools[tool].ainvoke(arguments)
    return [*tools]
""",
    "llama-index-tools-mcp": """\
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

async def use(command, env, tool, arguments):
    specification = McpToolSpec(BasicMCPClient(command, args=[], env=env))
    tools = {one.metadata.name: one for one in await specification.to_tool_list_async()}
    await tools[tool].acall(**arguments)
    return [*tools]
""",
}
"""How each library uses a server, by what pip installs."""


def program(library: str) -> str:
    """Return the program for a library, which takes a JSON list of the arguments of ``use`` and prints all names."""
    return _PROGRAM.format(use=LIBRARIES[library])
