"""The tools' arguments with their bounds (V1-1 to V1-5, TOOL-2, TOOL-3)."""

import re
from enum import StrEnum
from functools import partial
from itertools import chain
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from task_core import store
from task_core.fields import (
    MAX_LIST,
    Arguments,
    AsInteger,
    Clearable,
    LongText,
    OneLine,
    as_integer,
    at_most,
    invalid_value,
    line,
    match_word,
    one_of,
    texts,
)
from tasks_v1_mcp.models import Category, Priority, V1Status

__all__ = [
    "CreateTaskArguments",
    "GetTaskArguments",
    "ListOrder",
    "ListTasksArguments",
    "MoveTaskArguments",
    "UpdateTaskArguments",
]

_DEFAULT_LIMIT: Final = 20
"""Tasks on a page by default (V1-2)."""

_MAX_LIMIT: Final = 100
"""Maximum tasks on a page (V1-2)."""

_SLUG: Final = re.compile(r"[a-z0-9_-]{1,100}")
"""The form of a topic's id: it is the name of a folder elsewhere, so it is plain and stable (source: spec 7)."""


class ListOrder(StrEnum):
    """The order of a list; ties by creation, the newest first, then by id, the highest first."""

    CREATED = "created_at_desc"
    RANK = "priority_desc"
    UPDATED = "updated_at_desc"

    @property
    def order(self) -> store.Order:
        """The order for which the store keeps an index; the index is read from its end."""
        return store.Order[self.name]


def _name_rank(value: object) -> object:
    try:
        return Priority(as_integer(value))
    except ValueError:
        return value


def _slug(value: object) -> str:
    if not isinstance(value, str) or not _SLUG.fullmatch(value):
        raise invalid_value("Give 1 to 100 lower-case letters, digits, _ or -, such as space_industry.")
    return value


def _refuse_status(_: object) -> object:
    raise invalid_value("Call update_task_status to change the status.")


def _expand_open(value: object) -> tuple[object, ...]:
    """Return the items of a status filter, with ``open`` as the two statuses that it stands for (PE-19)."""
    spread = ((V1Status.PENDING, V1Status.IN_PROGRESS) if match_word(it, ["open"]) else (it,) for it in texts(value))
    return tuple(chain.from_iterable(spread))


def _drop_duplicates(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


_TITLE: Final = at_most(200, line, advice="Put the details into description.")
"""The check of a title, and its schema."""

_Description = Annotated[
    str, *at_most(4_000, advice="Keep a summary here and put long text in a file or a memory service.")
]
_Source = Annotated[str, *at_most(100, advice="Long text belongs in a file or a memory service.")]
_Topic = Annotated[str, PlainValidator(_slug), WithJsonSchema({"type": "string", "pattern": f"^{_SLUG.pattern}$"})]
_Tag = Annotated[str, PlainValidator(partial(line, maximum=50))]
_Tags = Annotated[
    tuple[_Tag, ...],
    BeforeValidator(partial(texts, maximum=20)),
    AfterValidator(_drop_duplicates),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "maxItems": 20}),
]
_AnyTags = Annotated[
    tuple[_Tag, ...],
    BeforeValidator(texts),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "maxItems": MAX_LIST}),
]
_FIRST: Final = (V1Status.PENDING, V1Status.IN_PROGRESS)
_Category = Annotated[Category, *one_of(Category, Category)]
_Priority = Annotated[Priority, *one_of(Priority, Priority), BeforeValidator(_name_rank)]
_Status = Annotated[V1Status, *one_of(V1Status, V1Status)]
_FirstStatus = Annotated[V1Status, *one_of(_FIRST, V1Status, advice="Create it first, then call update_task_status.")]
_Statuses = Annotated[
    tuple[_Status, ...],
    BeforeValidator(_expand_open),
    AfterValidator(_drop_duplicates),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string", "enum": [*map(str, V1Status)]}}]}
    ),
]
_Id = Annotated[OneLine, Field(description="Id")]
_Order = Annotated[ListOrder, *one_of(ListOrder, ListOrder)]


class CreateTaskArguments(Arguments):
    """Arguments of ``create_task``; null means the same as leaving one out."""

    title: Annotated[str, *_TITLE, Field(description="What to do, in one sentence")]
    description: Annotated[_Description | None, Field(description="Background, assumptions, questions")] = None
    category: Annotated[_Category | None, Field(description="Default other")] = None
    priority: Annotated[_Priority | None, Field(description="Default medium; 1, 2, 3 also work")] = None
    tags: Annotated[_Tags | None, Field(description="Free labels")] = None
    topic_id: Annotated[_Topic | None, Field(description="Slug of its research topic")] = None
    source: Annotated[_Source | None, Field(description="Where it came from, such as manual_note")] = None
    status: Annotated[_FirstStatus | None, Field(description="Default pending")] = None


class UpdateTaskArguments(Arguments):
    """Arguments of ``update_task``; null resets a field."""

    id: _Id
    title: Annotated[str | None, *_TITLE, Field(description="Title")] = None
    description: Annotated[_Description | None, Clearable, Field(description="Text")] = None
    category: Annotated[_Category | None, Clearable, Field(description="null: other")] = None
    priority: Annotated[_Priority | None, Clearable, Field(description="null: medium; or 1, 2, 3")] = None
    tags: Annotated[_Tags | None, Clearable, Field(description="Replaces all tags")] = None
    topic_id: Annotated[_Topic | None, Clearable, Field(description="Topic")] = None
    source: Annotated[_Source | None, Clearable, Field(description="Origin")] = None
    status: SkipJsonSchema[Annotated[object, BeforeValidator(_refuse_status)]] = None


class MoveTaskArguments(Arguments):
    """Arguments of ``update_task_status``."""

    id: _Id
    status: Annotated[_Status, Field(description="New status")]


class GetTaskArguments(Arguments):
    """Arguments of ``get_task``."""

    id: _Id


class ListTasksArguments(Arguments):
    """Arguments of ``list_tasks``; null or an empty list means the same as leaving a filter out."""

    status: Annotated[
        _Statuses | None, Field(description="One or more; open: pending and in_progress; default all")
    ] = None
    category: Annotated[_Category | None, Field(description="Default all")] = None
    topic_id: Annotated[_Topic | None, Field(description="Default all")] = None
    tags_any: Annotated[_AnyTags | None, Field(description="Any of these tags; default no filter")] = None
    priority: Annotated[_Priority | None, Field(description="Default all; or 1, 2, 3")] = None
    query: Annotated[
        LongText | None, Field(description="Words that must all be in title, description or tags; default no filter")
    ] = None
    order_by: Annotated[_Order, Field(description="Sort order")] = ListOrder.CREATED
    limit: Annotated[int, Field(ge=1, le=_MAX_LIMIT, description="Page size"), AsInteger] = _DEFAULT_LIMIT
    cursor: Annotated[
        LongText | None,
        Field(description="next_cursor of the previous page, with the same filters; default the first page"),
    ] = None
    include_description: Annotated[bool, Field(description="Also descriptions")] = False
