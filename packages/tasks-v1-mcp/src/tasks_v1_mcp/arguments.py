"""The arguments of the tools: what is accepted, with which bounds (V1-1 to V1-5, TOOL-2, TOOL-3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from typing_extensions import override

from task_core.fields import Arguments, LongText, OneLine
from task_core.rules import Line, Rule, Text, Texts, refused
from task_core.text import nearest
from tasks_v1_mcp.models import Category, Priority, Status
from tasks_v1_mcp.query import DEFAULT_LIMIT, MAX_LIMIT, Order

__all__ = ["Choice", "TaskCreate", "TaskGet", "TaskList", "TaskMove", "TaskUpdate"]

_SLUG: Final = re.compile(r"[a-z0-9_-]{1,100}")
"""What ties a task to a topic: it is the name of a folder elsewhere, so it is plain and stable (source: spec 7)."""

_TAG: Final = Line(50)


@dataclass(frozen=True, slots=True)
class Choice(Rule):
    """One of the values of an enumeration, or of the part of it that is given; ``advice`` follows in the message."""

    options: Iterable[Enum]
    advice: str = ""

    @override
    def check(self, value: object) -> Enum:
        """Return the member whose value it is; an unknown one is refused with the list and the nearest (ERR-4)."""
        for option in self.options:
            if isinstance(value, str) and value == option.value:
                return option
        near = nearest(value, self._values) if isinstance(value, str) else []
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise refused(f"Give one of {', '.join(self._values)}.{hint} {self.advice}".rstrip())

    @override
    def schema(self) -> JsonSchemaValue:
        """Return the list of the values."""
        return {"type": "string", "enum": self._values}

    @property
    def _values(self) -> list[str]:
        return [option.value for option in self.options]


class _PriorityChoice(Choice):
    """A priority by its name or by its rank."""

    @override
    def check(self, value: object) -> Enum:
        """Return the priority."""
        try:
            return Priority(value)
        except ValueError:
            return super().check(value)

    @override
    def schema(self) -> JsonSchemaValue:
        """Return the list of names and ranks."""
        return {"enum": [*self._values, *(priority.rank for priority in Priority)]}


class _Title(Line):
    """A line of at most 200 characters."""

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when it is such a line; a longer one is sent to the description."""
        return super().check(Text(self.maximum, "Put the details into description.").check(value))


class _Slug(Rule):
    """A short, stable name of a topic."""

    @override
    def check(self, value: object) -> str:
        """Return ``value`` unchanged when it is a slug."""
        if not isinstance(value, str) or not _SLUG.fullmatch(value):
            raise refused("Give 1 to 100 lower-case letters, digits, _ or -, such as space_industry.")
        return value

    @override
    def schema(self) -> JsonSchemaValue:
        """Return the pattern."""
        return {"type": "string", "pattern": f"^{_SLUG.pattern}$"}


def _elsewhere(_: object) -> object:
    raise refused("Call update_task_status to change the status.")


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _items(value: object) -> tuple[object, ...]:
    return tuple(Texts().check(value))


_Description = Annotated[str, Text(4_000, "Keep a summary here and put long text into a file or a memory service.")]
_Category = Annotated[Category, Choice(Category)]
_Priority = Annotated[Priority, _PriorityChoice(Priority)]
_Status = Annotated[Status, Choice(Status)]
_Tags = Annotated[tuple[str, ...], Texts(_TAG, maximum=20), AfterValidator(_distinct)]
_Topic = Annotated[str, _Slug()]
_Source = Annotated[str, Text(100, "Long text belongs in a file or a memory service.")]
_Statuses = Annotated[
    tuple[_Status, ...],
    BeforeValidator(_items),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"enum": [status.value for status in Status]}}]}
    ),
]


class _Given(Arguments):
    """Arguments that become fields of a task."""

    @property
    def given(self) -> dict[str, object]:
        """The arguments that were given, null ones too, by name."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


class TaskCreate(_Given):
    """Arguments of ``create_task``; null is as good as leaving one out."""

    title: Annotated[str, _Title(200), Field(description="What is to be done, in a sentence")]
    description: Annotated[_Description | None, Field(description="Background, assumptions, questions")] = None
    category: Annotated[_Category | None, Field(description="Default other")] = None
    priority: Annotated[_Priority | None, Field(description="Default medium; 3 is high")] = None
    tags: Annotated[_Tags | None, Field(description="Free labels")] = None
    topic_id: Annotated[_Topic | None, Field(description="Slug of its research topic")] = None
    source: Annotated[_Source | None, Field(description="Where it came from, such as manual_note")] = None
    status: Annotated[
        Annotated[
            Status,
            Choice((Status.PENDING, Status.IN_PROGRESS), "Create it first, then call update_task_status."),
        ]
        | None,
        Field(description="Default pending"),
    ] = None


def _null() -> None:
    """Return what a field holds that was not given; as no constant, so that null is shown to say something."""


class TaskUpdate(_Given):
    """Arguments of ``update_task``; null sets a field back."""

    id: OneLine
    title: Annotated[str | None, _Title(200)] = None
    description: _Description | None = Field(default_factory=_null)
    category: _Category | None = Field(default_factory=_null)
    priority: _Priority | None = Field(default_factory=_null)
    tags: _Tags | None = Field(default_factory=_null, description="In place of all present ones")
    topic_id: _Topic | None = Field(default_factory=_null)
    source: _Source | None = Field(default_factory=_null)
    status: SkipJsonSchema[Annotated[object, BeforeValidator(_elsewhere)]] = None


class TaskMove(Arguments):
    """Arguments of ``update_task_status``."""

    id: OneLine
    status: _Status


class TaskGet(Arguments):
    """Arguments of ``get_task``."""

    id: OneLine


class TaskList(Arguments):
    """Arguments of ``list_tasks``; null, and an empty list, is as good as leaving a filter out."""

    status: Annotated[_Statuses | None, Field(description="One or several")] = None
    category: _Category | None = None
    topic_id: _Topic | None = None
    tags_any: Annotated[Annotated[tuple[str, ...], Texts(_TAG)] | None, Field(description="Any of these tags")] = None
    priority: _Priority | None = None
    query: Annotated[LongText | None, Field(description="Text in title, description or tags, in any case")] = None
    order_by: Annotated[Order, Choice(Order)] = Order.CREATED
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: Annotated[LongText | None, Field(description="next_cursor of the page before; repeat its filters")] = None
    include_description: bool = False
