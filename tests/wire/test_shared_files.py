"""Files that people and other programs write beside real servers: nothing is written over, hidden or mixed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tests.core.notes import wait_until
from tests.core.test_store_damage import FOREIGN
from tests.processes import ending
from tests.wire.line_client import LineClient, Message
from tests.wire.storm_servers import ROUTINE, SERVERS, Kind, entry_ids
from tests.wire.test_disks import mount

SLOWLY = '(echo opened >&2; read -r go; cat "$0") > "$1"'
"""A shell empties a file, waits for a line, and then writes the file anew."""

CALLS: Mapping[str, list[tuple[str, dict[str, JsonValue]]]] = {
    "heartbeat": [
        ("task_get", {"task_id": "a"}),
        ("task_list", {}),
        ("task_update", {"task_id": "a", "updates": {"status": "Running"}}),
        ("task_create", {"raw_user_request": "x"}),
    ],
    "hierarchy": [
        ("getTask", {"id": "a"}),
        ("listTasks", {}),
        ("updateTask", {"id": "a", "name": "x"}),
        ("startTask", {"id": "a"}),
        ("completeTask", {"id": "a", "resolution": "x"}),
        ("deleteTask", {"id": "a"}),
        ("createTask", {"name": "x"}),
    ],
    "tasks-v1": [
        ("get_task", {"id": "a"}),
        ("list_tasks", {}),
        ("update_task", {"id": "a", "title": "x"}),
        ("update_task_status", {"id": "a", "status": "done"}),
        ("create_task", {"title": "x"}),
    ],
}
"""A call of each tool, with what it needs."""

REQUESTS: list[tuple[str, dict[str, JsonValue]]] = [
    ("resources/subscribe", {"uri": "tasks://list"}),
    ("resources/subscribe", {"uri": "tasks://a"}),
    ("resources/list", {}),
    ("resources/read", {"uri": "tasks://list"}),
    ("resources/read", {"uri": "tasks://summary"}),
]
"""Whatever else reaches the store."""


@pytest.fixture(params=SERVERS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return SERVERS[request.param]()


def serve(kind: Kind, folder: Path, **settings: str) -> LineClient:
    """Return a client of a new server over ``folder``."""
    environment = {**kind.environment(folder), **settings}
    return LineClient(command=kind.record.module_command, environment=environment)


def heartbeat(folder: Path, **settings: str) -> LineClient:
    return serve(SERVERS["heartbeat"](), folder, **settings)


def asked(client: LineClient, method: str, parameters: dict[str, JsonValue]) -> Message:
    """Return the answer to a request, whatever a subscriber hears before it."""
    line = client.line(method, parameters)
    client.write(line)
    number = json.loads(line)["id"]
    return next(message for message in iter(client.receive, None) if message.get("id") == number)


def called(client: LineClient, tool: str, **arguments: JsonValue) -> dict[str, Any]:
    """Return what a call answers that succeeds."""
    result = asked(client, "tools/call", {"name": tool, "arguments": arguments})["result"]
    assert not result["isError"], result
    content: dict[str, Any] = result["structuredContent"]
    return content


def texts(client: LineClient, kind: Kind) -> list[str]:
    """Return the texts of the tasks that a server lists, in alphabetical order."""
    tool, _ = CALLS[kind.record.name][1]
    tasks = called(client, tool)["tasks"]
    return sorted(task.get("raw_user_request") or task.get("name") or task["title"] for task in tasks)


def refuses_all(client: LineClient, kind: Kind) -> None:
    """Check that every tool answers that the store is damaged, and that no other request ends the server."""
    for tool, arguments in CALLS[kind.record.name]:
        result = asked(client, "tools/call", {"name": tool, "arguments": arguments})["result"]
        assert result["isError"], result
        assert result["structuredContent"]["error"]["code"] == "StoreDamaged"
    for method, parameters in REQUESTS:
        asked(client, method, parameters)


@contextmanager
def kept_young(path: Path) -> Iterator[None]:
    """Let the file have been written just now, for as long as the block runs."""
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(0.2):
            os.utime(path)

    with ThreadPoolExecutor(1) as pool:
        touching = pool.submit(touch)
        try:
            yield
        finally:
            ended.set()
        touching.result()


@contextmanager
def written_slowly(path: Path, data: bytes) -> Iterator[None]:
    """Let a shell empty the file before the block, and write it after the block.

    An empty file that has been at rest for some seconds is a new store, so this one never is, however slow the block.
    """
    source = path.with_name("source")
    source.write_bytes(data)
    command = ("sh", "-c", SLOWLY, str(source), str(path))
    with ending(subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)) as shell:
        assert shell.stderr
        assert shell.stderr.readline() == b"opened\n"
        with kept_young(path):
            yield
        shell.communicate(b"go\n")
    source.unlink()


def save_by_rename(path: Path, data: bytes) -> None:
    draft = path.with_name("draft")
    draft.write_bytes(data)
    draft.replace(path)


def create(client: LineClient, kind: Kind, text: str) -> None:
    change = kind.create(text, lambda: "a word")
    called(client, change.tool, **change.arguments)


def stored(path: Path) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = json.loads(path.read_bytes())["tasks"]
    return tasks


# The store


@pytest.mark.requirement("ST-3", "ST-5", "HB-16")
@pytest.mark.parametrize("kind", ["heartbeat"], indirect=True)
def test_what_a_shell_writes_while_servers_start_and_read_arrives_whole(tmp_path: Path, kind: Kind) -> None:
    kind.prepare(tmp_path)
    path = tmp_path / kind.store
    with serve(kind, tmp_path) as client:
        create(client, kind, "ours")
        theirs = path.read_bytes().replace(b'"ours"', b'"theirs"')
        with written_slowly(path, theirs):
            refuses_all(client, kind)
            with serve(kind, tmp_path) as other:
                refuses_all(other, kind)
            assert path.read_bytes() == b""
        assert path.read_bytes() == theirs
        assert texts(client, kind) == ["theirs"]
        create(client, kind, "more")
        assert texts(client, kind) == ["more", "theirs"]


@pytest.mark.requirement("ST-3", "RES-7")
def test_a_file_of_another_program_is_left_as_it_is_by_every_request(tmp_path: Path, kind: Kind) -> None:
    kind.prepare(tmp_path)
    path = tmp_path / kind.store
    names = {path.name, *(entry.name for entry in tmp_path.iterdir())}
    with serve(kind, tmp_path) as client:
        for foreign in (data for name, data in FOREIGN.items() if name != kind.record.name):
            path.write_bytes(foreign)
            refuses_all(client, kind)
            assert path.read_bytes() == foreign
            assert {entry.name for entry in tmp_path.iterdir() if entry.suffix != ".lock"} == names


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize("kind", ["hierarchy"], indirect=True)
def test_a_typo_that_is_saved_by_rename_hides_and_overwrites_nothing(tmp_path: Path, kind: Kind) -> None:
    kind.prepare(tmp_path)
    path = tmp_path / kind.store
    with serve(kind, tmp_path) as client:
        for text in ("more", "ours"):
            create(client, kind, text)
        whole = path.read_bytes()
        for typo in ((b'"id"', b'"di"'), (b"},\n", b"}\n"), (b'"ours"', b'"ours'), (b'"status"', b'"id"')):
            save_by_rename(path, whole.replace(*typo, 1))
            refuses_all(client, kind)
            assert path.read_bytes() == whole.replace(*typo, 1) != whole
            save_by_rename(path, whole)
            assert texts(client, kind) == ["more", "ours"]


# The section


@pytest.mark.requirement("HB-18", "HB-9", "C5")
def test_what_a_shell_writes_into_the_file_of_the_section_arrives_whole(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_text(ROUTINE)
    with heartbeat(tmp_path) as client:
        create(client, SERVERS["heartbeat"](), "ours")
        theirs = path.read_bytes().replace(b"keep me", b"keep me, too") + b"\n- their list\n"
        with written_slowly(path, theirs):
            create(client, SERVERS["heartbeat"](), "more")
            with heartbeat(tmp_path) as other:
                assert texts(other, SERVERS["heartbeat"]()) == ["more", "ours"]
            assert path.read_bytes() == b""
        wait_until(lambda: b"more" in path.read_bytes())
        before, after = theirs.split(b"\n## Notes")
        assert path.read_bytes().startswith(before)
        assert path.read_bytes().endswith(b"\n## Notes" + after)


@pytest.mark.requirement("HB-18", "HB-13")
def test_a_file_that_is_mounted_singly_is_kept_up_to_date(tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "HEARTBEAT.md"
    source.write_text(ROUTINE)
    path.touch()
    mount("--bind", str(source), str(path))
    try:
        with heartbeat(tmp_path) as client:
            created = called(client, "task_create", raw_user_request="ours")
        assert "warnings" not in created
        assert entry_ids(tmp_path) == [created["id"]]
        before, after = ROUTINE.split("\n\n## Notes")
        assert source.read_text().startswith(before)
        assert source.read_text().endswith("\n## Notes" + after)
    finally:
        subprocess.run(("umount", str(path)), check=True)


@pytest.mark.requirement("HB-12", "H3")
def test_bullets_that_replace_the_entries_of_updated_tasks_are_tasks_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    with heartbeat(tmp_path) as client:
        first, second = [
            called(client, "task_create", raw_user_request=text)["id"] for text in ("buy milk", "call mum")
        ]
        for task_id in (first, second):
            called(client, "task_update", task_id=task_id, updates={"status": "Running", "result": "half"})
        path.write_text("## TODO\n- [x] buy milk\n- call mum\n")
        page = called(client, "task_list", include_completed=True)
    assert sorted((task["raw_user_request"], task["status"], task["result"] or "") for task in page["tasks"]) == [
        ("buy milk", "Complete", ""),
        ("buy milk", "Running", "half"),
        ("call mum", "Pending", ""),
        ("call mum", "Running", "half"),
    ]
    assert any(first in warning and "are back" in warning for warning in page["warnings"])


@pytest.mark.requirement("HB-12")
def test_a_daily_list_that_is_copied_in_with_its_old_time_is_new_every_day(tmp_path: Path) -> None:
    path, daily = tmp_path / "HEARTBEAT.md", tmp_path / "daily.md"
    daily.write_text("# Me\n\n## TODO\n- water the plants\n")
    os.utime(daily, (1e9, 1e9))
    for day in range(1, 3):
        with heartbeat(tmp_path) as client:
            for _ in range(2):
                shutil.copy2(daily, path)
                (task,) = called(client, "task_list")["tasks"]
                assert task["raw_user_request"] == "water the plants"
                called(client, "task_update", task_id=task["id"], updates={"status": "Complete"})
        assert len(stored(tmp_path / "heartbeat_state.json")) == 2 * day
    assert path.read_text() == "# Me\n\n## TODO\n"


@pytest.mark.requirement("HB-6", "HB-12", "TOOL-3")
def test_bullets_keep_to_the_workspace_and_to_the_limits_of_a_call(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    refused = "- read it\n  - Raw Reference: /etc/passwd\n- long\n  - Result: " + "x" * 100_001 + "\n"
    path = tmp_path / "HEARTBEAT.md"
    path.write_text(f"## TODO\n{refused}- read this\n  - Raw Reference: {tmp_path}/inside/a.md\n")
    with heartbeat(tmp_path, WORKSPACE_PATH=str(tmp_path / "inside")) as client:
        page = called(client, "task_list", include_completed=True)
        assert [task["raw_user_request"] for task in page["tasks"]] == ["read this"]
        assert any("cannot become tasks" in warning for warning in page["warnings"])
    assert refused in path.read_text()


@pytest.mark.requirement("HB-9", "HB-12")
def test_a_long_paragraph_below_the_section_delays_no_call(tmp_path: Path) -> None:
    notes = "\n## Log\n" + "".join(f"line {number} of a log that is kept here\n" for number in range(1_000))
    path = tmp_path / "HEARTBEAT.md"
    path.write_text("## TODO\n- buy milk\n" + notes)
    with heartbeat(tmp_path) as client:
        called(client, "task_create", raw_user_request="pay")  # a change, as a list waits for 2 seconds only
        listed = [task["raw_user_request"] for task in called(client, "task_list")["tasks"]]
    assert listed == ["buy milk", "pay"]
    assert path.read_text().endswith(notes)


# Two lists, the archive, and cleaning


@pytest.mark.requirement("HB-7", "ST-2")
def test_two_lists_in_one_folder_share_no_task_and_no_archive(tmp_path: Path) -> None:
    files = {"HEARTBEAT.md": "SECRET of A", "b.md": "notes of B"}
    for _ in range(2):
        for name, text in files.items():
            with heartbeat(tmp_path, HEARTBEAT_FILE_PATH=str(tmp_path / name), TASK_RETENTION_DAYS="0") as client:
                task_id = called(client, "task_create", raw_user_request=text)["id"]
                called(client, "task_update", task_id=task_id, updates={"status": "Complete"})
                found = called(client, "task_list", include_archived=True)["tasks"]
            assert {task["raw_user_request"] for task in found} == {text}
    archives = {entry.name: entry.read_text().count(" of ") for entry in tmp_path.glob("*_archive.jsonl")}
    assert archives == {"heartbeat_archive.jsonl": 1, "b_state_archive.jsonl": 1}


MEGABYTES = 64

LINE = json.dumps({
    "id": "old-{}", "status": "Complete", "raw_user_request": "x" * 1_000_000, "created_at": "2020-01-01T00:00:00Z",
    "updated_at": "2020-01-01T00:00:00Z", "completed_at": "2020-01-01T00:00:00Z",
}, separators=(",", ":"))  # fmt: skip


def bytes_read(client: LineClient) -> int:
    """Return how many bytes a server has read until now, from whatever it was."""
    lines = Path(f"/proc/{client.process.pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has read")
@pytest.mark.requirement("HB-7")
def test_the_archive_is_read_once_by_a_process_and_only_when_it_is_needed(tmp_path: Path) -> None:
    with (tmp_path / "heartbeat_archive.jsonl").open("w") as file:
        file.writelines(LINE.replace("{}", str(number)) + "\n" for number in range(MEGABYTES))
    size = (tmp_path / "heartbeat_archive.jsonl").stat().st_size
    with heartbeat(tmp_path) as client:
        done = called(client, "task_create", raw_user_request="x")["id"]
        called(client, "task_update", task_id=done, updates={"status": "Complete"})
    with heartbeat(tmp_path, TASK_RETENTION_DAYS="0") as client:
        assert called(client, "task_list", include_completed=True)["tasks"] == []
        assert bytes_read(client) < size
        before = bytes_read(client)
        called(client, "task_create", raw_user_request="y")
        assert size <= bytes_read(client) - before < 2 * size
        before = bytes_read(client)
        called(client, "task_create", raw_user_request="z")
        assert bytes_read(client) - before < size // 10
    assert done in (tmp_path / "heartbeat_archive.jsonl").read_text().splitlines()[-1]
