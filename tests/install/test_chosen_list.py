"""Commands find the list that a client of the user has, where no setting names one (PE-2)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from task_core.cli.chosen_list import find_lists
from tests.install.machine import Machine
from tests.servers import program_of


def write_entry(path: Path, name: str, command: str, **variables: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text("utf-8")) if path.exists() else {"mcpServers": {}}
    found["mcpServers"][name] = {"command": command, "args": list[str](), "env": variables}
    path.write_text(json.dumps(found), "utf-8")


def keep(path: Path, title: str) -> str:
    """Keep one task in a new store of hierarchy-mcp, and return its path."""
    task = {"id": "a", "name": title, "status": "todo"}
    path.write_text(json.dumps([task]), "utf-8")
    return str(path)


@pytest.mark.requirement("PE-2")
@pytest.mark.parametrize("words", [["list"], ["next"], ["show", "a"], ["doctor"], ["export"], ["restore"]])
def test_a_command_uses_the_list_that_install_wrote(
    machine: Machine, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("cursor")
    assert machine("install", "--yes", server="hierarchy").code == 0
    store = keep(machine.data / "hierarchy-mcp/hierarchy.json", "Dig")
    monkeypatch.chdir(machine.home)  # another project
    ended = machine(*words, server="hierarchy")
    assert ended.code == 0
    assert "Dig" in ended.out or words in (["doctor"], ["restore"])
    assert f"{store}: the list of Cursor, for all projects" in ended.out + ended.err


@pytest.mark.requirement("PE-2")
def test_the_list_of_the_project_goes_before_those_of_clients(machine: Machine) -> None:
    other = machine.home / "HEARTBEAT.md"
    other.touch()
    write_entry(machine.home / ".cursor/mcp.json", "h", "heartbeat-mcp", HEARTBEAT_FILE_PATH=str(other))
    (machine.project / "HEARTBEAT.md").touch()
    store = machine.project / "heartbeat_state.json"
    assert f"{store}: the list of this project.\n" in machine("list").err
    assert (
        f"{other.with_name(store.name)}: the list of Cursor, for all projects.\n"
        in machine("list", "--client", "cursor").err
    )


@pytest.mark.requirement("AG-18")
def test_the_list_of_the_project_is_changed_and_has_a_history(machine: Machine) -> None:
    (machine.project / "HEARTBEAT.md").write_text("# Mine\n")  # a blank file is left alone at first (HB-18)
    assert machine("add", "Paint").code == 0
    assert "Paint" in (machine.project / "HEARTBEAT.md").read_text()
    assert "command line add" in machine("history").out
    assert machine("undo", "--yes").code == 0
    assert "Paint" not in (machine.project / "HEARTBEAT.md").read_text()


def test_the_list_of_the_project_is_chosen_though_clients_have_it_and_others(machine: Machine) -> None:
    (machine.project / "HEARTBEAT.md").touch()
    (machine.home / "HEARTBEAT.md").touch()
    for client, folder in (("cursor/mcp", machine.project), ("gemini/settings", machine.home)):
        path = machine.home / f".{client}.json"
        write_entry(path, "h", "heartbeat-mcp", HEARTBEAT_FILE_PATH=str(folder / "HEARTBEAT.md"))
    ended = machine("list")
    assert (ended.code, ended.err.partition(".\n")[0]) == (
        0,
        f"{machine.project}/heartbeat_state.json: the list of this project",
    )


def test_a_client_that_is_named_is_never_replaced_by_another_list(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH="a\x1b.json")
    monkeypatch.setenv("FILE_PATH", keep(machine.home / "tasks.json", "Dig"))
    ended = machine("list", "--client", "cursor", server="hierarchy")
    assert (ended.code, ended.out) == (2, "")
    assert "The entry of Cursor: FILE_PATH is 'a\\u{1b}.json': write an absolute path" in ended.err


def test_a_client_without_a_list_is_not_one_of_several(machine: Machine) -> None:
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp")
    store = keep(machine.home / "tasks.json", "Dig")
    write_entry(machine.home / ".gemini/settings.json", "h", "hierarchy-mcp", FILE_PATH=store)
    assert "Dig" in machine("list", server="hierarchy").out


@pytest.mark.requirement("AG-18")
def test_a_list_in_memory_is_not_named_as_one_that_is_changed(machine: Machine) -> None:
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp")
    ended = machine("add", "Dig", "--client", "cursor", server="hierarchy")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("hierarchy-mcp: No list was found")


@pytest.mark.parametrize("words", [["list"], ["export"]])
def test_a_path_that_a_project_brings_along_cannot_steer_the_terminal(machine: Machine, words: list[str]) -> None:
    store = keep(machine.home / "a\x1b]0;b.json", "Dig")
    write_entry(machine.project / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH=store)
    ended = machine(*words, server="hierarchy")
    assert ended.code == 0
    assert f"{machine.home}/a\\u{{1b}}]0;b.json: the list of Cursor, in this project.\n" in ended.err


def test_an_entry_for_the_project_goes_before_one_for_all_projects(machine: Machine) -> None:
    here, everywhere = (keep(machine.home / f"{name}.json", name) for name in ("here", "everywhere"))
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH=everywhere)
    write_entry(machine.project / ".cursor/mcp.json", "any name", "/opt/bin/hierarchy-mcp", FILE_PATH=here)
    ended = machine("list", server="hierarchy")
    assert "here" in ended.out
    assert f"{here}: the list of Cursor, in this project.\n" in ended.err


@pytest.mark.requirement("PE-2")
def test_several_lists_are_named_and_the_option_chooses(machine: Machine) -> None:
    first, second = (keep(machine.home / f"{name}.json", name) for name in ("first", "second"))
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH=first)
    write_entry(machine.home / ".gemini/settings.json", "h", "hierarchy-mcp", FILE_PATH=second)
    write_entry(machine.home / ".qwen/settings.json", "h", "hierarchy-mcp", FILE_PATH=second)
    ended = machine("list", server="hierarchy")
    assert (ended.code, ended.out) == (2, "")
    assert f"--client cursor: {first}: the list of Cursor" in ended.err
    assert f"--client gemini-cli: {second}: the list of Gemini CLI" in ended.err
    assert "second" in machine("list", "--client", "qwen-code", server="hierarchy").out
    unknown = machine("list", "--client", "codex", server="hierarchy")
    assert (unknown.code, "codex has no entry for hierarchy-mcp" in unknown.err) == (2, True)
    report = machine("doctor", server="hierarchy")
    assert f"Cursor (all projects): {first}" in report.out
    assert f"Qwen Code (all projects): {second}" in report.out


def test_a_setting_in_the_environment_goes_before_every_entry(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (keep(machine.home / f"{name}.json", name) for name in ("first", "second"))
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH=first)
    monkeypatch.setenv("FILE_PATH", second)
    ended = machine("list", server="hierarchy")
    assert "second" in ended.out
    assert ended.err == ""


def test_an_entry_that_names_no_list_or_a_bad_one_is_left_to_doctor(machine: Machine) -> None:
    store = keep(machine.home / "tasks.json", "Dig")
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH="tasks.json")
    write_entry(machine.home / ".gemini/settings.json", "h", "hierarchy-mcp", FILE_PATH=store)
    (machine.home / ".qwen").mkdir()
    (machine.home / ".qwen/settings.json").write_text("{")
    assert "Dig" in machine("list", server="hierarchy").out
    report = machine("doctor", server="hierarchy")
    assert report.code == 1
    assert "Cursor (all projects): FILE_PATH is 'tasks.json': write an absolute path" in report.out
    write_entry(machine.home / ".cursor/mcp.json", "heartbeat", "heartbeat-mcp")
    shown = machine("doctor").out
    assert "Cursor (all projects): the list of the project in which it starts" in shown


def test_the_project_of_task_master_around_the_folder_is_its_own_list(machine: Machine) -> None:
    settings = program_of("taskmaster").program().settings_type()()
    assert not settings.has_own_list
    (machine.project / ".taskmaster/tasks").mkdir(parents=True)
    (machine.project / ".taskmaster/tasks/tasks.json").write_text('{"master": {"tasks": []}}')
    assert settings.has_own_list
    assert [it.origin for it in find_lists(program_of("taskmaster").program())] == [
        f"{machine.project}/.taskmaster/tasks/tasks.json: the list of this project"
    ]


def test_without_a_home_folder_there_is_no_client(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", fail)
    assert [it.origin for it in find_lists(program_of("hierarchy").program())] == [""]
    assert machine.project.is_dir()


def test_a_file_of_the_project_alone_makes_no_command_connect_to_a_server(machine: Machine) -> None:
    url = "postgresql://user@127.0.0.1:9/tasks?connect_timeout=1"
    write_entry(machine.project / ".cursor/mcp.json", "h", "hierarchy-mcp", TASK_STORE=url, TASK_LOCK_TIMEOUT="0.01")
    for words in (["list"], ["import", "tasks.json"], ["doctor"]):
        ended = machine(*words, server="hierarchy")
        assert ended.code > 0
        assert f"{url}: the list of Cursor, in this project. To connect to a database" in ended.err + ended.out
    assert "To connect" not in machine("list", "--client", "cursor", server="hierarchy").err


@pytest.mark.parametrize("path", ["/a\0b.json", "/a\ud800.json"])
def test_a_path_that_no_file_can_have_is_an_error_of_its_entry(machine: Machine, path: str) -> None:
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH=path)
    assert machine("list", server="hierarchy").code == 0
    assert "Cursor (all projects): FILE_PATH is '/a" in machine("doctor", server="hierarchy").out


def test_the_home_folder_is_no_project_of_task_master(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine.home)
    assert not program_of("taskmaster").program().settings_type()().has_own_list


def test_without_mcp_client_install_there_is_no_client(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    write_entry(machine.home / ".cursor/mcp.json", "h", "hierarchy-mcp", FILE_PATH=keep(machine.home / "a.json", "Dig"))
    monkeypatch.setattr("task_core.cli.chosen_list.find_spec", lambda _: None)
    assert [it.origin for it in find_lists(program_of("hierarchy").program())] == [""]


def test_an_installation_outside_of_every_project_of_task_master_says_how_to_see_the_tasks(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("cursor")
    monkeypatch.chdir(machine.home)
    ended = machine("install", "--yes", server="taskmaster")
    assert (ended.code, ended.err) == (0, "")
    assert "See the tasks: " in ended.out


def test_whoever_removes_a_server_hears_where_the_tasks_stay(machine: Machine) -> None:
    store = keep(machine.home / "tasks.json", "Dig")
    write_entry(machine.home / ".cursor/mcp.json", "hierarchy", "hierarchy-mcp", FILE_PATH=store)
    write_entry(machine.home / ".gemini/settings.json", "hierarchy", "hierarchy-mcp", FILE_PATH=store)
    write_entry(machine.home / ".qwen/settings.json", "hierarchy", "hierarchy-mcp", FILE_PATH="nowhere")
    ended = machine("uninstall", "--yes", server="hierarchy")
    assert ended.code == 0
    assert ended.out.count("Your tasks stay in ") == 1
    assert ended.out.endswith(f"Your tasks stay in {store}.\n")
    assert "Your tasks" not in machine("uninstall", "--yes", server="hierarchy").out
    assert "Your tasks" not in machine("uninstall", "--yes").out
