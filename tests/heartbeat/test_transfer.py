"""A list on its way between engines: the same bytes come back, with the archive and HEARTBEAT.md's receipts (EN-18)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat_mcp.__main__ import main
from heartbeat_mcp.codec import CODEC
from heartbeat_mcp.settings import HeartbeatSettings
from heartbeat_mcp.transfer import ArchiveTransfer
from task_core.cli.commands import CommandFailed, Commands
from tests.core.faults import Fault, watched
from tests.heartbeat.conftest import Desk, call
from tests.tool_client import ToolFailed

TIMES = '"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"'

DOCUMENTS = {
    "empty": '{"version": 1, "tasks": []}',
    "bare": f'{{"tasks": [{{"id": "a", "raw_user_request": "x", {TIMES}}}]}}',
    "of a person": f"""{{"mine": [1, {{"deep": null}}], "version": 1, "tasks": [
        {{"id": "任务", "raw_user_request": "写\\n登录 \\u0000 <!-- 🦊", "status": "RUNNING", "ideas": "one", {TIMES},
          "extra_fields": {{"b": 1.50, "a": [true]}}, "unknown": {{"z": 1, "a": 2}}}},
        {{"id": "b", "raw_user_request": "x", "status": "Complete", "completed_at": "2026-01-02T03:04:05Z", {TIMES}}}],
        "section": {{"任务": "aabbccddeeff", "b": "-001122334455"}}, "id_to_index": {{"b": 7}}}}""",
}
"""Documents of people and of other versions, by name."""


def commands(**settings: object) -> Commands:
    loaded = HeartbeatSettings.model_validate({"task_fsync": False, **settings})
    return Commands(loaded, CODEC, ArchiveTransfer(loaded))


def there_and_back(folder: Path, document: Path) -> Path:
    """Import a document into a database, export that, and return the document that comes of it."""
    moved = commands(task_store=f"sqlite:{folder / 'moved.db'}")
    moved.run("import", str(document))
    moved.run("export", str(folder / "out.json"))
    return folder / "out.json"


async def lived_in(desk: Desk) -> None:
    """Leave a list with active, finished and archived tasks, and a HEARTBEAT.md in which a person wrote."""
    server = desk.server()
    made = [await call(server, "task_create", raw_user_request=f"任务 {n}", ideas=["一"], mood=n) for n in range(4)]
    await call(server, "task_update", task_id=made[0]["id"], updates={"status": "Complete", "result": "成"})
    await call(server, "task_update", task_id=made[1]["id"], updates={"status": "Fail"})
    desk.now += timedelta(days=8)
    await call(server, "task_update", task_id=made[2]["id"], updates={"status": "Complete"})
    desk.heartbeat.write_text(desk.heartbeat.read_text("utf-8") + "- buy milk\n", "utf-8")
    assert len((await call(desk.server(), "task_list"))["tasks"]) == 2


@pytest.mark.requirement("EN-18")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_of_a_person_comes_back_as_a_save_would_have_written_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.json").write_text(DOCUMENTS[name], "utf-8")
    (tmp_path / "first").mkdir()
    saved = there_and_back(tmp_path / "first", tmp_path / "in.json")
    assert there_and_back(tmp_path, saved).read_bytes() == saved.read_bytes()
    old, new = json.loads(DOCUMENTS[name]), json.loads(saved.read_bytes())
    assert [task["id"] for task in new["tasks"]] == [task["id"] for task in old["tasks"]]
    assert {key: new[key] for key in ("mine", "section") if key in old} == {
        key: old[key] for key in ("mine", "section") if key in old
    }


@pytest.mark.requirement("EN-18", "EN-19", "HB-7")
async def test_a_list_comes_back_byte_for_byte_with_its_archive(tmp_path: Path, stored_desk: Desk) -> None:
    await lived_in(stored_desk)
    document, archive = stored_desk.state, stored_desk.folder / "heartbeat_archive.jsonl"
    assert archive.read_bytes().count(b"\n") == 2
    (tmp_path / "out").mkdir()
    found = there_and_back(tmp_path / "out", document)
    assert found.read_bytes() == document.read_bytes()
    assert found.with_name("out_archive.jsonl").read_bytes() == archive.read_bytes()


@pytest.mark.requirement("EN-18", "EN-19", "HB-12")
async def test_a_server_goes_on_with_the_moved_list_and_the_same_file(stored_desk: Desk) -> None:
    await lived_in(stored_desk)
    listed = await call(stored_desk.server(), "task_list", include_archived=True)
    shown = stored_desk.heartbeat.read_bytes()
    address = f"sqlite:{stored_desk.folder / 'tasks.db'}"
    commands(task_store=address).run("import", str(stored_desk.state))
    server = Desk(stored_desk.folder, "sqlite", stored_desk.now).server()
    # The receipts came along: nothing is taken in, overwritten or reported.
    assert await call(server, "task_list", include_archived=True) == listed
    assert stored_desk.heartbeat.read_bytes() == shown
    archived = listed["tasks"][0]
    assert archived["archived"] is True
    with pytest.raises(ToolFailed, match=r"^InvalidArguments: .*archived; create a new one"):
        await call(server, "task_update", task_id=archived["id"], updates={"status": "Running"})
    await call(server, "task_update", task_id=listed["tasks"][3]["id"], updates={"status": "Running"})
    assert b"[Running]" in stored_desk.heartbeat.read_bytes()
    assert not stored_desk.heartbeat.with_name("HEARTBEAT.md.bak").exists()


@pytest.mark.requirement("EN-18", "HB-7")
async def test_a_document_is_moved_to_another_one_with_its_archive(tmp_path: Path, stored_desk: Desk) -> None:
    await lived_in(stored_desk)
    (tmp_path / "new").mkdir()
    settings = {"task_store": f"json:{tmp_path / 'new' / 'list.json'}"}
    commands(**settings).run("import", str(stored_desk.state))
    commands(**settings).run("export", str(tmp_path / "new" / "out.json"))
    assert (tmp_path / "new" / "out.json").read_bytes() == stored_desk.state.read_bytes()
    archive = (stored_desk.folder / "heartbeat_archive.jsonl").read_bytes()
    for name in ("list_archive.jsonl", "out_archive.jsonl"):
        assert (tmp_path / "new" / name).read_bytes() == archive


@pytest.mark.requirement("EN-18", "CLI-1")
async def test_the_commands_of_the_server_move_a_list(
    stored_desk: Desk, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    await lived_in(stored_desk)
    monkeypatch.setenv("TASK_STORE", f"sqlite:{stored_desk.folder / 'tasks.db'}")
    for command in (["import", str(stored_desk.state)], ["export"]):
        monkeypatch.setattr("sys.argv", ["heartbeat-mcp", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
    assert capfdbinary.readouterr().out == stored_desk.state.read_bytes()


@pytest.mark.requirement("EN-18", "ERR-2")
async def test_an_archive_with_a_line_that_is_not_a_task_is_refused_and_nothing_is_imported(stored_desk: Desk) -> None:
    await lived_in(stored_desk)
    with (stored_desk.folder / "heartbeat_archive.jsonl").open("ab") as file:
        file.write(b"\ntorn\n")
    moved = commands(task_store=f"sqlite:{stored_desk.folder / 'tasks.db'}")
    with pytest.raises(CommandFailed, match=r"line 3 of .*heartbeat_archive.jsonl is not a task"):
        moved.run("import", str(stored_desk.state))
    (stored_desk.folder / "heartbeat_archive.jsonl").unlink()
    moved.run("import", str(stored_desk.state))


@pytest.mark.requirement("EN-18", "HB-7")
async def test_an_archive_behind_a_link_that_leads_nowhere_is_not_passed_over(stored_desk: Desk) -> None:
    await lived_in(stored_desk)
    archive = stored_desk.folder / "heartbeat_archive.jsonl"
    archive.rename(stored_desk.folder / "away.jsonl")
    archive.symlink_to("nowhere.jsonl")
    moved = commands(task_store=f"sqlite:{stored_desk.folder / 'tasks.db'}")
    with pytest.raises(CommandFailed, match=r"heartbeat_archive.jsonl: .*No such file"):
        moved.run("import", str(stored_desk.state))
    archive.unlink()
    archive.symlink_to("away.jsonl")
    moved.run("import", str(stored_desk.state))


@pytest.mark.requirement("EN-18", "HB-7")
async def test_an_import_that_failed_can_be_repeated_and_archives_no_task_twice(
    tmp_path: Path, stored_desk: Desk
) -> None:
    await lived_in(stored_desk)
    settings = {"task_store": f"json:{tmp_path / 'list.json'}"}
    with watched(Fault(1, 28, for_good=True), {"rename_with"}), pytest.raises(CommandFailed, match="No space left"):
        commands(**settings).run("import", str(stored_desk.state))
    assert not (tmp_path / "list.json").exists()
    commands(**settings).run("import", str(stored_desk.state))
    assert (tmp_path / "list.json").read_bytes() == stored_desk.state.read_bytes()
    archive = (stored_desk.folder / "heartbeat_archive.jsonl").read_bytes()
    assert (tmp_path / "list_archive.jsonl").read_bytes() == archive


@pytest.mark.requirement("EN-18", "HB-7")
async def test_nothing_is_imported_beside_the_archive_of_another_list(tmp_path: Path, stored_desk: Desk) -> None:
    await lived_in(stored_desk)
    (tmp_path / "list_archive.jsonl").write_bytes(b'{"id": "torn')
    with pytest.raises(CommandFailed, match=r"list_archive\.jsonl is the archive of another list: move it away"):
        commands(task_store=f"json:{tmp_path / 'list.json'}").run("import", str(stored_desk.state))
    assert not (tmp_path / "list.json").exists()
    assert (tmp_path / "list_archive.jsonl").read_bytes() == b'{"id": "torn'


@pytest.mark.requirement("EN-18")
def test_a_task_that_is_in_the_document_and_in_its_archive_is_imported_once(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(DOCUMENTS["bare"], "utf-8")
    (tmp_path / "in_archive.jsonl").write_text(f'{{"id": "a", "raw_user_request": "x", {TIMES}}}\n', "utf-8")
    assert len(json.loads(there_and_back(tmp_path, tmp_path / "in.json").read_bytes())["tasks"]) == 1
    assert not (tmp_path / "out_archive.jsonl").exists()
