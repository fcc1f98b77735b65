"""The rules of tasks, subtasks, dependencies and tags, as pure functions over a parsed document (TM-1)."""

__all__: list[str] = []
