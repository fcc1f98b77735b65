"""Writes what describes each server to others, from its settings, its tools and its ``pyproject.toml``.

``hatch run manifests`` writes the greetings, ``server.json`` for registries, ``manifest.json`` for bundles, the part of
each README about installing, and the configurations in ``examples/clients``; a test compares.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import quote

import anyio
from mcp.client import Client as ProtocolClient
from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from mcp_client_install.clients import CLIENTS, Client
from mcp_client_install.edits.documents import add_entry
from task_core.cli.settings import FolderPath, ServerSettings, StoreServerSettings
from tests.packaging.projects import PROJECTS, ROOT, Table
from tests.servers import PROGRAMS, ProgramRecord
from tests.wire.greetings import package_description

__all__ = ["deep_links", "files_of", "main"]

Json = dict[str, Any]

NAMESPACE: Final = "com.example"
"""The owner of the names in a registry: whoever publishes the servers puts their own here."""

FORMS: Final[dict[object, str]] = {Path: "filepath", bool: "boolean", int: "number", float: "number"}
"""What ``server.json`` calls the types of settings; every other one is a string."""


_PLACE: Final = re.compile(r"<!-- install -->.*?<!-- end -->", re.DOTALL)
"""The part of a README that says how to install the server."""

_PREINSTALLED: Final = '--preinstall "$PWD/packages/{}"'

_INSTALLATION: Final = """\
<!-- install -->
```sh
{commands}
```
`install` shows each change before it makes it, and `uninstall` removes everything again \
([how they work, and how to do it by hand](../../examples/clients/README.md)).
Once the command is on your `PATH`, one click adds it too{where}: {links}.
<!-- end -->"""


def main() -> None:
    """Write the files of every server."""
    logging.disable()  # the first clean-up may still be at work, in a folder that is gone by then
    for record in PROGRAMS:
        for name in record.settings_type.model_fields:
            os.environ.pop(name.upper(), None)  # what is written must not depend on who runs this
        for path, text in files_of(record).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def files_of(record: ProgramRecord) -> dict[Path, str]:
    """Return the text of every file that describes a server, by its path."""
    folder, table = PROJECTS[record.command]
    settings = record.settings_type
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the first clean-up may still be at work
        tools, has_prompts = anyio.run(_offered, record, Path(name))
    examples = {
        ROOT / "examples" / "clients" / name / f"{record.command}{client.suffix}": _configuration(record, client)
        for name, client in CLIENTS.items()
    }
    readme = folder / "README.md"
    return {
        folder / "src" / record.package / "greeting.json": _compact(package_description(record.package)),
        folder / "server.json": _written(_registry_entry(record, table, settings)),
        folder / "manifest.json": _written(_bundle(record, table, settings, tools, has_prompts=has_prompts)),
        readme: _readme(record, readme.read_text("utf-8")),
        **examples,
    }


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _compact(greeting: Json) -> str:
    """Return a greeting with a line for each member and each tool, so that a change of one can be read."""
    tools = ",\n".join(json.dumps(tool, ensure_ascii=False) for tool in greeting["tools"])
    members = (f"{json.dumps(name)}: {json.dumps(greeting[name], ensure_ascii=False)},\n" for name in greeting)
    return (
        "{\n"
        + "".join(member for member in members if not member.startswith('"tools"'))
        + f'"tools": [\n{tools}\n]\n}}\n'
    )


async def _offered(record: ProgramRecord, folder: Path) -> tuple[list[Json], bool]:
    usual = {name: values[0] for name, values in record.choices.items()}
    async with ProtocolClient(record.built(folder, **usual).sdk) as client:
        tools = [{"name": it.name, "description": it.description} for it in (await client.list_tools()).tools]
        has_prompts = client.server_capabilities.prompts and (await client.list_prompts()).prompts
        return tools, bool(has_prompts)


def _stands_alone(settings_of: type[ServerSettings]) -> bool:
    """Return whether a server starts without any setting."""
    try:
        settings_of.model_validate({})
    except ValidationError:
        return False
    return not settings_of.searched


def _title(record: ProgramRecord) -> str:
    return record.name.replace("-", " ").capitalize()


def _registry_entry(record: ProgramRecord, table: Table, settings: type[ServerSettings]) -> Json:
    package = {
        "registryType": "pypi",
        "identifier": table.name,
        "version": table.version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "environmentVariables": [_variable(name, field) for name, field in _options(settings).items()],
    }
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": f"{NAMESPACE}/{table.name}",
        "title": _title(record),
        "description": table.description,
        "version": table.version,
        "packages": [package],
    }


def _options(settings: type[ServerSettings]) -> dict[str, FieldInfo]:
    """Return the settings by their names, those of the server itself first."""
    return dict(sorted(settings.model_fields.items(), key=lambda item: item[0] in StoreServerSettings.model_fields))


def _variable(name: str, field: FieldInfo) -> Json:
    kinds = [*_kinds_in(field.annotation)]
    default = _default(field)
    choices = [kind for kind in kinds if isinstance(kind, str)]
    return {
        "name": name.upper(),
        "description": field.description,
        "isRequired": field.is_required(),
        "isSecret": SecretStr in kinds,
        "format": _form(kinds),
        **({} if default == "" else {"default": default if isinstance(default, str) else json.dumps(default)}),
        **({"choices": choices} if choices else {}),
    }


def _kinds_in(annotation: object) -> Iterator[object]:
    """Yield the types in an annotation, and the values that a ``Literal`` in it allows."""
    parts = get_args(annotation)
    for part in parts:
        yield from _kinds_in(part)
    if not parts:
        yield annotation


def _form(kinds: list[object]) -> str:
    return next((FORMS[kind] for kind in kinds if kind in FORMS), "string")


def _default(field: FieldInfo) -> str | float:
    """Return the default; what is not set, or differs from machine to machine, is empty."""
    if field.is_required() or field.default_factory or field.default is None:
        return ""
    default: Any = field.default
    return int(default) if isinstance(default, float) and default.is_integer() else default


def _bundle(
    record: ProgramRecord, table: Table, settings: type[ServerSettings], tools: list[Json], *, has_prompts: bool
) -> Json:
    options = _options(settings)
    needed = "" if _stands_alone(settings) else record.required.lower()
    start = ["run", "--directory", "${__dirname}", "server.py"]
    variables = {name.upper(): f"${{user_config.{name}}}" for name in options}
    return {
        "manifest_version": "0.4",
        "name": table.name,
        "display_name": _title(record),
        "version": table.version,
        "description": table.description,
        "author": table.authors[0],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": start, "env": variables},
        },
        "tools": tools,
        # A prompt of these servers is written when it is asked for, so there is no text to show.
        **({"prompts_generated": True} if has_prompts else {}),
        "keywords": table.keywords,
        "license": table.license,
        "compatibility": {"runtimes": {"python": table.requires_python}},
        "user_config": {name: _option(name, field, is_required=name == needed) for name, field in options.items()},
    }


def _option(name: str, field: FieldInfo, *, is_required: bool) -> Json:
    kinds = [*_kinds_in(field.annotation)]
    form = _form(kinds)
    # A host offers only files that exist, and a server creates its own: the path of a file is asked for as text.
    path = "directory" if FolderPath in (field.annotation, *get_args(field.annotation)) else "string"
    return {
        "type": path if form == "filepath" else form,
        "title": field.title or name.replace("_", " ").capitalize(),
        "description": field.description,
        "required": is_required,
        "sensitive": SecretStr in kinds,
        # A setting without a default that the user leaves alone would reach the server as "${user_config…}".
        **({} if is_required else {"default": _default(field)}),
    }


def _configuration(record: ProgramRecord, client: Client) -> str:
    variables = record.usual_environment(Path("/path/to"))
    entry = client.entry([f"/path/to/checkout/.venv/bin/{record.command}"], variables)
    return add_entry(None, client.suffix, [client.member, record.entry], entry).decode()


def deep_links(record: ProgramRecord) -> dict[str, str]:
    """Return the links that add a server to a client, by the name of the client; its file is in the home folder."""
    files = {name.upper(): f"${{userHome}}/{path}" for name, path in _needed_files(record)}
    cursor, vscode = (json.dumps(CLIENTS[it].entry([record.command], files)) for it in ("cursor", "vscode"))
    coded = quote(base64.b64encode(cursor.encode()))
    return {
        "Cursor": f"https://cursor.com/en/install-mcp?name={record.entry}&config={coded}",
        "VS Code": f"https://vscode.dev/redirect/mcp/install?name={record.entry}&config={quote(vscode)}",
    }


def _needed_files(record: ProgramRecord) -> Iterator[tuple[str, str]]:
    """Yield the settings that name a file and have no default, each with the usual name of its file."""
    fields = record.settings_type.model_fields
    return ((name, path) for name, path in record.settings_type.in_project if path and fields[name].default is None)


def _readme(record: ProgramRecord, text: str) -> str:
    """Return a README with its part about installing written anew."""
    is_cortex = record.name == "cortex"
    names = ["task-core", "mcp-client-install", "cortex-cli" if is_cortex else "task-formats"]
    uv = f"uv tool install ./packages/{record.command}"
    pipx = " ".join([f"pipx install ./packages/{record.command}", *map(_PREINSTALLED.format, names)])
    settings = "".join(f"{name}={path} " for name, path in record.usual_environment(Path("/path/to")).items())
    commands = {
        **({"uv tool install ./packages/cortex-cli": "ctx, for you to log in"} if is_cortex else {}),
        uv: "from a checkout, with uv",
        pipx: "or with pipx",
        f"{record.command} install": "in your project: adds it to your clients",
        f"{settings}{record.command} doctor": "says what is wrong with the set-up",
    }
    width = max(map(len, commands))
    new = _INSTALLATION.format(
        commands="\n".join(f"{command:{width}}  # {what}" for command, what in commands.items()),
        where=", with its file in your home folder" if [*_needed_files(record)] else "",
        links=" or ".join(f"[{client}]({link})" for client, link in deep_links(record).items()),
    )
    return _PLACE.sub(lambda _: new, text)


if __name__ == "__main__":
    main()
