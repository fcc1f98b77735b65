"""An agent's to-do list as an MCP server, mirrored into the TODO section of HEARTBEAT.md."""

__all__: list[str] = []
