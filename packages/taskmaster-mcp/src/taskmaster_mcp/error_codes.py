"""The errors of the core as clients see them, each with its code and its reason (TM-12)."""

from collections.abc import Collection
from typing import Final

from task_core import errors
from task_core.claims.claim import ClaimLost, NotClaimed, TaskClaimed
from task_core.errors import TaskError
from task_core.server.faults import AnswerForm, render_error
from task_core.store.undo import ChangeNotFound, NotUndone
from taskmaster_mcp.errors import CORE, INPUT, UNEXPECTED, SubtaskNotFound, TaskmasterError
from taskmaster_mcp.toolsets import ALIASES, SETS, describe_set, name_sets

__all__ = ["REASONS", "CodedError", "make_form"]

REASONS: Final[dict[type[TaskError], tuple[str, str]]] = {
    errors.DuplicateId: (CORE, "TASK_ALREADY_EXISTS"),
    errors.DuplicateKey: (INPUT, "DUPLICATE_KEY"),
    errors.InternalError: (UNEXPECTED, ""),
    errors.InvalidArguments: (INPUT, ""),
    errors.InvalidTransition: (CORE, ""),
    errors.ResourceNotFound: (INPUT, ""),
    errors.StoreDamaged: (CORE, "INVALID_TASKS_FILE"),
    errors.StoreLocked: (CORE, "STORE_LOCKED"),
    errors.StoreNewer: (CORE, "INVALID_TASKS_FILE"),
    errors.StoreUnreadable: (CORE, "STORE_UNREADABLE"),
    errors.StoreWriteFailed: (CORE, "STORE_WRITE_FAILED"),
    ChangeNotFound: (CORE, "CHANGE_NOT_FOUND"),
    ClaimLost: (CORE, "CLAIM_LOST"),
    NotClaimed: (CORE, "NOT_CLAIMED"),
    NotUndone: (CORE, "NOT_UNDONE"),
    SubtaskNotFound: (CORE, "SUBTASK_NOT_FOUND"),
    TaskClaimed: (CORE, "TASK_CLAIMED"),
    errors.TaskNotFound: (CORE, "TASK_NOT_FOUND"),
    errors.UnknownPrompt: (INPUT, ""),
    errors.UnknownTool: (INPUT, "UNKNOWN_TOOL"),
}
"""The code and the reason of each error of the core."""


class CodedError(TaskmasterError):
    """An error of the core, with the code and the reason that clients see."""

    def __init__(self, error: TaskError) -> None:
        self.kind, self.reason = REASONS[type(error)]
        super().__init__(error.message, error.details)


def make_form(offered: Collection[str]) -> AnswerForm:
    """Return the form of answers and errors of a server with the tools ``offered`` (TM-8, TM-9)."""

    def translate(error: TaskError) -> TaskmasterError:
        found = error if isinstance(error, TaskmasterError) else CodedError(error)
        found.message = name_sets(found.message, offered)
        name = str(found.details.get("name"))
        tool = ALIASES.get(name, name)
        if isinstance(error, errors.UnknownTool) and tool in SETS["all"]:
            found.message = f"Unknown tool '{name}': it is {describe_set(tool)}."
        return found

    return AnswerForm("data", translate, lambda error: {"fromCache": False, **render_error(error)})
