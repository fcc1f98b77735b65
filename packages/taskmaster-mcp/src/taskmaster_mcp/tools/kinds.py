"""The kinds of arguments that the tools share: ids, texts, words and free values, with their limits (TM-33, TM-87)."""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import BeforeValidator, Field, JsonValue, PlainSerializer, PlainValidator, WithJsonSchema

from task_core.fields import AsInteger, at_most, check_well_formed, decode_object, invalid_value, one_of, text
from taskmaster_mcp.core.items import PRIORITIES
from taskmaster_mcp.core.stored_words import STATUSES

__all__ = [
    "Dependencies",
    "Description",
    "Details",
    "ItemId",
    "Items",
    "JsonObjectArgument",
    "Number",
    "PlanOf",
    "Priority",
    "Status",
    "Switch",
    "TelemetryArgument",
    "TestStrategy",
    "drop_default",
]

ItemT = TypeVar("ItemT")

_MAX_IDS: Final = 100
"""Ids that one call may name (TM-87)."""

_MAX_DEPENDENCIES: Final = 200

_MAX_PLANNED: Final = 200

_MAX_FREE: Final = 100_000
"""Characters of free values, such as metadata, as JSON."""

_MAX_DEPTH: Final = 32
"""Levels of free values."""

_MAX_TELEMETRY: Final = 4_096

_MAX_ID: Final = 200
"""Characters of an id."""

_ID: Final = re.compile(r"#?\s*([0-9]{1,15})(?:\.([0-9]{1,15}))?")


def _item_id(value: object) -> str:
    given = str(value) if isinstance(value, int) and not isinstance(value, bool) else check_well_formed(value)
    given = given.strip()
    found = _ID.fullmatch(given)
    if not found:
        if not given or len(given) > _MAX_ID:
            raise invalid_value("Give the id of a task, such as '5', or of a subtask, such as '5.2'.")
        return given  # some projects have ids that are text
    return f"{int(found[1])}.{int(found[2])}" if found[2] else str(int(found[1]))


def _parse_ids(value: object, *, maximum: int = _MAX_IDS) -> tuple[str, ...]:
    if isinstance(value, str) and value.strip().startswith("["):
        value = decode_object(value, "list")
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    found = tuple(dict.fromkeys(map(_item_id, parts)))
    if len(found) > maximum:
        raise invalid_value(f"Give at most {maximum} ids; there are {len(found)}.")
    return found


def _dependencies(value: object) -> tuple[str, ...]:
    is_empty = value in ("", []) or value is None
    return () if is_empty else _parse_ids(value, maximum=_MAX_DEPENDENCIES)


def _decode_list(value: object) -> object:
    """Return a list as a tuple, decoded if it came as JSON text; anything else as it is."""
    found = decode_object(value, "list")
    if isinstance(found, list | tuple) and len(found) > _MAX_PLANNED:
        raise invalid_value(f"Give at most {_MAX_PLANNED} entries; there are {len(found)}.")
    return tuple(found) if isinstance(found, list) else found


def _free(value: object, *, maximum: int = _MAX_FREE) -> dict[str, JsonValue]:
    found = decode_object(value)
    if not isinstance(found, dict):
        raise invalid_value("Give a JSON object.")
    text(json.dumps(found, ensure_ascii=False), maximum=maximum)
    level: list[Any] = [found]
    for _ in range(_MAX_DEPTH + 1):
        level = [part for it in level for part in (it.values() if isinstance(it, dict) else it)]
        level = [part for part in level if isinstance(part, dict | list)]
        if not level:
            return found
    raise invalid_value(f"Nest it at most {_MAX_DEPTH} levels deep.")


def _telemetry(value: object) -> dict[str, JsonValue] | None:
    """Return what callers report about their costs as one: the sum of numbers, a list of other values that differ."""
    rows = value if isinstance(value, list | tuple) else [value]
    entries = [_free(row, maximum=_MAX_TELEMETRY) for row in rows[:_MAX_IDS]]
    names = dict.fromkeys(name for entry in entries for name in entry)
    summed = {name: _sum([entry[name] for entry in entries if name in entry]) for name in names}
    return _free(summed, maximum=_MAX_TELEMETRY) if entries else None


def _sum(values: Sequence[JsonValue]) -> JsonValue:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values):
        return sum(numbers)
    distinct = [value for place, value in enumerate(values) if value not in values[:place]]
    return distinct[0] if len(distinct) == 1 else distinct


def drop_default(schema: dict[str, Any]) -> None:
    """Leave out of a schema that an argument is empty or off unless it is given."""
    del schema["default"]


Switch = Annotated[bool, Field(json_schema_extra=drop_default)]
"""Off unless it is given; the schema need not say so."""

_TEXT: Final = WithJsonSchema({"type": "string"})

ItemId = Annotated[str, PlainValidator(_item_id), _TEXT]
"""The id of a task or a subtask, normalized."""

Items = Annotated[tuple[str, ...], PlainValidator(_parse_ids), PlainSerializer(",".join, str), _TEXT]
"""Ids by comma."""

Dependencies = Annotated[
    tuple[str, ...],
    PlainValidator(_dependencies),
    PlainSerializer(",".join, str),
    _TEXT,
    Field(json_schema_extra=drop_default),
]
"""Ids by comma, or as a list, or none unless they are given."""

# Only the checks: a schema with the numbers would cost each model that reads the tools.
Description = Annotated[str, at_most(10_000)[0], _TEXT]

Details = Annotated[str, at_most(100_000)[0], _TEXT]

TestStrategy = Annotated[str, at_most(20_000)[0], _TEXT]

Status = Annotated[str, *one_of(STATUSES)]

Priority = Annotated[str, *one_of(PRIORITIES)]

Number = Annotated[int, Field(ge=0, le=200), AsInteger, WithJsonSchema({"type": "integer"})]
"""A number of tasks or subtasks to make."""

PlanOf = Annotated[tuple[Annotated[ItemT, BeforeValidator(decode_object)], ...], BeforeValidator(_decode_list)]
"""A list of objects, at most 200; it and they may come as JSON text."""

JsonObjectArgument = Annotated[dict[str, JsonValue], BeforeValidator(_free), WithJsonSchema({"type": "object"})]
"""An object of any members, 32 levels deep."""

TelemetryArgument = Annotated[dict[str, JsonValue] | None, BeforeValidator(_telemetry)]
"""The cost of thinking as callers report it: objects of at most 4 KB, as one."""
