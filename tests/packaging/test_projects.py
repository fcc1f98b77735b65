"""What holds for every package of the workspace: one version, small tables, and the files that travel along."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests import servers
from tests.packaging.projects import PROJECTS, PYTHONS, ROOT, Project

CORE = PROJECTS["task-core"]
BACKEND = PROJECTS["cortex-backend"]
CLI = PROJECTS["cortex-cli"]
BOARD = PROJECTS["task-board"]
HOSTED = PROJECTS["task-hosted"]
INSTALL = PROJECTS["mcp-client-install"]
FORMATS = PROJECTS["task-formats"]
SERVERS = [it for it in PROJECTS.values() if it not in (CORE, BACKEND, CLI, BOARD, HOSTED, INSTALL, FORMATS)]
MODULES = {project.folder.name: project.folder.name.replace("-", "_") for project in PROJECTS.values()}

each_project = pytest.mark.parametrize("project", PROJECTS.values(), ids=PROJECTS)
each_server = pytest.mark.parametrize("project", SERVERS, ids=[project.table.name for project in SERVERS])


def test_the_distributions_have_the_planned_names() -> None:
    names = {project.table.name for project in PROJECTS.values()}
    others = {"mcp-task-core", "cortex-tasks-backend", "cortex-tasks-cli", "mcp-task-board", "mcp-task-hosted"}
    others |= {"mcp-client-install", "mcp-task-formats"}
    assert names == others | {record.project for record in servers.PROGRAMS}


def test_the_coverage_of_every_package_is_measured() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]["run"]
    others = ["cortex_backend", "cortex_cli", "task_board", "task_hosted", "mcp_client_install", "task_formats"]
    planned = ["task_core", *(record.package for record in servers.PROGRAMS), *others]
    assert settings["source_pkgs"] == planned


def test_all_packages_have_one_version() -> None:
    assert len({project.table.version for project in PROJECTS.values()}) == 1


def test_the_packages_and_the_policy_support_the_pythons_that_are_tested() -> None:
    assert {project.table.requires_python for project in PROJECTS.values()} == {f">={PYTHONS[0]}"}
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}." in (ROOT / "docs" / "policy.md").read_text("utf-8")


def test_the_change_log_names_the_version() -> None:
    assert f"\n## {CORE.table.version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@each_server
def test_a_server_requires_the_core_by_the_name_of_its_distribution(project: Project) -> None:
    names = {Requirement(text).name for text in project.table.dependencies}
    assert "mcp-task-core" in names
    assert "task-core" not in names  # somebody else's


@each_project
def test_a_package_requires_others_of_the_workspace_in_exactly_its_own_version(project: Project) -> None:
    ours = {other.table.name for other in PROJECTS.values()}
    extras = [text for extra in project.table.optional_dependencies.values() for text in extra]
    requirements = [Requirement(text) for text in [*project.table.dependencies, *extras]]
    found = {str(item) for item in requirements if item.name in ours}
    assert found == {f"{item.name}=={project.table.version}" for item in requirements if item.name in ours}


@pytest.mark.parametrize("project", [*SERVERS, BACKEND, BOARD, HOSTED], ids=lambda project: project.table.name)
def test_packages_agree_on_what_they_require_both(project: Project) -> None:
    core = {item.name: item.specifier for item in map(Requirement, CORE.table.dependencies)}
    own = {item.name: item.specifier for item in map(Requirement, project.table.dependencies)}
    assert {name: own[name] for name in own.keys() & core.keys()} == {
        name: core[name] for name in own.keys() & core.keys()
    }


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize("name", [record.command for record in servers.PROGRAMS])
def test_the_console_script_has_the_name_of_its_folder(name: str) -> None:
    assert PROJECTS[name].table.scripts == {name: f"{name.replace('-', '_')}.__main__:main"}


@pytest.mark.requirement("CX-1")
def test_the_backend_has_names_that_nobody_else_owns() -> None:
    assert BACKEND.table.name == "cortex-tasks-backend"
    assert BACKEND.table.scripts == {"cortex-backend": "cortex_backend.__main__:main"}


@pytest.mark.requirement("CX-1")
def test_ctx_has_names_that_nobody_else_owns() -> None:
    assert CLI.table.name == "cortex-tasks-cli"
    assert CLI.table.scripts == {"ctx": "cortex_cli.__main__:main"}


def test_the_board_requires_the_core_and_no_server() -> None:
    names = {Requirement(text).name for text in BOARD.table.dependencies}
    assert names & {project.table.name for project in PROJECTS.values()} == {CORE.table.name}
    assert BOARD.table.scripts == {"task-board": "task_board.__main__:main"}


def test_the_servers_that_can_be_hosted_have_an_extra_for_it() -> None:
    hostable = {record.project for record in servers.SERVERS if "postgresql" in record.engines}
    requirement = f"{HOSTED.table.name}=={HOSTED.table.version}"
    extras = {project.table.name: project.table.optional_dependencies for project in SERVERS}
    assert extras == {name: {"hosted": [requirement]} if name in hostable else {} for name in extras}
    assert HOSTED.table.scripts == {"mcp-task-hosted": "task_hosted.__main__:main"}


def test_the_installer_requires_nothing_of_ours_and_the_servers_require_it() -> None:
    ours = {project.table.name for project in PROJECTS.values()}
    names = [{Requirement(text).name for text in it.table.dependencies} for it in (INSTALL, CORE, *SERVERS)]
    assert [len(found & ours) for found in names[:2]] == [0, 0]
    assert [found for found in names[2:] if "mcp-client-install" not in found] == []
    assert INSTALL.table.scripts == {"mcp-client-install": "mcp_client_install.__main__:main"}


def test_the_formats_require_nothing_of_ours_and_the_servers_with_a_store_require_them() -> None:
    ours = {project.table.name for project in PROJECTS.values()}
    assert not {Requirement(text).name for text in FORMATS.table.dependencies} & ours
    stored = {record.project for record in servers.SERVERS}
    names = {it.table.name: {Requirement(text).name for text in it.table.dependencies} for it in SERVERS}
    assert {name for name, found in names.items() if "mcp-task-formats" in found} == stored


@each_project
def test_a_project_table_fits_on_one_screen(project: Project) -> None:
    assert len((project.folder / "pyproject.toml").read_text("utf-8").splitlines()) <= 35


@each_project
def test_a_package_carries_the_licence_its_types_and_a_readme(project: Project) -> None:
    assert project.table.license == "MIT"
    assert (project.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert len(list(project.folder.glob("src/*/py.typed"))) == 1
    assert len((project.folder / "README.md").read_text("utf-8").splitlines()) <= 150


@pytest.mark.requirement("PE-21")
def test_the_readme_of_the_root_is_short_and_names_every_package() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    before_links = re.sub(r"\]\([^)]*\)", "]", text.partition("\n## More\n")[0])
    assert 200 < len(re.findall(r"\w\S*", before_links)) <= 600
    assert [name for name in PROJECTS if f"(packages/{name}" not in text] == []


@pytest.mark.requirement("PE-21")
def test_contributing_begins_with_five_commands() -> None:
    first_part = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## ")[0]
    assert len(re.findall(r"(?m)^\| `", first_part)) == 5


def test_the_lock_file_of_the_inspector_names_no_registry() -> None:
    text = (ROOT / "inspector" / "package-lock.json").read_text("utf-8")
    assert re.findall(r'"resolved"|\.tgz', text) == []
