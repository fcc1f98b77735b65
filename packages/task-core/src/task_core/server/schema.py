"""Small JSON schemas: the model pays for them on every turn, so each thing is said once (TOOL-4)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, reduce
from operator import getitem
from typing import Any, Final

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from task_core.errors import InvalidArguments
from task_core.fields import CLEARABLE
from task_core.strict_json import NotJson, read
from task_core.text import nearest

__all__ = ["Schema", "add_agent", "decode_scalars", "explain_invalid", "input_schema", "output_schema", "take_agent"]

Schema = dict[str, JsonValue]
"""A JSON schema, or a part of one that is a schema itself."""

_SHAPE: Final = frozenset({"type", "properties", "items", "prefixItems", "anyOf", "oneOf"})
"""Keywords that an output schema keeps: names and types. Anything more could only make a client reject a result."""

_SCALARS: Final = {"int_type": (int, float), "float_type": (int, float), "bool_type": (bool,)}
"""The JSON types that an argument sent as text is read as, by the name of pydantic's error."""

_UNKNOWN: Final = "extra_forbidden"
"""Pydantic's name for an unknown argument."""

_OWN_WORDS: Final = {_UNKNOWN: "This argument does not exist.", "missing": "This argument is required."}
"""The messages that replace pydantic's."""

_AGENT: Final = "agent"
"""The argument of the tools that change tasks: which of several agents in one process calls (AG-13)."""

_AGENT_FORM: Final = re.compile(r"[\w.-]{1,60}|[\w.-]{0,60}#\d{1,18}")
"""The name of an agent or the token of its claim, which has no name if the agent gave none."""


@cache
def input_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a tool's arguments, without titles and references; a recursive type becomes any object.

    A default of null is not shown, as leaving the argument out means the same, except for what is ``fields.Clearable``.
    """
    return _compact(model.model_json_schema(), _for_model)


@cache
def output_schema(model: type[BaseModel]) -> Schema:
    """Return the shape of a tool's result, with the list of warnings that any result may include (WARN-1)."""
    schema = _compact(model.model_json_schema(mode="serialization"), _only_shape)
    return {**schema, "properties": {**_by_name(schema.get("properties")), "warnings": {"type": "array"}}}


def add_agent(schema: Schema) -> Schema:
    """Return the schema of a tool's arguments with the name of the agent."""
    named: Schema = {"type": "string", "description": "Your name"}
    return {**schema, "properties": {**_by_name(schema["properties"]), _AGENT: named}}


def take_agent(arguments: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], str]:
    """Return the arguments without the agent's name, and that name or nothing, or raise ``InvalidArguments``."""
    given = dict(arguments)
    if _AGENT not in given:
        return given, ""
    agent = given.pop(_AGENT)
    if not (isinstance(agent, str) and _AGENT_FORM.fullmatch(agent)):
        raise InvalidArguments([(_AGENT, "give a name for yourself, up to 60 letters, digits, '-', '_' or '.'")])
    return given, agent


def _property_names(schema: Schema) -> Iterator[str]:
    """Yield the names of the properties in ``schema`` and in the schemas within it."""
    yield from _by_name(schema.get("properties"))
    for part in schema.values():
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, dict):
                yield from _property_names(child)


def decode_scalars(arguments: dict[str, Any], error: ValidationError) -> dict[str, Any]:
    """Change text where ``error`` asks for a number or a boolean: exactly ``true``, ``false`` or a JSON number."""
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        kinds = _SCALARS.get(problem["type"], ())
        # There is nothing at the path if it leads into JSON text.
        with suppress(LookupError, TypeError, NotJson):
            holder: Any = reduce(getitem, problem["loc"][:-1], arguments)
            text = holder[problem["loc"][-1]]
            if isinstance(text, str) and text == text.strip() and type(value := read(text).value) in kinds:
                holder[problem["loc"][-1]] = value
    return arguments


