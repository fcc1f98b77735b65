"""``export`` and ``import``: the tasks move between engines and come back byte for byte (EN-18)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.cli.commands import CommandFailed, Commands
from task_core.store import Engine
from task_core.store.collection import Node
from tasks_v1_mcp.codec import CODEC
from tasks_v1_mcp.models import Category, Priority, StoredTask, V1Status
from tasks_v1_mcp.server import build_server
from tasks_v1_mcp.settings import TasksSettings
from tests.tasks_v1.conftest import ServedStore, make_task, opened, put
from tests.tool_client import call_tool

SECONDS = 60

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(st.none() | texts | st.integers(-(2**70), 2**70), st.lists, max_leaves=3)
unknown = st.dictionaries(texts.map("u {}".format), values, max_size=2)


@st.composite
def stored_tasks(draw: st.DrawFn, number: int) -> StoredTask:
    """Return a task as the store may hold it, with fields of a person."""
    fields = {
        "title": draw(texts),
        "description": draw(st.none() | texts),
        "category": draw(st.sampled_from(Category)),
        "priority": draw(st.sampled_from(Priority)),
        "status": draw(st.sampled_from(V1Status)),
        "tags": draw(st.lists(texts, max_size=3, unique=True)),
        "topic_id": draw(st.none() | texts),
    }
    return make_task(number, **fields, **draw(unknown))


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return a document as the server writes it."""
    tasks = [draw(stored_tasks(number)) for number in draw(st.permutations(range(draw(st.integers(0, 4)))))]
    blocks = CODEC.encode([Node(task.id, "", task.to_json()) for task in tasks])
    return CODEC.document(blocks, draw(unknown))


def settings_of(folder: Path, engine: Engine) -> TasksSettings:
    return TasksSettings.model_validate({"task_store": f"{engine}:{folder / f'tasks.{engine}'}", "task_fsync": False})


@pytest.mark.requirement("EN-18", "ST-1")
@given(documents())
@settings(max_examples=8)
def test_a_document_comes_back_from_a_database_byte_for_byte(document: bytes) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first").write_bytes(document)
        for number, engine in enumerate((Engine.SQLITE, Engine.JSON, Engine.SQLITE)):
            place = folder / str(number)
            place.mkdir()
            commands = Commands(settings_of(place, engine), CODEC)
            commands.run("import", str(folder / "first"))
            commands.run("export", str(place / "export"))
            assert (place / "export").read_bytes() == document


@pytest.mark.requirement("EN-18", "ERR-2")
@pytest.mark.parametrize("engine", [Engine.JSON, Engine.SQLITE], ids=str)
def test_a_store_with_tasks_takes_in_no_others(tmp_path: Path, engine: Engine) -> None:
    store = opened(tmp_path, engine)
    put(store, [make_task(1)])
    (tmp_path / "other.json").write_bytes(CODEC.document(CODEC.encode([]), {}))
    commands = Commands(TasksSettings.model_validate(ServedStore(tmp_path, engine=engine).place), CODEC)
    with pytest.raises(CommandFailed, match="is not empty: import into a new store"):
        commands.run("import", str(tmp_path / "other.json"))
    with store.read() as tasks:
        assert len(tasks) == 1
    store.close()


@pytest.mark.requirement("EN-18")
async def test_somebody_moves_the_tasks_to_a_database_and_the_client_goes_on_with_the_same_ids(tmp_path: Path) -> None:
    document, database, export = tmp_path / "tasks.json", tmp_path / "tasks.db", tmp_path / "export.json"
    server = build_server(TasksSettings(tasks_file_path=document))
    task = (await call_tool(server, "create_task", {"title": "研究", "tags": ["a"]}))["task"]
    await call_tool(server, "create_task", {"title": "b"})
    before = await call_tool(server, "list_tasks", {"limit": 1})

    def command(*arguments: str, **variables: Path | str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "tasks_v1_mcp", *arguments],
            capture_output=True,
            check=True,
            encoding="utf-8",
            env=os.environ | {name: str(value) for name, value in variables.items()},
            timeout=SECONDS,
        )
        return done.stderr

    sqlite = f"sqlite:{database}"
    assert command("export", str(export), TASKS_FILE_PATH=document) == f"Exported 2 tasks from json:{document}.\n"
    assert command("import", str(export), TASK_STORE=sqlite) == f"Imported 2 tasks into {sqlite}.\n"
    assert export.read_bytes() == document.read_bytes()

    moved = build_server(TasksSettings(task_store=sqlite))
    assert (await call_tool(moved, "get_task", {"id": task["id"]}))["task"] == task
    after = await call_tool(moved, "list_tasks", {"limit": 1, "cursor": before["next_cursor"]})
    assert [entry["id"] for entry in after["tasks"]] == [task["id"]]
    await call_tool(moved, "update_task_status", {"id": task["id"], "status": "in_progress"})
    assert [entry["status"] for entry in json.loads(document.read_bytes())["tasks"]] == ["pending", "pending"]
