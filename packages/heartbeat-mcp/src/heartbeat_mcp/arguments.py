"""The arguments of the tools: what is accepted, with which bounds (TOOL-2, TOOL-3, HB-2 to HB-5)."""

import re
from contextlib import suppress
from datetime import datetime
from math import isfinite
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
from pydantic_core import PydanticCustomError

from heartbeat_mcp.models import HeartbeatStatus
from task_core.fields import (
    MAX_TEXT,
    Arguments,
    AsInteger,
    Clearable,
    LongText,
    OneLine,
    TextList,
    check_well_formed,
    decode_object,
    invalid_value,
    line,
    one_of,
    parse_json,
    text,
)
from task_core.models import as_utc
from task_core.strict_json import NotJson

__all__ = [
    "MAX_KEYS",
    "MAX_NESTING",
    "MAX_PATH",
    "FreeObject",
    "FreeValue",
    "PathText",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "Updates",
]

MAX_KEYS: Final = 50
"""Keys of an object of extra fields (TOOL-3)."""

MAX_NESTING: Final = 32
"""Levels of a free value; the value itself is the first (TOOL-3)."""

MAX_PATH: Final = 1_024
"""Bytes of a path or URL in UTF-8 (TOOL-3, S2)."""


def _free_value(value: object) -> object:
    # Text stays text, even if it looks like JSON; but text that looks like JSON must not repeat a key.
    _check_free(value, MAX_NESTING)
    if isinstance(value, str):
        with suppress(NotJson):
            parse_json(value)
    return value


def _free_object(value: object) -> object:
    members = decode_object(value)
    if not isinstance(members, dict):
        raise invalid_value("Give a JSON object.")
    if len(members) > MAX_KEYS:
        raise invalid_value(f"Give at most {MAX_KEYS} keys; there are {len(members):,}.")
    _check_free(members, MAX_NESTING)
    for name in members:
        try:
            line(name)
        except PydanticCustomError as error:
            raise invalid_value(f"Correct the name of a key: {error}") from None
    return members


def _path(value: object) -> str:
    path = check_well_formed(value)
    size = len(path.encode("utf-8"))
    if not path:
        raise invalid_value("Give a path or an http(s) URL, or leave it out.")
    if size > MAX_PATH:
        raise invalid_value(f"Shorten it to {MAX_PATH:,} bytes in UTF-8; it has {size:,}.")
    return path


def _check_free(value: object, levels: int) -> None:
    if isinstance(value, str):
        text(value)
    elif isinstance(value, (dict, list)):
        if not levels:
            raise invalid_value(f"Nest it at most {MAX_NESTING} levels deep.")
        for part in value.values() if isinstance(value, dict) else value:
            _check_free(part, levels - 1)
        for key in value if isinstance(value, dict) else ():
            check_well_formed(key)
    elif isinstance(value, float) and not isfinite(value):
        raise invalid_value("Give finite numbers: NaN and Infinity are not JSON.")
    elif not (value is None or isinstance(value, (int, float))):
        raise invalid_value("Give a JSON value.")


FreeObject = Annotated[
    dict[str, JsonValue], PlainValidator(_free_object), WithJsonSchema({"type": "object", "maxProperties": MAX_KEYS})
]
"""An object of at most 50 keys and 32 levels, the object itself the first, or a JSON string of one."""

FreeValue = Annotated[JsonValue, PlainValidator(_free_value), WithJsonSchema({})]
"""Any JSON value of at most 32 levels."""

PathText = Annotated[str, PlainValidator(_path), WithJsonSchema({"type": "string", "maxLength": MAX_PATH})]
"""A path or URL of at most 1,024 bytes; ``paths`` checks where it leads."""


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
