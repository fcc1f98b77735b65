"""A local web page over the tasks of the MCP task servers."""

__all__: list[str] = []
