"""Typed arguments for a tool, or an error that tells the model which one to correct (TOOL-2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from task_core import strict_json
from task_core.errors import InvalidArguments
from task_core.server.schema import Schema, property_names
from task_core.text import nearest

__all__ = ["invalid_arguments", "read_arguments"]

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)

_UNKNOWN: Final = "extra_forbidden"
"""What pydantic calls an argument that no field takes."""

_MISSING: Final = "missing"
"""What pydantic calls a required argument that was not given."""

_OWN_WORDS: Final = {_UNKNOWN: "There is no such argument.", _MISSING: "This argument is required."}
"""What the model reads in place of pydantic's message."""


def read_arguments(model: type[ArgumentsT], arguments: Mapping[str, JsonValue], schema: Schema) -> ArgumentsT:
    """Return ``arguments`` as ``model``; an unknown one is compared with the properties in ``schema``.

    Raises:
        InvalidArguments: one is missing, unknown, of a wrong type or out of bounds.
        DuplicateKey: one is a JSON string that repeats a key.
    """
    try:
        # Read as JSON, for only then does strict validation take a list for a tuple or text for an enum.
        return model.model_validate_json(json.dumps(arguments))
    except ValidationError as error:
        raise invalid_arguments(error, arguments, schema) from None


def invalid_arguments(error: ValidationError, arguments: Mapping[str, JsonValue], schema: Schema) -> InvalidArguments:
    """Return what is wrong with ``arguments``, one entry for each path, without repeating a value (ERR-1)."""
    messages: dict[str, list[str]] = {}
    near: list[str] = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        meant = _meant(problem, schema)
        near = near or meant
        path = _path(problem, arguments) or "arguments"
        messages.setdefault(path, []).append(_message(problem, meant))
    fields = [(path, " Or: ".join(dict.fromkeys(reasons))) for path, reasons in messages.items()]
    return InvalidArguments(fields, near)


def _meant(problem: ErrorDetails, schema: Schema) -> list[str]:
    if problem["type"] != _UNKNOWN:
        return []
    *outer, name = problem["loc"]
    top_level = schema.get("properties")
    known = property_names(schema) if outer or not isinstance(top_level, dict) else top_level
    return nearest(str(name), known)


def _message(problem: ErrorDetails, meant: Sequence[str]) -> str:
    message = _OWN_WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    return f"{message} Did you mean '{meant[0]}'?" if meant else message


def _path(problem: ErrorDetails, arguments: Mapping[str, JsonValue]) -> str:
    """Follow the location through the arguments, leaving out what is no place in them: the branches of unions."""
    steps: list[str] = []
    place: JsonValue = dict(arguments)
    for step in problem["loc"]:
        found = _found(place, step)
        place = found[0] if found else place
        if found or (problem["type"] == _MISSING and step == problem["loc"][-1]):
            steps.append(str(step))
    return ".".join(steps)


def _found(place: JsonValue, step: int | str) -> list[JsonValue]:
    """Return what stands at ``step``, in a list that is empty when nothing does."""
    inside = _read(place) if isinstance(place, str) else place
    if isinstance(inside, dict):
        return [value for name, value in inside.items() if name == step]
    return inside[step : step + 1] if isinstance(inside, list) and isinstance(step, int) else []


def _read(text: str) -> JsonValue:
    try:
        return strict_json.read(text).value
    except strict_json.NotJson:
        return None
