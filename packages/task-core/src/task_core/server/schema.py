"""Small JSON schemas: a model pays for what it is shown on every turn, so each thing is said once (TOOL-4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pydantic import BaseModel, JsonValue

__all__ = ["Schema", "input_schema", "output_schema", "property_names"]

Schema = dict[str, JsonValue]
"""A JSON schema, or a part of one that is a schema itself."""

_SINGLE: Final = frozenset({"items", "additionalProperties"})
"""Keywords that hold one schema."""

_LISTS: Final = frozenset({"anyOf", "oneOf", "prefixItems"})
"""Keywords that hold a list of schemas."""

_SHAPE: Final = frozenset({"type", "properties", "items", "prefixItems", "anyOf", "oneOf", "$ref"})
"""What an output schema keeps: names and types. Anything more could only refuse a result that was given."""

_REF: Final = "#/$defs/"
"""How a reference to a definition within the schema starts."""


def input_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a tool's arguments, without titles, and with ``$ref`` only where a type recurs.

    Where the default is null, null is not shown: leaving the argument out says the same. Where null says something
    of its own, such as "clear this", the field must have another default, for example one from a ``default_factory``.
    """
    return _compact(model.model_json_schema(), _for_model)


def output_schema(model: type[BaseModel]) -> Schema:
    """Return the shape of a tool's result, with the list of warnings that any result may bring along (WARN-1)."""
    schema = _compact(model.model_json_schema(mode="serialization"), _only_shape)
    warnings: Schema = {"type": "array", "items": {"type": "string"}}
    return {**schema, "properties": {**_by_name(schema.get("properties")), "warnings": warnings}}


def property_names(schema: Schema) -> Iterator[str]:
    """Yield the names of the properties in ``schema`` and in the schemas within it."""
    yield from _by_name(schema.get("properties"))
    for child in _children(schema):
        yield from property_names(child)


def _compact(schema: Schema, tidy: Callable[[Schema], Schema]) -> Schema:
    # The description of a definition is the docstring of its class, which speaks to engineers.
    definitions = {name: _without(part, "description") for name, part in _by_name(schema.get("$defs")).items()}
    recurring = [name for name, part in definitions.items() if name in _reached(part, definitions)]

    def shrink(node: Schema) -> Schema:
        name = _target(node)
        if name is not None and name not in recurring:
            return shrink({**definitions[name], **_without(node, "$ref")})
        return tidy(_with_children(node, shrink))

    root = shrink(_without(definitions.get(_target(schema) or "", schema), "description", "$defs"))
    kept: Schema = {name: shrink(definitions[name]) for name in recurring}
    return {**root, "$defs": kept} if kept else root


def _for_model(node: Schema) -> Schema:
    shown = _without(node, "title")
    if shown.get("additionalProperties") == {}:
        shown["additionalProperties"] = True
    return _without_null(_without(shown, "default")) if shown.get("default", "") is None else shown


def _without_null(node: Schema) -> Schema:
    options = [option for option in _listed(node.get("anyOf")) if option != {"type": "null"}]
    if len(options) == 1:
        return {**options[0], **_without(node, "anyOf")}
    return {**node, "anyOf": list(options)} if options else node


def _only_shape(node: Schema) -> Schema:
    shape = _SHAPE if "type" in node else _SHAPE | {"enum", "const"}
    return {keyword: part for keyword, part in node.items() if keyword in shape}


def _without(node: Schema, *keywords: str) -> Schema:
    return {keyword: part for keyword, part in node.items() if keyword not in keywords}


def _target(node: Schema) -> str | None:
    reference = node.get("$ref")
    return reference.removeprefix(_REF) if isinstance(reference, str) else None


def _reached(node: Schema, definitions: dict[str, Schema]) -> set[str]:
    """Return the names of all definitions that ``node`` refers to, itself or through others."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        waiting.extend(_children(part))
        name = _target(part)
        if name is not None and name not in found:
            found.add(name)
            waiting.append(definitions[name])
    return found


def _children(node: Schema) -> Iterator[Schema]:
    for keyword, part in node.items():
        if keyword == "properties":
            yield from _by_name(part).values()
        elif keyword in _LISTS:
            yield from _listed(part)
        elif keyword in _SINGLE and isinstance(part, dict):
            yield part


def _with_children(node: Schema, change: Callable[[Schema], Schema]) -> Schema:
    changed = dict(node)
    for keyword, part in node.items():
        if keyword == "properties":
            changed[keyword] = {name: change(child) for name, child in _by_name(part).items()}
        elif keyword in _LISTS:
            changed[keyword] = [change(option) for option in _listed(part)]
        elif keyword in _SINGLE and isinstance(part, dict):
            changed[keyword] = change(part)
    return changed


def _listed(part: JsonValue) -> list[Schema]:
    return [option for option in part if isinstance(option, dict)] if isinstance(part, list) else []


def _by_name(part: JsonValue) -> dict[str, Schema]:
    return {name: child for name, child in part.items() if isinstance(child, dict)} if isinstance(part, dict) else {}
