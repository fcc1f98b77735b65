"""Typed arguments for a tool, or an error that tells the model which one to correct (TOOL-2)."""

import json
from collections.abc import Mapping
from typing import Final, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from task_core.errors import InvalidArguments
from task_core.server.schema import Schema, property_names
from task_core.text import nearest

__all__ = ["invalid_arguments", "read_arguments"]

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)

_UNKNOWN: Final = "extra_forbidden"
"""Pydantic's name for an unknown argument."""

_OWN_WORDS: Final = {_UNKNOWN: "This argument does not exist.", "missing": "This argument is required."}
"""The messages that replace pydantic's."""


def read_arguments(model: type[ArgumentsT], arguments: Mapping[str, JsonValue], schema: Schema) -> ArgumentsT:
    """Return ``arguments`` as ``model``; an unknown one is compared with the properties in ``schema``.

    Raises:
        InvalidArguments: one is missing, unknown, of a wrong type or out of bounds.
        DuplicateKey: one is a JSON string that repeats a key.
    """
    try:
        # Validated as JSON: only then does strict validation accept a list for a tuple or text for an enum.
        return model.model_validate_json(json.dumps(arguments))
    except ValidationError as error:
        raise invalid_arguments(error, schema) from None


def invalid_arguments(error: ValidationError, schema: Schema) -> InvalidArguments:
    """Return what is wrong with the arguments, one entry for each path, without repeating a value (ERR-1)."""
    messages: dict[str, str] = {}
    near: list[str] = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        suggestions = _suggestions(problem, schema)
        near = near or suggestions
        message = _OWN_WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        hint = f" Did you mean '{suggestions[0]}'?" if suggestions else ""
        path = ".".join(map(str, problem["loc"])) or "arguments"
        messages.setdefault(path, message + hint)
    return InvalidArguments([*messages.items()], near)


def _suggestions(problem: ErrorDetails, schema: Schema) -> list[str]:
    if problem["type"] != _UNKNOWN:
        return []
    *outer, name = problem["loc"]
    top_level = schema.get("properties")
    known = property_names(schema) if outer or not isinstance(top_level, dict) else top_level
    return nearest(str(name), known)