def explain_invalid(error: ValidationError, schema: Schema) -> InvalidArguments:
    """Return what is wrong with the arguments, one entry for each path, without repeating a value (ERR-1)."""
    messages: dict[str, str] = {}
    near: list[str] = []
    are_listed = False
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        suggestions, hint = _suggestions(problem, schema)
        near = near or suggestions
        message = _OWN_WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        if problem["type"] == _UNKNOWN and not are_listed and not hint.startswith(" Put"):
            known = _by_name(_find_part(schema, problem["loc"][:-1]).get("properties"))
            hint += f" There are: {', '.join(known)}." if known else ""
            are_listed = True
        path = ".".join(map(str, problem["loc"])) or "arguments"
        messages.setdefault(path, message + hint)
    return InvalidArguments([*messages.items()], near)


def _suggestions(problem: ErrorDetails, schema: Schema) -> tuple[list[str], str]:
    """Return the names that may be meant by an unknown argument, and a sentence about the first or the right place."""
    if problem["type"] != _UNKNOWN:
        return [], ""
    outer, name = problem["loc"][0], str(problem["loc"][-1])
    found = nearest(name, _property_names(schema))
    if name not in found:
        return found, f" Did you mean '{found[0]}'?" if found else ""
    within = [it for it, part in _by_name(schema.get("properties")).items() if name in _property_names(part)]
    return [], f" Put it in '{within[0]}'." if within else f" Put it beside '{outer}'."


def _find_part(schema: Schema, path: Sequence[int | str]) -> Schema:
    for step in path:
        parts = _by_name(schema.get("properties"))
        schema = _by_name(schema).get("items", {}) if isinstance(step, int) else parts.get(step, {})
    return schema


def _compact(schema: Schema, tidy: Callable[[Schema], Schema]) -> Schema:
    definitions = _by_name(schema.get("$defs"))

    def shrink(node: Schema, within: tuple[str, ...]) -> Schema:
        if isinstance(reference := node.get("$ref"), str):
            name = reference.removeprefix("#/$defs/")
            # The description of a definition is the docstring of its class, which is written for engineers.
            meant: Schema = {"type": "object"} if name in within else _without(definitions[name], "description")
            node, within = {**meant, **_without(node, "$ref")}, (*within, name)
        changed = dict(node)
        for keyword, part in node.items():
            if keyword == "properties":
                changed[keyword] = {name: shrink(child, within) for name, child in _by_name(part).items()}
            elif isinstance(part, dict):
                changed[keyword] = shrink(part, within)
            elif isinstance(part, list):
                changed[keyword] = [shrink(item, within) if isinstance(item, dict) else item for item in part]
        return tidy(changed)

    return _without(shrink(_without(schema, "$defs"), ()), "description")


def _for_model(node: Schema) -> Schema:
    shown = _without(node, "title")
    if shown.get("additionalProperties") == {}:
        shown["additionalProperties"] = True
    if CLEARABLE in shown:
        return _without(shown, "default", CLEARABLE)
    if shown.get("default", "") is not None:
        return shown
    options = shown.get("anyOf")
    typed = [option for option in (options if isinstance(options, list) else ()) if option != {"type": "null"}]
    if len(typed) == 1 and isinstance(only := typed[0], dict):
        return {**only, **_without(shown, "default", "anyOf")}
    return {**_without(shown, "default"), **({"anyOf": typed} if typed else {})}


def _only_shape(node: Schema) -> Schema:
    shape = _SHAPE if "type" in node else _SHAPE | {"enum", "const"}
    return {keyword: part for keyword, part in node.items() if keyword in shape}


def _without(node: Schema, *keywords: str) -> Schema:
    return {keyword: part for keyword, part in node.items() if keyword not in keywords}


def _by_name(part: JsonValue) -> dict[str, Schema]:
    return {name: child for name, child in part.items() if isinstance(child, dict)} if isinstance(part, dict) else {}
