"""The manifests of the servers say what the packages, the settings and the tools say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import pytest
from mcp.client import Client
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from task_core.server.settings import ServerSettings
from tests.packaging.projects import PROJECTS, Project
from tests.packaging.servers import SETTINGS, built


class Manifests(NamedTuple):
    """A server with its descriptions: ``server.json`` for registries, ``manifest.json`` for its bundle."""

    project: Project
    settings: type[ServerSettings]
    server: dict[str, Any]
    bundle: dict[str, Any]


@pytest.fixture(params=SETTINGS)
def manifests(request: pytest.FixtureRequest) -> Manifests:
    project = PROJECTS[request.param]
    server, bundle = (
        json.loads((project.folder / file).read_text("utf-8")) for file in ("server.json", "manifest.json")
    )
    return Manifests(project, SETTINGS[request.param], server, bundle)


class Setting(NamedTuple):
    """A setting, as the class has it."""

    name: str
    description: str | None
    is_required: bool
    is_secret: bool
    form: str
    default: str
    choices: list[str]


def settings_of(settings: type[ServerSettings]) -> Iterator[Setting]:
    for name, field in settings.model_fields.items():
        kinds = [*chosen_from(field.annotation)]
        yield Setting(
            name=name.upper(),
            description=field.description,
            is_required=field.is_required(),
            is_secret=SecretStr in kinds,
            form=next((FORMS[kind] for kind in kinds if kind in FORMS), "string"),
            default=written(field),
            choices=[kind for kind in kinds if isinstance(kind, str)],
        )


def chosen_from(annotation: object) -> Iterator[object]:
    """Yield the types in an annotation, and the values that a ``Literal`` in it allows."""
    parts = get_args(annotation)
    for part in parts:
        yield from chosen_from(part)
    if not parts:
        yield annotation


FORMS: Final[dict[object, str]] = {Path: "filepath", bool: "boolean", int: "number", float: "number"}


def written(field: FieldInfo) -> str:
    """Return the default as a variable holds it; what is not set, or differs from machine to machine, is empty."""
    if field.is_required() or field.default_factory or field.default is None:
        return ""
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return f"{field.default:g}" if isinstance(field.default, float) else str(field.default)


@pytest.mark.requirement("PKG-1")
def test_the_manifests_have_the_version_and_the_words_of_the_package(manifests: Manifests) -> None:
    table = manifests.project.table
    for manifest in (manifests.server, *manifests.server["packages"], manifests.bundle):
        assert manifest["version"] == table.version
    assert manifests.server["name"].partition("/")[2] == table.name
    assert [package["identifier"] for package in manifests.server["packages"]] == [table.name]
    assert manifests.bundle["name"] == table.name
    assert manifests.server["description"] == manifests.bundle["description"] == table.description
    assert manifests.bundle["license"] == table.license
    assert manifests.bundle["compatibility"]["runtimes"] == {"python": table.requires_python}


@pytest.mark.requirement("PKG-1", "CLI-3")
def test_a_registry_is_told_every_setting_as_it_is(manifests: Manifests) -> None:
    told = [
        Setting(
            name=variable["name"],
            description=variable["description"],
            is_required=variable["isRequired"],
            is_secret=variable["isSecret"],
            form=variable["format"],
            default=variable.get("default", ""),
            choices=variable.get("choices", []),
        )
        for variable in manifests.server["packages"][0]["environmentVariables"]
    ]
    assert sorted(told) == sorted(settings_of(manifests.settings))


PICKERS: Final = {"filepath": ("directory", "string")}
"""How a path may be asked for: not as a file, since hosts offer those that exist only, and a server makes its own."""


ASKED_FOR: Final = {"HEARTBEAT_FILE_PATH"}
"""What a server needs unless TASK_STORE is set: hosts know no "or", and nearly every user wants the file."""


@pytest.mark.requirement("PKG-1", "CLI-3")
def test_a_user_of_the_bundle_is_asked_for_every_setting_as_it_is(manifests: Manifests) -> None:
    options = manifests.bundle["user_config"]
    for setting in settings_of(manifests.settings):
        option = options[setting.name.lower()]
        assert option["type"] in PICKERS.get(setting.form, (setting.form,))
        assert option["description"] == setting.description
        is_required = setting.is_required or setting.name in ASKED_FOR
        assert (option["required"], option["sensitive"]) == (is_required, setting.is_secret)
        # Without a default of its own a setting that the user leaves alone would reach the server as "${user_config…}".
        assert ("default" in option) is not is_required
        assert in_variable(option.get("default", "")) == setting.default
    assert len(options) == len(manifests.settings.model_fields)


def in_variable(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.requirement("PKG-1")
def test_every_answer_of_the_user_reaches_the_server(manifests: Manifests) -> None:
    variables = manifests.bundle["server"]["mcp_config"]["env"]
    assert variables == {name.upper(): f"${{user_config.{name}}}" for name in manifests.bundle["user_config"]}


@pytest.mark.requirement("PKG-1")
async def test_the_bundle_tells_of_the_tools_and_prompts_of_the_server(manifests: Manifests, tmp_path: Path) -> None:
    async with Client(built(manifests.project.table.name, tmp_path).sdk) as client:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
    told = [(tool["name"], tool["description"]) for tool in manifests.bundle["tools"]]
    assert told == [(tool.name, tool.description) for tool in tools]
    # A prompt of these servers is written when it is asked for, so the manifest has no text to show.
    assert manifests.bundle.get("prompts_generated", False) is bool(prompts)
