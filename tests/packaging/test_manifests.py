"""What describes a server to registries, hosts and clients is what its settings, its tools and its package say."""

from __future__ import annotations

import json

import pytest

from tests.packaging.manifests import files_of
from tests.packaging.projects import PROJECTS
from tests.servers import PROGRAMS, ProgramRecord

each_server = pytest.mark.parametrize("record", PROGRAMS, ids=lambda record: record.name)


@pytest.mark.requirement("PKG-1", "CLI-3", "CLIENT-1", "START-1")
@each_server
def test_every_description_of_a_server_is_as_the_generator_writes_it(record: ProgramRecord) -> None:
    stale = [path.name for path, text in files_of(record).items() if path.read_text("utf-8") != text]
    assert stale == [], "run `python3 hatchw run manifests`"


@pytest.mark.requirement("PKG-1", "CLI-3")
@each_server
def test_a_bundle_asks_only_for_what_the_server_cannot_start_without(record: ProgramRecord) -> None:
    bundle = json.loads((PROJECTS[record.command].folder / "manifest.json").read_text("utf-8"))
    options = bundle["user_config"]
    needed = {name for name, option in options.items() if option["required"]}
    assert needed == ({"heartbeat_file_path"} if record.name == "heartbeat" else set())
    # Without a default a setting that the user leaves alone would reach the server as "${user_config…}".
    assert needed == {name for name, option in options.items() if "default" not in option}
    assert bundle["server"]["mcp_config"]["env"] == {name.upper(): f"${{user_config.{name}}}" for name in options}
