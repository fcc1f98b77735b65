"""The files for the repository's host, and for pre-commit, name what is there and start what a developer starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.packaging.documents import read_command
from tests.packaging.projects import PYTHONS, ROOT, UNSEEN_PYTHON
from tests.packaging.shown_commands import check_command
from tests.packaging.test_ci import PARTS

HOST: Final = ROOT / ".github"
PRE_COMMIT: Final = ROOT / ".pre-commit-config.yaml"
FILES: Final = [PRE_COMMIT, *sorted(HOST.rglob("*.yml"))]
WORKFLOWS: Final = {path.stem: path for path in sorted(HOST.glob("workflows/*.yml"))}

each_workflow = pytest.mark.parametrize("name", WORKFLOWS)


def read(path: Path) -> dict[Any, Any]:
    document = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(document, dict)
    return document


def members(value: object, name: str) -> Iterator[Any]:
    """Yield every member of a name, at any depth."""
    if isinstance(value, dict):
        yield from (inner for key, inner in value.items() if key == name)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from members(inner, name)


def test_the_files_are_there_and_are_yaml() -> None:
    assert {path.stem for path in FILES if read(path)} >= {
        ".pre-commit-config",
        "dependabot",
        "bug",
        "checks",
        "release",
    }


@each_workflow
def test_a_workflow_may_do_nothing_but_read_unless_one_job_says_otherwise(name: str) -> None:
    assert read(WORKFLOWS[name])["permissions"] in ({}, {"contents": "read"})


@each_workflow
def test_an_action_of_others_has_the_hash_of_a_commit_and_its_version_beside_it(name: str) -> None:
    lines = re.findall(r"uses: (.+)", WORKFLOWS[name].read_text("utf-8"))
    others = [line for line in lines if not line.startswith("./")]
    assert others
    assert [line for line in others if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []
    assert [line for line in lines if line.startswith("./") and not (ROOT / line).is_file()] == []


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_command_names_what_is_there(path: Path, tmp_path: Path) -> None:
    texts = [*members(read(path), "run"), *members(read(path), "entry")]
    for command in re.findall(r"(?:python3 hatchw|bash \.ci/).*", "\n".join(texts)):
        check_command(read_command(command), tmp_path)


def test_what_runs_before_a_commit_is_what_ci_checks() -> None:
    (entry,) = members(read(PRE_COMMIT), "entry")
    assert f"\n  hatchw {entry.removeprefix('python3 hatchw ')}\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_checks_run_every_part_and_the_tests_on_every_python_and_system() -> None:
    (job,) = read(WORKFLOWS["checks"])["jobs"].values()
    matrix = job["strategy"]["matrix"]
    jobs = [*({"part": part, "python": "3.12", "os": "ubuntu-24.04"} for part in matrix["part"]), *matrix["include"]]
    assert {one["part"] for one in jobs} == {*PARTS}
    assert {one["python"] for one in jobs if one["part"] == "test"} == {*PYTHONS, UNSEEN_PYTHON}
    assert {one["os"] for one in jobs if one.get("unseen")} == {"ubuntu-24.04", "macos-15", "windows-2025"}
    assert {one["python"] for one in jobs if one.get("unseen")} == {UNSEEN_PYTHON, "3.12"}


def test_a_release_publishes_what_passed_the_checks_and_the_core_before_the_packages_that_require_it() -> None:
    needs = {name: job.get("needs") for name, job in read(WORKFLOWS["release"])["jobs"].items()}
    assert (needs["build"], needs["core"], needs["others"], needs["bundles"]) == (
        "checks",
        "build",
        ["build", "core"],
        "others",
    )


def test_dependencies_are_updated_in_folders_that_there_are() -> None:
    document = read(HOST / "dependabot.yml")
    folders = [*members(document, "directory"), *(one for many in members(document, "directories") for one in many)]
    assert {"/packages/*", "/inspector"} <= set(folders)
    assert [folder for folder in folders if not [*ROOT.glob(folder.strip("/") or ".github")]] == []
