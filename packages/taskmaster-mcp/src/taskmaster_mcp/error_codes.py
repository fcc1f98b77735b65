"""The errors of the core as clients see them, each with its code and its reason (TM-12)."""

from typing import Final

from task_core import errors
from task_core.errors import TaskError
from task_core.server.faults import AnswerForm, render_error
from taskmaster_mcp.errors import CORE, INPUT, UNEXPECTED, SubtaskNotFound, TaskmasterError

__all__ = ["FORM", "REASONS", "CodedError"]

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
    SubtaskNotFound: (CORE, "SUBTASK_NOT_FOUND"),
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


def _translate(error: TaskError) -> TaskmasterError:
    return error if isinstance(error, TaskmasterError) else CodedError(error)


FORM: Final = AnswerForm("data", _translate, lambda error: {"fromCache": False, **render_error(error)})
"""The form of answers and errors (TM-8, TM-9)."""
