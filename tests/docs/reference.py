"""The reference of each server, written from its code when the site is built: nothing in it can be out of date."""

from __future__ import annotations

import ast
import inspect
import json
import os
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, Final

from mcp_types import Tool
from pydantic import TypeAdapter

from cortex_cli.errors import ERRORS, CortexError
from cortex_mcp.errors import CTX_ERRORS, CtxError
from task_core.cli.main import run
from task_core.cli.registration import run_install
from task_core.cli.settings import describe_settings
from task_core.cli.view.commands import run_view_command
from task_core.errors import TaskError
from tests.docs.messages import FILLED_IN, messages_in
from tests.servers import PROGRAMS, ProgramRecord

__all__ = ["reference_pages"]

Schema = Mapping[str, Any]

_SHORT: Final = 25
"""Characters of a text that is not a whole message."""

_HEAD: Final = "---\nsearch:\n  boost: 0.5\n---\n\n"
"""Pages that explain come first in a search."""


@cache
def reference_pages() -> dict[str, str]:
    """Return the pages of the reference by their places on the site."""
    pages = {f"reference/{record.command}.md": _server_page(record) for record in PROGRAMS}
    about = (
        "# Errors of every server\n\nThe codes that all servers share, and their messages; "
        f"`{FILLED_IN}` is filled in. The page of each server has its own."
    )
    return {**pages, "reference/errors.md": "\n\n".join([_HEAD + about, _errors(TaskError, "task_core.errors")])}


def _server_page(record: ProgramRecord) -> str:
    own = _errors(TaskError, *_modules(record.package))
    parts = [
        f"{_HEAD}# Reference of {record.command}",
        f"Written from the code of {record.command} {record.program().version()} when this site was built.",
        "## Tools",
        *(_tool(tool) for tool in _tools(record)),
        "## Settings",
        _table(("variable", "default", "meaning"), _settings(record)),
        "## Command line",
        *(f"```text\n{text}\n```" for text in _help(record)),
        "## Errors",
        "In addition to [those of every server](errors.md):" if own else "Only [those of every server](errors.md).",
        own,
    ]
    if record.package == "cortex_mcp":
        parts += [_sentences(CTX_ERRORS), "### From ctx", _errors(CortexError, "cortex_cli.errors"), _sentences(ERRORS)]
    return "\n\n".join(part for part in parts if part)


def _tools(record: ProgramRecord) -> list[Tool]:
    """Return every tool, as the server itself lists it; a test compares what it says while it starts with that."""
    folder = Path(str(import_module(record.package).__file__)).parent
    greeting = json.loads((folder / "greeting.json").read_text("utf-8"))
    return TypeAdapter(list[Tool]).validate_python(greeting["tools"])


def _tool(tool: Tool) -> str:
    hints = tool.annotations
    facts = [
        "Only reads." if hints and hints.read_only_hint else "Changes tasks.",
        "Calling it twice is the same as once." if hints and hints.idempotent_hint else "",
        "May remove something." if hints and hints.destructive_hint and not hints.read_only_hint else "",
    ]
    arguments = [*_arguments(tool.input_schema)]
    table = _table(("argument", "type", "default", "meaning"), arguments) if arguments else "It takes no arguments."
    description = _plain(inspect.cleandoc(tool.description or ""))
    return "\n\n".join([f"### `{tool.name}`", description, " ".join(fact for fact in facts if fact), table])


def _arguments(schema: Schema) -> Iterator[tuple[str, ...]]:
    for name, found in schema.get("properties", {}).items():
        default = "required" if name in schema.get("required", ()) else ""
        if found.get("default") is not None:
            default = f"`{json.dumps(found['default'], ensure_ascii=False)}`"
        yield f"`{name}`", _type(found, schema.get("$defs", {})), default, _plain(found.get("description", ""))


def _type(schema: Schema, shared: Mapping[str, Schema]) -> str:
    """Return what a value must be, in words."""
    if "$ref" in schema:
        return _type(shared[schema["$ref"].rpartition("/")[2]], shared)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(option, shared) for option in options))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"array of {_type(schema.get('items', {}), shared)}"
    bounds = [
        f"{word} {schema[name]:,}"
        for name, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "at most"))
        if name in schema
    ]
    return " ".join([str(kind), *bounds])


def _settings(record: ProgramRecord) -> Iterator[tuple[str, str, str]]:
    for name, text, default in describe_settings(record.settings_type):
        yield f"`{name}`", default.removeprefix("default ").replace(str(Path.home()), "~"), _plain(text)


def _help(record: ProgramRecord) -> Iterator[str]:
    """Yield the help of the server, and of each command that has options of its own."""
    program = record.program()
    yield _output(lambda: run(program, ["--help"])).partition("\nenvironment variables:")[0].rstrip()
    for command in ("install", "uninstall"):
        yield _output(partial(run_install, program, [command, "--help"]))
    for command in ("list", "show", "next", "watch") if program.view else ():
        yield _output(partial(run_view_command, program, [command, "--help"]))


def _output(command: Callable[[], object]) -> str:
    """Return what a command prints before it ends the process, on a terminal of a usual width."""
    former, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "100"
    try:
        with redirect_stdout(StringIO()) as output, suppress(SystemExit):
            command()
    finally:
        os.environ.pop("COLUMNS")
        if former is not None:
            os.environ["COLUMNS"] = former
    return output.getvalue().strip().replace(str(Path.home()), "~")


def _modules(package: str) -> list[str]:
    folder = Path(str(import_module(package).__file__)).parent
    found = (module.name for module in pkgutil.walk_packages([str(folder)], f"{package}."))
    return [name for name in found if name.endswith(".errors")]


def _errors(base: type[Exception], *modules: str) -> str:
    kinds = [
        kind
        for module in modules
        for kind in vars(import_module(module)).values()
        if inspect.isclass(kind) and issubclass(kind, base) and kind.__module__ == module and kind is not base
    ]
    single = [kind for kind in kinds if not kind.__subclasses__() and kind is not CtxError]
    rows = [(_code(kind), _plain(_first_sentence(kind)), _messages(kind)) for kind in single]
    return _table(("code", "when", "message"), rows) if rows else ""


def _sentences(errors: Mapping[str, str]) -> str:
    """Return the errors that a package has in a table: the sentence of each code."""
    rows = [(f"`{code}`", _plain(re.sub(r"{[^}]*}", FILLED_IN, text))) for code, text in errors.items()]
    return _table(("code", "message"), rows)


def _code(kind: type[Exception]) -> str:
    try:
        code = getattr(kind.__new__(kind), "code", "") or kind.__name__
    except AttributeError:
        return "any"
    reason = getattr(kind, "reason", "")
    return f"`{code}`" + (f", `{reason}`" if reason else "")


def _first_sentence(kind: type[Exception]) -> str:
    return " ".join(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def _messages(kind: type[Exception]) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    whole = [text for text in messages_in(tree) if len(text) > _SHORT and text.rstrip()[-1] in ".?"]
    return "<br>".join(_plain(text) for text in whole)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Return text in which Markdown finds code and paragraphs, and nothing else."""
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(map(_escape, paragraphs))


def _escape(paragraph: str) -> str:
    parts = paragraph.split("`")
    outside = (part.replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2])
    parts[::2] = [re.sub(r"([\\*_\[\]|#])", r"\\\1", part) for part in outside]
    parts[1::2] = [part.replace("|", "\\|") for part in parts[1::2]]
    return "`".join(parts)
