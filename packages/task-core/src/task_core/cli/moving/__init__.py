"""The commands that take tasks from other tools and give them to other tools."""

__all__: list[str] = []
