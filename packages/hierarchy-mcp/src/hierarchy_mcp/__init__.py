"""Nested tasks as an MCP server, started and completed in order."""

__all__: list[str] = []
