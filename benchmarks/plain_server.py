"""A plain MCPServer with one trivial tool, on the transport of the SDK, beside which the servers are measured."""

from mcp.server import MCPServer

server = MCPServer("plain")


@server.tool()
def echo(text: str) -> str:
    """Repeat a text."""
    return text


if __name__ == "__main__":
    server.run()
