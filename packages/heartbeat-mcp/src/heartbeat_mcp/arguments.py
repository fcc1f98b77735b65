"""The arguments of the tools: what is accepted, with which bounds (TOOL-2, TOOL-3, HB-2 to HB-5)."""

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from heartbeat_mcp.fields import FreeObject, FreeValue, PathText
from heartbeat_mcp.models import HeartbeatStatus
from task_core.fields import (
    MAX_TEXT,
    Arguments,
    AsInteger,
    Clearable,
    LongText,
    OneLine,
    TextList,
    decode_object,
    invalid_value,
    one_of,
    text,
)
from task_core.models import as_utc

__all__ = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "Updates"]

_DATE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
"""The start of an ISO 8601 date-time; pydantic alone would accept a bare number."""


def _moment(value: object) -> object:
    if isinstance(value, str) and _DATE_TIME.match(value):
        try:
            return as_utc(TypeAdapter(datetime).validate_python(value))
        except ValidationError:
            pass
    raise invalid_value("Give an ISO 8601 date-time such as 2026-01-31T12:00:00Z.")


def _request(value: object) -> str:
    request = text(value)
    if not request.strip():
        raise invalid_value("Give the request; it must not be blank.")
    return request


class _Open(Arguments):
    """Arguments of which an unknown one is an extra field."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[OneLine, FreeValue]

    @property
    def other(self) -> dict[str, JsonValue]:
        """The arguments that are not predefined."""
        return self.__pydantic_extra__


class Updates(_Open):
    """The changes of one update; an unknown name is an extra field, which ``null`` removes."""

    status: Annotated[
        HeartbeatStatus | None, *one_of(HeartbeatStatus, HeartbeatStatus), Field(description="Status")
    ] = None
    raw_user_request: Annotated[
        str | None,
        PlainValidator(_request),
        WithJsonSchema({"type": "string", "maxLength": MAX_TEXT}),
        Field(description="Request"),
    ] = None
    raw_reference: Annotated[PathText | None, Clearable, Field(description="Path or URL")] = None
    ideas: Annotated[TextList | None, Clearable, Field(description="Ideas")] = None
    result: Annotated[LongText | None, Clearable, Field(description="Result")] = None
    result_file: Annotated[PathText | None, Clearable, Field(description="Path or URL")] = None
    completed_at: Annotated[
        datetime | None,
        BeforeValidator(_moment),
        WithJsonSchema({"type": "string", "format": "date-time"}),
        Field(description="Default now, for Complete or Fail"),
    ] = None
    claude_session_id: Annotated[OneLine | None, Clearable, Field(description="Session")] = None
    extra_fields: Annotated[FreeObject | None, Field(description="Extra fields")] = None


class TaskCreate(_Open):
    """Arguments of ``task_create``."""

    raw_user_request: Annotated[
        LongText,
        BeforeValidator(_request),
        Field(description="The user's request, in full"),
    ]
    raw_reference: Annotated[PathText | None, Field(description="Path or URL")] = None
    ideas: Annotated[TextList | None, Field(description="First ideas")] = None
    extra_fields: Annotated[FreeObject | None, Field(description="Extra fields, by name")] = None


class TaskUpdate(Arguments):
    """Arguments of ``task_update``."""

    task_id: Annotated[OneLine, Field(description="Id")]
    updates: Annotated[
        Updates,
        BeforeValidator(decode_object),
        Field(description="New values; null clears; other names are extra fields"),
    ]
    append_ideas: Annotated[bool, Field(description="Append ideas")] = False


class TaskList(Arguments):
    """Arguments of ``task_list``."""

    include_completed: Annotated[bool, Field(description="Include finished tasks")] = False
    days_to_keep_completed: Annotated[
        float | None, Field(ge=0, description="Days since finished, at most; default any")
    ] = None
    include_archived: Annotated[bool, Field(description="Include archived tasks")] = False
    limit: Annotated[int, Field(ge=1, le=1_000, description="Page size"), AsInteger] = 100
    after: Annotated[OneLine | None, Field(description="Continue after this id")] = None


class TaskGet(Arguments):
    """Arguments of ``task_get``."""

    task_id: Annotated[OneLine, Field(description="Id")]
