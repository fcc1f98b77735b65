"""The example of a whole server works as its users would use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.projects import ROOT, read_project
from tests.wire.line_client import PATIENCE, Era, LineClient

FOLDER: Final = ROOT / "examples" / "minimal-server"
COMMAND: Final = (sys.executable, "-m", "notes_mcp")


def environment(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(FOLDER / "src"), "NOTES_FILE_PATH": str(folder / "notes.json")}


@pytest.mark.process
@pytest.mark.parametrize("era", ["modern", pytest.param("legacy", marks=pytest.mark.by_hand)])
def test_notes_are_kept_listed_found_and_changed_by_a_second_server(era: Era, tmp_path: Path) -> None:
    with LineClient(era, COMMAND, environment(tmp_path)) as client:
        first, second = (client.call("add_note", text=text)["structuredContent"] for text in ("milk", "bread"))
        missing = client.call("get_note", id=f"{second['id']}0")["structuredContent"]["error"]
    assert (missing["code"], second["id"] in missing["message"]) == ("TaskNotFound", True)
    with LineClient(era, COMMAND, environment(tmp_path)) as client:
        assert client.call("list_notes")["structuredContent"] == {"tasks": [second, first]}
        assert client.call("get_note", id=first["id"])["structuredContent"] == first
        changed = client.call("change_note", id=first["id"], text="oat milk")["structuredContent"]
        assert changed == {**first, "text": "oat milk"} == client.call("get_note", id=first["id"])["structuredContent"]
        assert client.call("add_note", txt="x")["structuredContent"]["error"]["code"] == "InvalidArguments"


def test_notes_are_listed_newest_first_however_many_there_are(tmp_path: Path) -> None:
    with LineClient("legacy", COMMAND, environment(tmp_path)) as client:
        made = [client.call("add_note", text=f"n {number}")["structuredContent"] for number in range(11)]
        assert client.call("list_notes")["structuredContent"] == {"tasks": made[::-1]}


def test_the_example_offers_what_every_server_does(tmp_path: Path) -> None:
    with LineClient("legacy", COMMAND, environment(tmp_path) | {"TASK_EXTRA_TOOLS": "changes"}) as client:
        note = client.call("add_note", text="milk")["structuredContent"]
        change = client.call("list_changes")["structuredContent"]
        boards = [
            client.request("resources/read", {"uri": uri})["result"]["contents"][0]["text"]
            for uri in ("tasks://list", f"tasks://{note['id']}", "tasks://summary")
        ]
    assert change.keys() >= {"changes", "token"}
    assert [json.loads(board) for board in boards[:2]] == [{"tasks": [note], "total": 1, "left_out": 0}, note]
    assert f"- {note['id']}: milk" in boards[2]


@pytest.mark.process
def test_the_commands_come_with_the_core(tmp_path: Path) -> None:
    with LineClient("legacy", COMMAND, environment(tmp_path)) as client:
        client.call("add_note", text="milk")
    ended = subprocess.run(
        [*COMMAND, "export"],
        check=True,
        env={**os.environ, **environment(tmp_path)},
        capture_output=True,
        timeout=PATIENCE,
    )
    assert [note["text"] for note in json.loads(ended.stdout)["tasks"]] == ["milk"]


def test_the_example_asks_for_the_core_of_this_workspace() -> None:
    table, core = read_project(FOLDER), read_project(ROOT / "packages" / "task-core")
    assert f"{core.table.name}=={core.table.version}" in table.table.dependencies
