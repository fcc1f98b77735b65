"""What the packages and their tools are made from: few things, known ones, and none that changes by itself."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from typing import Final

import pytest
from packaging.requirements import Requirement
from pydantic import BaseModel, Field, JsonValue

from tests.packaging.projects import PROJECTS, ROOT, Project

RUNTIME = {
    *(
        "cortex-tasks-cli",
        "cronsim",
        "filelock",
        "markdown-it-py",
        "mcp",
        "mcp-client-install",
        "mcp-task-core",
        "mcp-task-formats",
    ),
    *("platformdirs", "pydantic", "pydantic-settings", "pyyaml", "rich", "tomlkit", "typing-extensions", "tzdata"),
}
"""What may be installed with a server by our own wish; starlette, anyio and uvicorn come with the SDK."""

OF_THE_BOARD = {"jinja2", "markupsafe"}
"""What the pages of the board are made of, and nothing else has."""

OF_THE_SERVICE = {"prometheus-client", "psycopg", "psycopg_pool"}
"""What the hosted service adds: figures, and the driver of PostgreSQL."""

OF_THE_BACKEND = {"alembic", "fastapi", "pwdlib", "pyjwt", "sqlalchemy"}
"""What the Cortex backend is made of; it comes without the core."""

WITH_THE_SDK = {"anyio", "httpx2", "pyjwt", "starlette", "uvicorn"}
"""What every installation of the SDK brings along, so an extra for HTTP would leave nothing out (SECURITY.md)."""


HTMX_VERSION: Final = "2.0.11"
HTMX_SHA256: Final = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""The digest of dist/htmx.min.js in that release."""


class Lint(BaseModel):
    """What the tests ask of the settings of the linter."""

    select: list[str]
    ignore: list[str]
    exempt: dict[str, list[str]] = Field(alias="per-file-ignores")


def settings() -> dict[str, JsonValue]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]


def requirements_in(value: JsonValue) -> Iterator[Requirement]:
    """Yield every requirement of the environments that tools run in."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in {"dependencies", "extra-dependencies"} and isinstance(inner, list):
                yield from (Requirement(str(text)) for text in inner)
            else:
                yield from requirements_in(inner)


def tools() -> list[Requirement]:
    """Return what the environments need, save for the one that is to have the oldest versions that work."""
    hatch = settings()["hatch"]
    assert isinstance(hatch, dict)
    environments = hatch["envs"]
    assert isinstance(environments, dict)
    return [one for name, table in environments.items() if name != "lowest" for one in requirements_in(table)]


def test_no_tool_comes_in_a_new_major_version_by_itself() -> None:
    found = tools()
    assert {"ruff", "pyrefly", "pytest", "hypothesis", "pip-audit"} <= {requirement.name for requirement in found}
    free = [str(one) for one in found if not {part.operator for part in one.specifier} & {"==", "~=", "<"}]
    assert free == []


def test_the_checkers_have_one_version_each() -> None:
    found = {str(one) for one in tools() if one.name in {"ruff", "pyrefly"}}
    assert [text.partition("==")[0] for text in sorted(found)] == ["pyrefly", "ruff"]


@pytest.mark.parametrize("project", PROJECTS.values(), ids=PROJECTS.keys())
def test_a_package_needs_few_others_by_name_and_version(project: Project) -> None:
    found = [Requirement(text) for text in project.table.dependencies]
    assert {requirement.name for requirement in found} <= (
        RUNTIME | WITH_THE_SDK | OF_THE_BACKEND | OF_THE_BOARD | OF_THE_SERVICE
    )
    assert [str(one) for one in found if one.url or not one.specifier] == []


def test_the_sdk_itself_requires_what_http_needs() -> None:
    found = [Requirement(text) for text in requires("mcp") or ()]
    assert {one.name for one in found if one.marker is None or one.marker.evaluate()} >= WITH_THE_SDK


def test_every_part_of_the_inspector_is_locked_by_its_hash() -> None:
    locked = json.loads((ROOT / "inspector" / "package-lock.json").read_text("utf-8"))["packages"]
    parts = {name: part for name, part in locked.items() if name}
    assert parts
    assert {name for name, part in parts.items() if not re.match(r"sha512-", part.get("integrity", ""))} == set()


def test_the_script_that_comes_with_the_board_is_the_release_that_is_named() -> None:
    script = ROOT / "packages" / "task-board" / "src" / "task_board" / "web" / "static" / "htmx.min.js"
    assert hashlib.sha256(script.read_bytes()).hexdigest() == HTMX_SHA256
    assert f"htmx {HTMX_VERSION}" in (ROOT / "SECURITY.md").read_text("utf-8")


def test_the_security_rules_of_the_linter_are_on_for_all_that_is_shipped() -> None:
    ruff = settings()["ruff"]
    assert isinstance(ruff, dict)
    lint = Lint.model_validate(ruff["lint"])
    assert {"BLE", "S", "G", "T20"} <= set(lint.select)
    assert [rule for rule in lint.ignore if re.match(r"S\d|BLE|T20", rule)] == []
    exempt = {place for place, rules in lint.exempt.items() if any(re.match(r"S\d|BLE", rule) for rule in rules)}
    assert [place for place in exempt if "packages" in place or place.startswith("**")] == []
