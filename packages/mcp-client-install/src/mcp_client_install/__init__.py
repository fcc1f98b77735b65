"""Adds an MCP server to the configuration files of clients and removes it, and leaves every other byte as it was."""

__all__: list[str] = []
