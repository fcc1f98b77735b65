"""What the servers are compared with: a plain MCPServer with one trivial tool, on the transport of the SDK.

``python benchmarks/plain_server.py`` has it as a plain function, ``… async`` as a coroutine, which needs no thread.
"""

import sys

from mcp.server import MCPServer

server = MCPServer("plain")


def echo(text: str) -> str:
    """Repeat a text."""
    return text


async def echo_at_once(text: str) -> str:
    """Repeat a text."""
    return text


if __name__ == "__main__":
    server.tool("echo")(echo_at_once if "async" in sys.argv else echo)
    server.run()
