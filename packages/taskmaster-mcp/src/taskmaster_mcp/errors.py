"""The errors of this server, each with its code and its reason (TM-10, TM-11)."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue
from typing_extensions import override

from task_core.errors import TaskError, TaskNotFound, echo, quote_names

__all__ = [
    "CORE",
    "INPUT",
    "RULES",
    "UNEXPECTED",
    "AmbiguousDependency",
    "BadValue",
    "CircularDependency",
    "CrossTagConflicts",
    "FileMissing",
    "LimitExceeded",
    "OutsideProject",
    "Refused",
    "SubtaskNotFound",
    "TagNotFound",
    "TaskmasterError",
]

INPUT: Final = "INPUT_VALIDATION_ERROR"
CORE: Final = "CORE_FUNCTION_ERROR"
UNEXPECTED: Final = "UNEXPECTED_ERROR"


class TaskmasterError(TaskError):
    """The base of the errors of this server."""

    kind: str = CORE
    reason: str = ""
    """a word that narrows the code, if there is one"""

    def __init__(self, message: str, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message, {**({"reason": self.reason} if self.reason else {}), **(details or {})})

    @property
    @override
    def code(self) -> str:
        return self.kind


RULES: Final = {
    "CANNOT_MOVE_SUBTASK": (
        "CANNOT_MOVE_SUBTASK",
        "Subtask '{id}' cannot move to another tag. Make it a task first, with remove_subtask and convert.",
    ),
    "HAS_SUBTASKS": (
        "HAS_SUBTASKS",
        "Task '{id}' has {count} subtasks, which a subtask cannot have. Move or clear them first.",
    ),
    "NAME_RESERVED": ("RESERVED_TAG", "This name is reserved. Choose another tag than '{tag}'."),
    "ODD_VALUE": (
        "INVALID_TASKS_FILE",
        "'{field}' of '{id}' is not {expected} in the tasks file. Correct it there, then call again.",
    ),
    "OPERATION_UNKNOWN": (
        "OPERATION_NOT_FOUND",
        "No operation has the id '{id}'. The last 100 are known until the server ends.",
    ),
    "OPERATIONS_WAIT": (
        "LIMIT_EXCEEDED",
        "{count} operations have not ended yet. Call again once get_operation_status shows that one has.",
    ),
    "SELF_DEPENDENCY": ("SELF_DEPENDENCY", "Choose another dependency: '{id}' cannot depend on itself."),
    "SERVER_ENDS": ("STORE_WRITE_FAILED", "The operation ended with the server. Call again with the next one."),
    "STALE": ("STALE", "The tasks have changed since this was planned. Call without the result, and plan again."),
    "TAG_DELETED": ("RESERVED_TAG", "'{tag}' cannot be deleted. Choose another tag than '{tag}'."),
    "TAG_EXISTS": ("TAG_EXISTS", "Choose another name: there is a tag '{tag}' already."),
    "TAG_HAS_TASKS": (
        "TASK_ALREADY_EXISTS",
        "Tag '{tag}' has {count} tasks. Give append to add to them, or force to replace them.",
    ),
    "TAG_RENAMED": ("RESERVED_TAG", "'{tag}' cannot be renamed. Choose another tag than '{tag}'."),
    "TASK_CLOSED": ("TASK_COMPLETED", "Task '{id}' is {status}. Set it to pending first if there is more to do."),
    "TASK_EXISTS": ("TASK_ALREADY_EXISTS", "Choose a free id: '{id}' exists in tag '{tag}'."),
    "TASK_EXISTS_IN_BOTH": (
        "TASK_ALREADY_EXISTS",
        "'{id}' exists in tag '{tag}' too. First give yours an id that is free in both, with move_task from='{id}' "
        "to='{freeId}', then move '{freeId}'.",
    ),
}
"""Rules of the tasks, each with its reason and the sentence for a call that breaks it, with names from the details."""

_MAX_SHOWN: Final = 200
"""Characters of an id or a tag that an error repeats, as many as an id may have."""


class Refused(TaskmasterError):
    """A rule of the tasks refuses the call; ``details`` name what it is about."""

    def __init__(self, rule: str, **details: str | int | list[JsonValue]) -> None:
        self.reason, sentence = RULES[rule]
        shown: dict[str, JsonValue] = {
            name: echo(it, _MAX_SHOWN) if isinstance(it, str) else it for name, it in details.items()
        }
        super().__init__(sentence.format(**shown), shown)


class BadValue(TaskmasterError):
    """An argument has a value that cannot be right; ``advice`` says what to give."""

    kind = INPUT

    def __init__(self, field: str, advice: str) -> None:
        details: dict[str, JsonValue] = {"fields": [{"path": field, "message": advice}]}
        super().__init__(f"Correct '{field}' and call again: {advice}.", details)


class OutsideProject(BadValue):
    """A path leads out of the project, or a project is not where projects may be."""

    reason = "OUTSIDE_PROJECT"


class FileMissing(TaskmasterError):
    """A file or folder that the call needs does not exist."""

    kind = "FILE_NOT_FOUND_ERROR"


class SubtaskNotFound(TaskNotFound):
    """A task has no subtask with the id that was given."""


class TagNotFound(TaskmasterError):
    """No tag has the name that was given."""

    reason = "TAG_NOT_FOUND"

    def __init__(self, name: str, tags: Sequence[str], near: Sequence[str]) -> None:
        there = f"The tags are {quote_names(tags)}." if tags else "There are no tags yet."
        message = f"No tag is named '{echo(name)}'. {there} Choose one of them, or make it with add_tag."
        super().__init__(message, {"tag": echo(name), "tags": [*map(echo, tags[:20])], "near": [*near]})


class CircularDependency(TaskmasterError):
    """A dependency would close a cycle; ``path`` leads from the item back to itself."""

    reason = "CIRCULAR_DEPENDENCY"

    def __init__(self, path: Sequence[str]) -> None:
        shown = [*path[:20]]
        cycle = " -> ".join(shown)
        message = f"This would close a cycle: {cycle}. None of these could ever be done: tasks wait for subtasks too."
        super().__init__(message, {"path": [*shown]})


class AmbiguousDependency(TaskmasterError):
    """The document cannot store that a subtask depends on a task with the number of one of its siblings."""

    reason = "AMBIGUOUS_DEPENDENCY"

    def __init__(self, item_id: str, target: str, sibling: str) -> None:
        message = (
            f"'{item_id}' cannot depend on task '{target}': in the file, that number means its sibling '{sibling}'. "
            f"Depend on '{sibling}', on a subtask of '{target}', or let the parent of '{item_id}' depend on it."
        )
        super().__init__(message, {"id": item_id, "dependsOn": target, "sibling": sibling})


class CrossTagConflicts(TaskmasterError):
    """Tasks that would be in two tags depend on each other; ``conflicts`` are pairs of ids."""

    reason = "CROSS_TAG_DEPENDENCY_CONFLICTS"

    def __init__(self, conflicts: Sequence[tuple[str, str]]) -> None:
        listed: list[JsonValue] = [{"id": item, "dependsOn": target} for item, target in conflicts[:20]]
        said = ", ".join(f"'{item}' depends on '{target}'" for item, target in conflicts[:5])
        more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
        advice = "Give withDependencies or ignoreDependencies."
        message = f"Dependencies would cross into another tag: {said}{more}. {advice}"
        super().__init__(message, {"conflicts": listed, "count": len(conflicts)})


class LimitExceeded(TaskmasterError):
    """The call would exceed a limit of this server."""

    reason = "LIMIT_EXCEEDED"

    def __init__(self, what: str, limit: int, found: int) -> None:
        message = f"{what}: at most {limit:,} are allowed, and this would make {found:,}. Call again with fewer."
        super().__init__(message, {"limit": limit, "found": found})
