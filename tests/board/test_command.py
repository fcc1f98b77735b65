"""The command ``task-board``: which stores it shows, and where it listens."""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
import urllib.request
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from task_board import __main__ as command
from task_board.servers import find_servers, open_stores
from task_board.stores import BoardStore
from task_board.web.app import BoardApp
from task_core.bootstrap import BadSettings
from tests.board.board_client import Agent, address, make_place, open_board, packages, show_stores
from tests.packaging.projects import PROJECTS
from tests.processes import ending
from tests.servers import PROGRAMS, SERVERS, ServerRecord, record_of


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start with no setting of a server, in a folder without a project."""
    for record in SERVERS:
        monkeypatch.delenv(record.variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def close(stores: Sequence[BoardStore]) -> None:
    for store in stores:
        store.close()


@pytest.mark.requirement("PE-6")
def test_every_installed_server_with_a_store_is_found() -> None:
    assert find_servers() == packages()
    assert {record.command for record in PROGRAMS} - {*packages()} == {"cortex-mcp"}


def test_a_store_is_named_by_the_server_with_or_without_its_ending(record: ServerRecord, tmp_path: Path) -> None:
    for name in (record.command, record.name):
        stores, _ = open_stores([f"{name}={address(record, tmp_path, 'json')}"], packages())
        assert [store.key for store in stores] == [record.name]
        assert stores[0].place == str(tmp_path / record.store())
        close(stores)


@pytest.mark.parametrize("words", [["heartbeat"], []])
def test_the_list_of_the_project_is_shown_if_no_setting_names_one(words: list[str], tmp_path: Path) -> None:
    mirror = tmp_path / "work" / "HEARTBEAT.md"
    mirror.write_text("## TODO\n- buy milk\n", "utf-8")
    stores, _ = open_stores(words, packages())
    found = [(store.place, store.mirror) for store in stores if store.key == "heartbeat"]
    close(stores)
    assert found == [(str(tmp_path / "work" / "heartbeat_state.json"), mirror)]


@pytest.mark.requirement("PE-6")
@pytest.mark.parametrize("words", [["hierarchy"], []])
def test_every_list_that_a_client_has_is_shown_if_no_path_is_given(words: list[str], tmp_path: Path) -> None:
    for client, name in (("cursor/mcp", "first"), ("gemini/settings", "second"), ("qwen/settings", "second")):
        path = tmp_path / f".{client}.json"
        path.parent.mkdir()
        entry = {"command": "hierarchy-mcp", "env": {"FILE_PATH": str(tmp_path / f"{name}.json")}}
        path.write_text(json.dumps({"mcpServers": {"any": entry}}), "utf-8")
    stores, _ = open_stores(words, packages())
    found = {store.key: store.place for store in stores}
    close(stores)
    assert found["hierarchy"] == str(tmp_path / "first.json")
    assert found["hierarchy-2"] == str(tmp_path / "second.json")


def test_two_stores_of_one_server_have_names_of_their_own(tmp_path: Path) -> None:
    words = [f"tasks-v1={tmp_path / name}.json" for name in "abc"]
    stores, _ = open_stores(words, packages())
    assert [store.key for store in stores] == ["tasks-v1", "tasks-v1-2", "tasks-v1-3"]
    close(stores)


def test_without_a_name_every_server_whose_settings_are_valid_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(tmp_path / "HEARTBEAT.md"))
    stores, left_out = open_stores([], packages())
    assert [store.key for store in stores] == ["heartbeat", "tasks-v1"]
    assert [line.partition(":")[0] for line in left_out] == [
        "hierarchy-mcp is left out",
        "taskmaster-mcp is left out",
    ]
    assert "there is no folder" in left_out[1]
    close(stores)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("task-v1=/x", "'task-v1' is not an installed server with a board. Did you mean tasks-v1-mcp?"),
        ("cortex", "'cortex' is not an installed server with a board. There are: "),
        ("tasks-v1=postgres://u:hunter2@h/d", "tasks-v1=postgres://u:…@h/d: TASK_STORE is "),
        ("taskmaster=http://x/y", "taskmaster=http://x/y: "),
        ("zzz", "'zzz' is not an installed server with a board. There are: heartbeat-mcp, "),
        ("hierarchy", "hierarchy: Set FILE_PATH: "),
        ("tasks-v1=", "'tasks-v1=' names no store: write tasks-v1=PATH, or tasks-v1 for the one that is set."),
        ("hierarchy=missing/tasks.json", "hierarchy=missing/tasks.json: FILE_PATH is '"),
        ("taskmaster=sqlite:/x.db", "taskmaster=sqlite:/x.db: The project root 'x.db' is not a folder."),
        ("tasks-v1=memory:", "tasks-v1=memory:: Set TASKS_FILE_PATH: "),
        ("tasks-v1=/proc/1/x/tasks.json", "tasks-v1=/proc/1/x/tasks.json: "),
    ],
)
def test_what_cannot_be_shown_is_an_error_that_says_why(word: str, message: str) -> None:
    with pytest.raises(BadSettings) as caught:
        open_stores([word], packages())
    assert str(caught.value).startswith(message)


def test_without_any_store_the_error_says_how_to_name_one() -> None:
    with pytest.raises(BadSettings, match=r"Name a store, as SERVER=PATH. The servers are: hierarchy-mcp.\nhierarchy"):
        open_stores([], {"hierarchy-mcp": "hierarchy_mcp"})
    with pytest.raises(BadSettings, match="none is installed"):
        open_stores([], {})


@pytest.mark.parametrize(
    ("setting", "word", "place"),
    [
        ("TASK_STORE=sqlite:/tmp/other.db", "tasks-v1=/tmp/tasks.json", "/tmp/tasks.json"),  # noqa: S108 - not opened
        ("TASK_TENANT=somebody", "tasks-v1=/tmp/tasks.json", "/tmp/tasks.json"),  # noqa: S108 - as above
        ("TASKS_FILE_PATH=/tmp/other.json", "tasks-v1=sqlite:/tmp/tasks.db", "/tmp/tasks.db"),  # noqa: S108 - as above
    ],
)
def test_a_place_on_the_command_line_counts_instead_of_the_settings(
    setting: str, word: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, value = setting.partition("=")
    monkeypatch.setenv(name, value)
    stores, _ = open_stores([word], packages())
    assert stores[0].place == place
    assert os.environ[name] == value
    close(stores)


def test_heartbeat_md_on_the_command_line_goes_with_the_store_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_STORE", f"sqlite:{tmp_path / 'tasks.db'}")
    stores, _ = open_stores([f"heartbeat={tmp_path / 'HEARTBEAT.md'}"], packages())
    assert (stores[0].place, stores[0].mirror) == (str(tmp_path / "tasks.db"), tmp_path / "HEARTBEAT.md")
    close(stores)


@pytest.mark.parametrize("engine", ["", "json:", "sqlite:"])
def test_a_relative_path_is_that_of_the_folder_where_the_command_is_given(engine: str, tmp_path: Path) -> None:
    stores, _ = open_stores([f"tasks-v1={engine}tasks", f"tasks-v1={engine}~/tasks"], packages())
    assert [store.place for store in stores] == [str(tmp_path / "work" / "tasks"), str(tmp_path / "tasks")]
    close(stores)


@pytest.mark.parametrize("engine", ["json", "sqlite"])
def test_the_page_says_that_the_file_of_the_tasks_is_missing(engine: str, tmp_path: Path) -> None:
    with open_board(tmp_path, "tasks-v1", engine=engine) as board:
        assert f"There is no file at {board.store.place}." in board.shown()
        assert board.act("create", **{"now.title": "Buy milk"}).status_code == 200
        assert "There is no file" not in board.shown()
        for path in tmp_path.glob("tasks.*"):
            path.unlink()
        assert f"There is no file at {board.store.place}." in board.shown()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (
            ["a/tasks.json", "b/tasks.json", "b/more.json"],
            ["tasks-v1 (a)", "tasks-v1-2 (b)", "tasks-v1-3 (more.json)"],
        ),
        (["shop/tasks.json", "site/tasks.json"], ["tasks-v1 (shop)", "tasks-v1-2 (site)"]),
        (["tasks.json", "site/tasks.json"], ["tasks-v1 (shared)", "tasks-v1-2 (site)"]),
        (["tasks.json", "tasks.json"], ["tasks-v1", "tasks-v1-2"]),
    ],
)
def test_stores_of_one_server_are_named_by_where_their_paths_differ(
    paths: list[str], expected: list[str], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    words = [f"tasks-v1={shared / path}" for path in paths]
    stores, _ = open_stores([*words, f"hierarchy={shared / 'tree.json'}"], packages())
    with show_stores(stores) as board:
        page = board.get().text
    assert re.findall(r'<a href="[^"]*" title="[^"]*"[^>]*>([^<]*?) ?<', page) == [*expected, "hierarchy"]
    assert f"<title>{expected[0]} – Task board</title>" in page


def test_two_projects_of_one_server_are_named_by_their_folders(tmp_path: Path) -> None:
    places = [make_place(record_of("taskmaster"), tmp_path / name) for name in ("shop", "site")]
    stores, _ = open_stores([f"taskmaster={place}" for place in places], packages())
    with show_stores(stores) as board:
        assert "taskmaster-2 (site)" in board.get().text


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--port", "x"], ["zzz"], ["--host", "0.0.0.0"]])  # noqa: S104 - it is refused
def test_a_bad_option_or_store_ends_it_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(arguments)
    assert caught.value.code == 2
    assert "task-board" in capsys.readouterr().err


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--version"])
    assert capsys.readouterr().out == f"task-board {PROJECTS['task-board'].table.version}\n"


@pytest.mark.parametrize("arguments", [[], ["--no-browser"]])
def test_it_prints_one_link_and_opens_it_unless_that_is_not_wanted(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    is_served, is_opened = threading.Event(), threading.Event()

    def show(link: str) -> None:  # as a browser in the terminal, which ends when its user has seen the page
        assert is_served.wait(10)
        opened.append(link)
        is_opened.set()

    monkeypatch.setattr(webbrowser, "open", show)

    def run(_serve: object, _app: object, _listener: object, app: BoardApp) -> None:
        is_served.set()
        assert arguments or is_opened.wait(10)
        app.end_streams()
        app.close()
        app.close()

    monkeypatch.setattr(command.anyio, "run", run)
    command.main([*arguments, "--port", "0", f"tasks-v1={tmp_path / 'tasks.json'}"])
    captured = capsys.readouterr()
    printed = re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", captured.out)
    assert re.findall(r"http\S+", captured.out + captured.err) == printed
    assert len(printed) == 1
    assert opened == ([] if arguments else printed)


def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["task-board", "--version"])
    monkeypatch.delitem(sys.modules, "task_board.__main__")
    with pytest.raises(SystemExit):
        runpy.run_module("task_board", run_name="__main__")
    assert capsys.readouterr().out.startswith("task-board ")


@pytest.mark.process
def test_the_process_serves_this_machine_only_and_ends_with_a_signal(tmp_path: Path) -> None:
    agent = Agent(record_of("tasks-v1"), tmp_path)
    task_id = agent.create("Buy milk")
    agent.close()
    words = [sys.executable, "-m", "task_board", "--no-browser", f"tasks-v1={tmp_path / 'tasks.json'}"]
    with ending(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as process:
        assert process.stdout
        link = process.stdout.readline().split()[-1]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        door = re.findall('href="(/[^"]+/)"', opener.open(link).read().decode())[0]
        base = f"{link.partition('/?')[0]}{door}"
        with opener.open(f"{base}b/tasks-v1") as page:
            assert task_id in page.read().decode()
        stream = opener.open(f"{base}events")
        assert stream.readline() == b"retry: 1000\n"
        process.send_signal(signal.SIGTERM)
        with suppress(OSError):
            stream.read()
        assert process.wait(10) == 0
