"""The commands that move tasks from one engine to another and put older documents back, as a person runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from itertools import count, cycle
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from pydantic import JsonValue

from tests.processes import ending
from tests.wire.line_client import PATIENCE, LineClient
from tests.wire.storm_ledger import Kept
from tests.wire.storm_servers import ENGINES, SERVERS, Kind

TASKS: Final = 3

MANY: Final = 12_000
"""More tasks than a document is good for."""


def run(kind: Kind, folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of a server over the store in ``folder``."""
    environment = {**os.environ, **kind.environment(folder), **settings}
    command = (*kind.record.module_command, *arguments)
    return subprocess.run(command, env=environment, capture_output=True, timeout=10 * PATIENCE, check=False)


def done(kind: Kind, folder: Path, *arguments: str, **settings: str) -> bytes:
    """Run a command that must succeed, and return what it writes to stdout."""
    ended = run(kind, folder, *arguments, **settings)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refusal(kind: Kind, folder: Path, *arguments: str) -> str:
    """Run a command that must be refused, and return the one message that it writes."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    ended = run(kind, folder, *arguments)
    assert (ended.returncode, ended.stdout) == (1, b"")
    (message,) = ended.stderr.decode().splitlines()
    after = {path: path.read_bytes() for path in folder.iterdir() if not path.name.endswith((".lock", "-shm"))}
    assert after == {path: data for path, data in before.items() if path in after}
    return message


def serve(kind: Kind, folder: Path, **settings: str) -> LineClient:
    return LineClient(command=kind.record.module_command, environment=kind.environment(folder) | settings)


def called(client: LineClient, tool: str, **arguments: JsonValue) -> dict[str, Any]:
    """Call a tool, which must succeed, and return its result."""
    result = client.call(tool, **arguments)
    assert not result["isError"], result
    content: dict[str, Any] = result["structuredContent"]
    return content


def work(kind: Kind, folder: Path) -> None:
    """Let a server make and change some tasks."""
    kind.prepare(folder)
    rng = Random(7)
    numbers = count()
    with serve(kind, folder) as client:
        for number in range(TASKS):
            created = kind.create(f"t{number}", lambda: f"naïve 🙂 {next(numbers)}")
            content = called(client, created.tool, **created.arguments)
            kept = Kept(kind.task_id(created, content), created.fields)
            for change in kind.changes(created.token, kept, lambda: f"naïve 🙂 {next(numbers)}", rng):
                called(client, change.tool, **change.arguments)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a heartbeat server that made and changed some tasks; tests that alter them take a copy."""
    folder = tmp_path_factory.mktemp("worked") / "heartbeat"
    work(SERVERS["heartbeat"](), folder)
    return folder


@pytest.mark.requirement("EN-18", "ST-1", "CLI-1")
def test_from_a_document_to_sqlite_and_back_no_byte_changes_and_only_an_empty_store_takes_tasks(
    tmp_path: Path, worked: Path
) -> None:
    document, database = SERVERS["heartbeat"](), SERVERS["heartbeat"]("sqlite")
    one, two, three = worked, tmp_path / "two", tmp_path / "three"
    first = (one / document.store).read_bytes()
    two.mkdir()
    done(database, two, "import", str(one / document.store))
    done(database, two, "export", str(tmp_path / "exported"))
    three.mkdir()
    done(document, three, "import", str(tmp_path / "exported"))
    assert [(tmp_path / "exported").read_bytes(), (three / document.store).read_bytes()] == [first, first]
    assert [done(document, one, "export"), done(database, two, "export")] == [first, first]
    assert os.stat(tmp_path / "exported").st_mode & 0o777 == 0o600
    for kind, folder in ((document, three), (database, two)):
        assert "is not empty" in refusal(kind, folder, "import", str(one / document.store))


@pytest.mark.requirement("EN-18", "EN-19", "HB-7")
def test_archived_tasks_move_along_with_the_others(tmp_path: Path) -> None:
    document, database = SERVERS["heartbeat"](), SERVERS["heartbeat"]("sqlite")
    one, two = tmp_path / "one", tmp_path / "two"
    document.prepare(one)
    with serve(document, one) as client:
        old = called(client, "task_create", raw_user_request="old")["id"]
        called(client, "task_create", raw_user_request="new")
        called(client, "task_update", task_id=old, updates={"status": "Complete"})
    with serve(document, one, TASK_RETENTION_DAYS="0") as client:
        assert called(client, "task_get", task_id=old)["archived"]
    two.mkdir()
    done(database, two, "import", str(one / document.store))
    with serve(database, two) as client:
        assert called(client, "task_get", task_id=old)["archived"]
        assert [task["raw_user_request"] for task in called(client, "task_list")["tasks"]] == ["new"]
    done(database, two, "export", str(two / document.store))
    for name in (document.store, "heartbeat_archive.jsonl"):
        assert (two / name).read_bytes() == (one / name).read_bytes()
    assert b"left out" in run(database, two, "export").stderr


DAMAGED: Final = {
    b'[\n{"id": "a", "na': "damaged at line 2",
    b'{"version": 1,\n"version": 1, "tasks": []}': "damaged at line 2",
    b'{"version": 1, "tasks": []}\n<<<<<<< ours\n': "damaged at line 2",
    b'{"version": 99, "tasks": []}': "newer",
    b"": "the end of the file",
}
"""What may be in a file that no server wrote whole, and what is said of it."""


