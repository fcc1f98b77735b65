"""Short notes as an MCP server: the smallest whole server on ``task_core``."""

__all__: list[str] = []
