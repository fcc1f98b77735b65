"""A person's tasks as an MCP server, moved through their states."""

__all__: list[str] = []
