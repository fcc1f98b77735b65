"""What describes a server to registries, hosts and clients is what its settings, its tools and its package say."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.packaging.manifests import files_of
from tests.packaging.projects import PROJECTS
from tests.packaging.servers import Entry, variables
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


@pytest.mark.requirement("CLIENT-1")
@each_server
def test_the_links_in_a_readme_add_the_server_to_cursor_and_vs_code(record: ProgramRecord) -> None:
    text = (PROJECTS[record.command].folder / "README.md").read_text("utf-8")
    links = dict(re.findall(r"\[(Cursor|VS Code)\]\((https://[^)]+)\)", text))
    queries = {client: parse_qs(urlsplit(link).query, strict_parsing=True) for client, link in links.items()}
    assert {client: urlsplit(link).netloc for client, link in links.items()} == {
        "Cursor": "cursor.com",
        "VS Code": "vscode.dev",
    }
    assert [query["name"] for query in queries.values()] == [[record.entry]] * 2
    decoded = base64.b64decode(queries["Cursor"]["config"][0], validate=True).decode()
    for config in (decoded, queries["VS Code"]["config"][0]):
        entry = Entry.model_validate_json(config)
        assert (entry.type, entry.command, entry.args) == ("stdio", record.command, [])
        assert entry.env.keys() <= variables(record.command)
        assert all(re.fullmatch(r"\$\{userHome\}/[\w.]+", value) for value in entry.env.values())
