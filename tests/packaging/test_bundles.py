"""A bundle installs the wheels that it holds, and nobody else's under the same names."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement

from inspector.bundles import Manifest, read_manifest
from tests.packaging.projects import PROJECTS, Project
from tests.servers import PROGRAMS

SERVERS = {record.command: PROJECTS[record.command] for record in PROGRAMS}
each_server = pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)


def sources(manifest: Manifest) -> dict[str, dict[str, str]]:
    return tomllib.loads(manifest.project)["tool"]["uv"]["sources"]


@pytest.mark.requirement("PKG-1")
@each_server
def test_a_bundle_takes_the_server_and_what_it_requires_of_ours_from_its_own_wheels(server: Project) -> None:
    manifest = read_manifest(server.folder)
    found = sources(manifest)
    pinned = {Requirement(text).name for text in server.table.dependencies if "==" in text.partition(";")[0]}
    assert pinned >= {"mcp-task-core"}
    assert found.keys() == {server.table.name, *pinned}
    assert [source for source in found.values() if source.keys() != {"path"}] == []
    held = {path for path in manifest.files if path.endswith(".whl")}
    assert {source["path"] for source in found.values()} == held


@pytest.mark.requirement("PKG-1")
@each_server
def test_a_bundle_itself_asks_for_each_of_its_wheels_in_its_version(server: Project) -> None:
    # uv heeds the source of a package only where the project itself requires it, not where a dependency does.
    manifest = read_manifest(server.folder)
    project = tomllib.loads(manifest.project)["project"]
    assert {str(Requirement(text)) for text in project["dependencies"]} == {
        f"{name}=={server.table.version}" for name in sources(manifest)
    }


@pytest.mark.requirement("PKG-1")
@each_server
def test_a_bundle_pools_no_folder_with_the_index(server: Project) -> None:
    assert tomllib.loads(read_manifest(server.folder).project)["tool"]["uv"].keys() == {"package", "sources"}
