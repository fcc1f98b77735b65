"""The arguments of the tools: what is accepted, with which bounds (CX-85, TOOL-2, TOOL-3)."""

import re
from functools import partial
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from task_core.fields import (
    Arguments,
    AsInteger,
    OneLine,
    as_integer,
    at_most,
    invalid_value,
    line,
    one_of,
    text,
    texts,
)

__all__ = [
    "MAX_TASK_ID",
    "STATUSES",
    "CtxListArguments",
    "DirectoryArguments",
    "StartTaskArguments",
    "SubmitPrArguments",
    "parse_task_id",
]

MAX_TASK_ID: Final = 2**31 - 1
"""The highest id that a task can have (CX-11)."""

STATUSES: Final = ("TODO", "IN_PROGRESS", "REVIEW", "DONE", "CANCELED")
"""The statuses of a task, in the order of work (CX-12)."""

_DIGITS: Final = re.compile("[0-9]{1,10}")

_MAX_DIRECTORY: Final = 1_024

_MAX_MESSAGE: Final = 10_000


def parse_task_id(value: object) -> object:
    """Return an id that came as text, as some clients send it, as an integer; other values are unchanged."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    return as_integer(value)


def _message(value: object) -> str:
    found = text(value, maximum=_MAX_MESSAGE)
    if not found.strip() or "\0" in found:
        raise invalid_value("Say in it what was changed and why; it has no U+0000.")
    return found


_Status = Annotated[str, *one_of(STATUSES)]
_Statuses = Annotated[tuple[_Status, ...], BeforeValidator(partial(texts, maximum=len(STATUSES)))]
_Message = Annotated[str, PlainValidator(_message), WithJsonSchema({"type": "string", "maxLength": _MAX_MESSAGE})]
_Folder = Annotated[str, *at_most(_MAX_DIRECTORY, line)]
_Directory = Annotated[_Folder | None, Field(description="Folder of the repository; default the usual one")]


class CtxListArguments(Arguments):
    """Arguments of ``list_tasks``."""

    status: Annotated[_Statuses | None, Field(description="Only these; default all but DONE and CANCELED")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Page size"), AsInteger] = 50
    cursor: Annotated[
        OneLine | None,
        Field(description="next_cursor of the previous page, with the same status; default the first page"),
    ] = None


class StartTaskArguments(Arguments):
    """Arguments of ``start_task``."""

    task_id: Annotated[
        int, Field(ge=1, le=MAX_TASK_ID, description="Id of the task, from list_tasks"), BeforeValidator(parse_task_id)
    ]
    directory: _Directory = None


class SubmitPrArguments(Arguments):
    """Arguments of ``submit_pr``."""

    commit_message: Annotated[
        _Message | None, Field(description="What was changed and why; leave out if everything is committed")
    ] = None
    directory: _Directory = None


class DirectoryArguments(Arguments):
    """Arguments of ``complete_task`` and ``get_task_status``."""

    directory: _Directory = None
