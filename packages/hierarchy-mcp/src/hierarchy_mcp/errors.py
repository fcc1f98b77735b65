"""The errors of this server besides those of the core."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from task_core.errors import ECHO_LIMIT, TaskError, echo

__all__ = ["ExecutionOrder", "IncompleteSubtasks"]


class _OpenTasks(TaskError):
    """Tasks must be done first; the details have id, name and status of the first ones, and ``count``."""

    advice: ClassVar[str]
    key: ClassVar[str]

    def __init__(self, tasks: Sequence[Mapping[str, str]], count: int) -> None:
        named = echo(", ".join(f"'{echo(task['name'])}' ({task['id']})" for task in tasks), ECHO_LIMIT)
        more = f" and {count - len(tasks)} more" if count > len(tasks) else ""
        super().__init__(f"{self.advice}: {named}{more}.", {self.key: [dict(task) for task in tasks], "count": count})


class ExecutionOrder(_OpenTasks):
    """Other tasks must be done first: ``blocking``."""

    advice, key = "Complete these tasks first", "blocking"


class IncompleteSubtasks(_OpenTasks):
    """A task has open subtasks: ``incomplete``."""

    advice, key = "Complete its subtasks first", "incomplete"
