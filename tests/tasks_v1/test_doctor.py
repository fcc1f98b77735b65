"""``tasks-v1-mcp doctor``: the store as the server sees it (DOC-1)."""

from pathlib import Path

import pytest

from task_core.bootstrap import BadSettings
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.settings import TasksSettings
from tests.doctor_report import Report, report
from tests.tool_client import ToolFailed, call_tool


def look(folder: Path, path: Path | None = None, task_store: str = "") -> Report:
    variables = {"TASKS_FILE_PATH": str(path)} if path else {"TASK_STORE": task_store}
    return report("tasks_v1_mcp", folder, variables)


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_would_be_made_is_right_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "tasks"
    found = look(tmp_path, folder / "tasks.json")
    assert (found.code, found.of("folder", "ok")) == (0, [f"{folder} does not exist yet but can be created"])


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_cannot_be_made_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    found = look(tmp_path, tmp_path / "data" / "tasks.json")
    assert found.code == 1
    assert found.of("folder", "WRONG") == [f"{tmp_path / 'data'} is not a folder"]


@pytest.mark.requirement("DOC-1")
async def test_a_link_into_a_folder_that_is_not_there_is_wrong_as_every_change_fails(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.symlink_to("nowhere/tasks.json")
    found = look(tmp_path, path)
    assert (found.code, found.faults) == (1, [f"folder {tmp_path / 'nowhere'} does not exist"])
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
        await call_tool(build_server(TasksSettings(tasks_file_path=path)), "create_task", {"title": "a"})


@pytest.mark.requirement("DOC-1")
def test_a_folder_whose_place_a_link_to_nothing_takes_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("nowhere")
    found = look(tmp_path, tmp_path / "data" / "tasks.json")
    assert found.faults == [f"folder {tmp_path / 'data'} is not a folder"]
    with pytest.raises(BadSettings):
        build_server(TasksSettings(tasks_file_path=tmp_path / "data" / "tasks.json"))


@pytest.mark.requirement("DOC-1")
async def test_what_a_server_left_is_right(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    server = build_server(TasksSettings(tasks_file_path=path))
    made = await call_tool(server, "create_task", {"title": "a"})
    await call_tool(server, "update_task", {"id": made["task"]["id"], "priority": "high"})
    found = look(tmp_path, path)
    assert (found.code, found.faults) == (0, [])
    holds = f"tasks.json holds 1 task in {path.stat().st_size} bytes"
    history = path.with_name(path.name + ".history.jsonl")
    kept = f"{history.name} keeps what changes replaced, in {history.stat().st_size} bytes"
    assert found.of("store", "ok") == [holds, "no older document is kept yet", kept]
    assert [line for line in found.lines if "  note " in line] == []


@pytest.mark.requirement("DOC-1")
def test_a_damaged_store_is_wrong_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text('{"tasks": [')
    path.chmod(0o600)
    (fault,) = look(tmp_path, path).faults
    assert fault.startswith("store every tool answers StoreDamaged: The store 'tasks.json' is damaged at line 1, col")


@pytest.mark.requirement("DOC-1", "EN-18")
async def test_a_database_is_looked_at_through_its_own_engine(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    path = data / "tasks.db"
    server = build_server(TasksSettings(task_store=f"sqlite:{path}"))
    await call_tool(server, "create_task", {"title": "a"})
    server.close()
    before = {file.name: file.read_bytes() for file in data.iterdir()}
    found = look(other, task_store=f"sqlite:{path}")  # SQLite makes and removes files beside the database
    assert (found.code, found.faults) == (0, [])
    assert found.of("store", "ok")[0] == f"tasks.db holds 1 task in {path.stat().st_size:,} bytes"
    assert {file.name: file.read_bytes() for file in data.iterdir()} == before