@pytest.mark.requirement("EN-18", "ST-3")
def test_nothing_is_imported_from_a_damaged_file(tmp_path: Path) -> None:
    path, folder = tmp_path / "damaged.json", tmp_path / "store"
    folder.mkdir()
    for (data, said), engine in zip(DAMAGED.items(), cycle(ENGINES), strict=False):
        path.write_bytes(data)
        message = refusal(SERVERS["heartbeat"](engine), folder, "import", str(path))
        assert path.name in message
        assert said in message
        assert os.listdir(folder) == []


@pytest.mark.requirement("EN-18", "CLI-3")
def test_a_command_without_a_file_that_it_needs_or_with_one_that_is_taken_says_so(tmp_path: Path, worked: Path) -> None:
    kind, folder = SERVERS["heartbeat"](), shutil.copytree(worked, tmp_path / "store")
    assert "name the document" in refusal(kind, folder, "import")
    assert "absent.json" in refusal(kind, folder, "import", str(folder / "absent.json"))
    (folder / "taken").write_text("keep me")
    assert "taken" in refusal(kind, folder, "export", str(folder / "taken"))
    assert "nothing to restore" in refusal(SERVERS["heartbeat"]("sqlite"), folder, "restore")


def imported_at_a_terminal(kind: Kind, folder: Path, document: Path) -> bytes:
    """Return what an import writes to a terminal."""
    ours, theirs = os.openpty()
    command = (*kind.record.module_command, "import", str(document))
    with ending(subprocess.Popen(command, env={**os.environ, **kind.environment(folder)}, stderr=theirs)) as process:
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 4096):
                written += chunk
        except OSError:  # how Linux reports the end of a terminal
            pass
        os.close(ours)
        assert process.wait(PATIENCE) == 0
    return written


@pytest.mark.requirement("EN-18")
def test_progress_is_shown_on_a_terminal_only(tmp_path: Path, worked: Path) -> None:
    source, kind = SERVERS["heartbeat"](), SERVERS["heartbeat"]("sqlite")
    document = worked / source.store
    for name in ("terminal", "pipe"):
        (tmp_path / name).mkdir()
    shown = imported_at_a_terminal(kind, tmp_path / "terminal", document)
    assert f"[{'#' * 40}] {TASKS} of {TASKS}".encode() in shown
    ended = run(kind, tmp_path / "pipe", "import", str(document))
    assert ended.stderr.decode() == f"Imported {TASKS} tasks into sqlite:{tmp_path / 'pipe' / kind.store}.\n"
    assert ended.stdout == b""


@pytest.mark.requirement("ST-6")
def test_an_older_document_is_put_back_while_a_server_runs(tmp_path: Path) -> None:
    kind = SERVERS["heartbeat"]()
    work(kind, tmp_path)
    path = tmp_path / kind.store
    older = path.read_bytes()
    with serve(kind, tmp_path) as client:
        change = kind.create("later", lambda: "word")
        called(client, change.tool, **change.arguments)
        (line,) = done(kind, tmp_path, "restore").decode().splitlines()
        assert line.startswith(f"{kind.store}.bak ")
        assert line.endswith(f" {TASKS} tasks")
        newest = path.read_bytes()
        done(kind, tmp_path, "restore", f"{kind.store}.bak")
        assert path.read_bytes() == older
        change = kind.create("last", lambda: "word")
        called(client, change.tool, **change.arguments)
    assert [seen.token for seen in kind.stored(tmp_path)][TASKS:] == ["last"]
    (replaced,) = tmp_path.glob(f"{kind.store}.before-restore-*")
    assert replaced.read_bytes() == newest


def written_tasks(folder: Path) -> Path:
    """Write a document with many tasks, as another program would."""
    moments = [f"2026-03-{1 + number // 1000:02}T12:{number // 60 % 60:02}:{number % 60:02}Z" for number in range(MANY)]
    tasks = [
        {"id": f"task-{number}", "title": f"Title {number}", "created_at": moment, "updated_at": moment}
        for number, moment in enumerate(moments)
    ]
    path = folder / "tasks.json"
    path.write_text(json.dumps({"version": 1, "tasks": tasks}), "utf-8")
    return path


@pytest.mark.requirement("EN-6", "EN-17", "EN-18", "DOC-1", "V1-2")
def test_a_user_with_many_tasks_is_shown_the_way_to_sqlite_and_goes_on_there_with_the_same_ids(tmp_path: Path) -> None:
    document, database = SERVERS["tasks-v1"](), SERVERS["tasks-v1"]("sqlite")
    path = written_tasks(tmp_path)
    with serve(document, tmp_path) as client:
        before = called(client, "get_task", id="task-11999")
        page = called(client, "list_tasks", limit=50)
        assert page["total"] == MANY
        following = called(client, "list_tasks", limit=50, cursor=page["next_cursor"])
    advice = done(document, tmp_path, "doctor").decode()
    assert f"{path.name} is slow with this many tasks" in advice
    assert "export FILE" in advice
    assert "TASK_STORE=sqlite:" in advice
    done(document, tmp_path, "export", str(tmp_path / "moved.json"))
    done(database, tmp_path, "import", str(tmp_path / "moved.json"))
    assert "is slow" not in done(database, tmp_path, "doctor").decode()
    with serve(database, tmp_path) as client:
        assert called(client, "get_task", id="task-11999") == before
        assert called(client, "list_tasks", limit=50) == page
        assert called(client, "list_tasks", limit=50, cursor=page["next_cursor"]) == following
        moved = called(client, "update_task_status", id="task-0", status="in_progress")["task"]
        assert (moved["id"], moved["status"]) == ("task-0", "in_progress")
        created = called(client, "create_task", title="one more")["task"]
        assert called(client, "list_tasks", limit=1)["tasks"][0]["id"] == created["id"]
