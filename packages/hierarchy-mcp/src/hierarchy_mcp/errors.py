"""The errors of this server besides those of the core."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from task_core.errors import ECHO_LIMIT, TaskError, echo

__all__ = ["ExecutionOrder", "IncompleteSubtasks"]


class ExecutionOrder(TaskError):
    """Other tasks must be done first; ``blocking`` has id, name and status of the first, ``count`` says how many."""

    def __init__(self, blocking: Sequence[Mapping[str, str]], count: int) -> None:
        details: dict[str, JsonValue] = {"blocking": [dict(task) for task in blocking], "count": count}
        super().__init__(f"Complete these tasks first: {_tasks(blocking, count)}.", details)


class IncompleteSubtasks(TaskError):
    """A task has open subtasks; ``incomplete`` has id, name and status of the first, ``count`` says how many."""

    def __init__(self, incomplete: Sequence[Mapping[str, str]], count: int) -> None:
        details: dict[str, JsonValue] = {"incomplete": [dict(task) for task in incomplete], "count": count}
        super().__init__(f"Complete its subtasks first: {_tasks(incomplete, count)}.", details)


def _tasks(tasks: Sequence[Mapping[str, str]], count: int) -> str:
    named = echo(", ".join(f"'{echo(task['name'])}' ({task['id']})" for task in tasks), ECHO_LIMIT)
    return f"{named} and {count - len(tasks)} more" if count > len(tasks) else named
