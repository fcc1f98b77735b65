"""The settings, the folder of the store, and the command (CLI-1, CLI-3, S4)."""

import re
import runpy
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from platformdirs import user_data_path

from task_core.bootstrap import BadSettings
from task_core.cli.settings import load_settings
from tasks_v1_mcp.__main__ import main
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.settings import TasksSettings
from tests.core.command_line import command_line
from tests.tasks_v1.conftest import ServedStore


@pytest.fixture
def _own_process() -> Iterator[None]:
    with command_line():
        yield


def test_the_store_is_in_the_data_folder_unless_set_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKS_FILE_PATH", raising=False)
    expected = user_data_path("tasks-v1-mcp", appauthor=False) / "tasks.json"
    assert load_settings(TasksSettings).tasks_file_path == expected


@pytest.mark.requirement("CLI-3")
def test_a_path_that_is_not_absolute_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKS_FILE_PATH", "tasks.json")
    with pytest.raises(BadSettings, match=r"^TASKS_FILE_PATH is 'tasks.json': write an absolute path such as '/"):
        load_settings(TasksSettings)


@pytest.mark.requirement("CLI-3", "EN-17")
@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TASK_STORE": "sqlite:tasks.db"}, r"^TASK_STORE is 'sqlite:tasks.db': .*absolute path"),
        ({"TASK_STORE": "memory:", "TASKS_FILE_PATH": "/a/tasks.json"}, r"^TASK_STORE and TASKS_FILE_PATH both name"),
    ],
    ids=["a relative path", "two stores"],
)
def test_a_store_that_is_not_named_rightly_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    monkeypatch.delenv("TASKS_FILE_PATH", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings, match=message):
        load_settings(TasksSettings)


@pytest.mark.requirement("S4")
@pytest.mark.usefixtures("_own_process")
async def test_the_folder_of_the_store_is_made_for_its_owner_alone(served: ServedStore) -> None:
    served.restart()
    assert served.store.parent.stat().st_mode & 0o777 == 0o700
    await served.call("create_task", title="x")
    assert served.store.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    mode = tmp_path.stat().st_mode
    build_server(TasksSettings(tasks_file_path=tmp_path / "tasks.json"))
    assert tmp_path.stat().st_mode == mode
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("CLI-3")
@pytest.mark.usefixtures("_own_process")
def test_a_folder_that_cannot_be_made_ends_the_command_with_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("TASKS_FILE_PATH", str(file / "tasks.json"))
    monkeypatch.setattr(sys, "argv", ["tasks-v1-mcp"])
    monkeypatch.delitem(sys.modules, "tasks_v1_mcp.__main__")
    with pytest.raises(SystemExit) as ending:
        runpy.run_module("tasks_v1_mcp", run_name="__main__")
    assert ending.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"tasks-v1-mcp: TASKS_FILE_PATH is '{file}/tasks.json': its folder cannot be created")


@pytest.mark.requirement("CLI-1")
@pytest.mark.usefixtures("_own_process")
def test_the_version_is_that_of_the_distribution(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tasks-v1-mcp", "--version"])
    with pytest.raises(SystemExit) as ending:
        main()
    assert (ending.value.code, capsys.readouterr().out) == (0, f"tasks-v1-mcp {version('tasks-v1-mcp')}\n")


@pytest.mark.requirement("DOC-1", "EN-18")
@pytest.mark.usefixtures("_own_process")
@pytest.mark.parametrize(
    ("command", "output"),
    [("doctor", "tasks.json does not exist yet"), ("export", '{\n"version": 1,\n"tasks": [\n]\n}\n')],
)
def test_a_command_works_on_the_store_of_the_settings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    command: str,
    output: str,
) -> None:
    monkeypatch.setenv("TASKS_FILE_PATH", str(tmp_path / "tasks.json"))
    monkeypatch.setattr(sys, "argv", ["tasks-v1-mcp", command])
    with pytest.raises(SystemExit) as ending:
        main()
    assert not ending.value.code
    assert output in capfdbinary.readouterr().out.decode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("CLI-1")
@pytest.mark.usefixtures("_own_process")
def test_the_help_lists_the_variables_with_their_defaults(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tasks-v1-mcp", "--help"])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 0
    assert {"TASKS_FILE_PATH", "tasks.json", "LOG_LEVEL"} - {*re.findall(r"[\w.]+", capsys.readouterr().out)} == set()


@pytest.mark.process
@pytest.mark.requirement("CLI-1", "TOOL-6")
async def test_a_process_serves_on_stdio_and_the_next_one_goes_on(served: ServedStore) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "tasks_v1_mcp"], env={"TASKS_FILE_PATH": str(served.store)}
    )
    async with Client(command, mode=served.era) as client:
        created = await client.call_tool("create_task", {"title": "研究"})
    async with Client(command, mode=served.era) as client:
        listed = await client.call_tool("list_tasks", {"include_description": True})
    assert created.structured_content is not None
    assert listed.structured_content is not None
    shown = {name: value for name, value in created.structured_content["task"].items() if value not in (None, [])}
    assert listed.structured_content == {"tasks": [shown], "total": 1}
