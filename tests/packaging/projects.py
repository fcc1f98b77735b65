"""The project tables of the workspace, as their files have them now."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, Field

__all__ = ["PROJECTS", "PYTHONS", "ROOT", "UNSEEN_PYTHON", "Project", "Table", "read_project"]

ROOT: Final = Path(__file__).parent.parent.parent


class Table(BaseModel):
    """What the tests ask of a ``[project]`` table."""

    name: str
    version: str
    description: str
    license: str = ""
    requires_python: str = Field(alias="requires-python")
    dependencies: list[str]
    optional_dependencies: dict[str, list[str]] = Field(alias="optional-dependencies", default={})
    keywords: list[str] = []
    authors: list[dict[str, str]] = []
    scripts: dict[str, str] = {}


class Project(NamedTuple):
    """One package of the workspace."""

    folder: Path
    table: Table


def read_project(folder: Path) -> Project:
    """Return the project in a folder."""
    document = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    return Project(folder, Table.model_validate(document["project"]))


PROJECTS: Final = {folder.name: read_project(folder) for folder in sorted(ROOT.glob("packages/*"))}
"""Every package by the name of its folder."""

UNSEEN_PYTHON: Final = "3.14"
"""The version on which hosted checks try the tests, but on which nobody has seen them pass."""

PYTHONS: Final[list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["envs"][
    "hatch-test"
]["matrix"][0]["python"]
"""The versions of Python that the packages support, oldest first."""
PYTHONS.remove(UNSEEN_PYTHON)
