"""Short notes as an MCP server: the smallest whole server on ``task_core``."""
