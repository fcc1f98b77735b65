"""``heartbeat-mcp doctor``: the store, the archive and HEARTBEAT.md as the server sees them (DOC-1)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heartbeat_mcp.__main__ import main
from heartbeat_mcp.doctor import checks
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.doctor import Level
from tests.core.command_line import command_line
from tests.doctor_report import Report, report
from tests.heartbeat.conftest import Desk, call
from tests.tool_client import ToolFailed
from tests.untouched import untouched

Make = Callable[[Path], object]

SERVED = "# Mine\n\n## TODO\n\n- buy milk\n\n## Notes\n"


def look(folder: Path, **environment: str) -> Report:
    variables = {"HEARTBEAT_FILE_PATH": str(folder / "HEARTBEAT.md"), **environment}
    return report("heartbeat_mcp", folder, variables)


@pytest.mark.requirement("DOC-1")
def test_an_empty_folder_is_right_and_stays_empty(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert (found.code, found.lines[-1]) == (0, "Nothing is wrong.")
    assert found.of("folder", "ok") == [f"{tmp_path} is writable"]
    assert found.of("heartbeat", "ok") == ["HEARTBEAT.md does not exist yet; it is created when needed"]
    assert found.of("archive", "ok") == [
        "heartbeat_archive.jsonl does not exist yet; it is created when finished tasks are archived"
    ]
    assert found.of("backup", "ok") == ["HEARTBEAT.md.bak does not exist: none of your edits has been overridden"]


@pytest.mark.requirement("DOC-1")
async def test_what_a_server_left_is_right(stored_desk: Desk) -> None:
    stored_desk.heartbeat.write_text(SERVED, "utf-8")
    task = await call(stored_desk.server(), "task_create", raw_user_request="feed the cat", mood="good")
    await call(stored_desk.server(), "task_update", task_id=task["id"], updates={"status": "Complete"})
    found = look(stored_desk.folder)
    assert (found.code, found.faults) == (0, [])
    assert found.of("heartbeat", "ok") == ["HEARTBEAT.md shows 1 task in its section '## TODO'"]
    (note,) = (line for line in found.lines if "  note " in line)
    assert "HEARTBEAT.md.bak keeps sections as they were" in note


@pytest.mark.requirement("DOC-1")
async def test_doctor_does_not_report_a_store_that_is_held(stored_desk: Desk) -> None:
    await call(stored_desk.server(), "task_create", raw_user_request="feed the cat")
    with stored_desk.hold():
        found = look(stored_desk.folder)
    assert (found.code, found.faults) == (0, [])


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("text", "level", "said"),
    [
        ("# Mine\n", "note", ["HEARTBEAT.md has no section '## TODO' yet; the first task adds it"]),
        ("## TODO – and more\n", "ok", ["HEARTBEAT.md shows 0 tasks in its section '## TODO – and more'"]),
        (
            "```\n## TODO\n```\n",
            "note",
            ["HEARTBEAT.md has no section '## TODO' yet; the first task adds it"],
        ),
        (
            "## TODO\n- a\n- b\n",
            "note",
            ["HEARTBEAT.md has 2 bullets of your own; the next start or call turns them into tasks"],
        ),
        (
            "## TODO\n# x\n## TODO\n",
            "note",
            ["HEARTBEAT.md has several sections that could be meant; only '## TODO' is kept up to date"],
        ),
        (
            "## TODO - later\n# x\n## TODO\n",
            "note",
            ["HEARTBEAT.md has several sections that could be meant; only '## TODO' is kept up to date"],
        ),
    ],
    ids=["none", "continued", "only in a fence", "bullets", "several, the first", "several, the second"],
)
def test_doctor_reports_the_section_as_the_server_finds_it(
    tmp_path: Path, text: str, level: str, said: list[str]
) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(text, "utf-8")
    found = look(tmp_path)
    assert (found.code, found.of("heartbeat", level)) == (0, said)


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("text", "level", "said"),
    [
        (None, "ok", "HEARTBEAT.md does not exist and will not be created"),
        ("# Mine\n", "note", "HEARTBEAT.md has no section '## TODO' and none is added"),
        ("## TODO\n- a\n", "note", "HEARTBEAT.md has 1 bullet of your own; only a recovery turns them into tasks"),
        (
            "## TODO\n# x\n## TODO\n",
            "note",
            "HEARTBEAT.md has several sections that could be meant; only '## TODO' is read",
        ),
    ],
    ids=["no file", "no section", "bullet", "several"],
)
async def test_nothing_is_promised_about_a_file_that_is_not_kept_up_to_date(
    stored_desk: Desk, text: str | None, level: str, said: str
) -> None:
    stored_desk.state.write_text('{"tasks": [], "section": {}}')
    stored_desk.state.chmod(0o600)
    if text is not None:
        stored_desk.heartbeat.write_text(text, "utf-8")
    found = look(stored_desk.folder, AUTO_SYNC_ENABLED="false")
    assert (found.code, found.of("heartbeat", level)[-1]) == (0, said)
    assert await call(stored_desk.server(auto_sync_enabled="false"), "task_list") == {"tasks": []}
    assert (stored_desk.heartbeat.read_text("utf-8") if stored_desk.heartbeat.exists() else None) == text


@pytest.mark.requirement("DOC-1")
async def test_the_section_is_added_with_the_first_task_as_doctor_said(stored_desk: Desk) -> None:
    stored_desk.heartbeat.write_text("# Mine\n", "utf-8")
    server = stored_desk.server()
    assert await call(server, "task_list") == {"tasks": []}
    assert stored_desk.heartbeat.read_text("utf-8") == "# Mine\n"
    await call(server, "task_create", raw_user_request="feed the cat")
    assert "## TODO" in stored_desk.heartbeat.read_text("utf-8")


UNREADABLE: dict[str, tuple[Make, str]] = {
    "fifo": (
        os.mkfifo,
        "HEARTBEAT.md exists but cannot be read (not a regular file [EINVAL]), so no task is shown in it",
    ),
    "UTF-16": (
        lambda path: path.write_text(SERVED, "utf-16"),
        "HEARTBEAT.md exists but cannot be read (the text is UTF-16, not UTF-8 [EILSEQ]), so no task is shown in it",
    ),
    "nested": (
        lambda path: path.write_text("- " * 60 + "x\n", "utf-8"),
        "HEARTBEAT.md exists but cannot be read (its lists are nested too deep [ELOOP]), so no task is shown in it",
    ),
    "read-only": (
        lambda path: (path.write_text(SERVED, "utf-8"), path.chmod(0o444)),
        "HEARTBEAT.md is read-only, so it is not updated",
    ),
}


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("make", "fault"), UNREADABLE.values(), ids=UNREADABLE)
async def test_what_the_server_warns_of_is_wrong(stored_desk: Desk, make: Make, fault: str) -> None:
    make(stored_desk.heartbeat)
    found = look(stored_desk.folder)
    assert (found.code, found.faults) == (1, [f"heartbeat {fault}"])
    made = await call(stored_desk.server(), "task_create", raw_user_request="feed the cat")
    assert any("HEARTBEAT.md could not be" in warning for warning in made["warnings"])


@pytest.mark.requirement("DOC-1", "HB-12")
def test_a_section_with_a_merge_conflict_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text("## TODO\n<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n", "utf-8")
    found = look(tmp_path)
    fault = "HEARTBEAT.md has merge conflict markers in its section, so nothing is taken from it or written"
    assert (found.code, found.of("heartbeat", "WRONG"), found.of("heartbeat", "note")) == (1, [fault], [])


@pytest.mark.requirement("DOC-1")
async def test_a_folder_in_the_place_of_the_lock_of_the_file_is_wrong(stored_desk: Desk) -> None:
    (stored_desk.folder / "HEARTBEAT.md.lock").mkdir()
    made = await call(stored_desk.server(), "task_create", raw_user_request="x")
    assert "HEARTBEAT.md was left as it is" in made["warnings"][0]
    stored_desk.heartbeat.touch()
    fault = "HEARTBEAT.md.lock is not a lock file that this user can use, so nothing is saved"
    assert look(stored_desk.folder).of("heartbeat", "WRONG") == [
        fault,
        "HEARTBEAT.md does not show 1 task of the store",
    ]


@pytest.mark.requirement("DOC-1")
def test_a_file_that_everyone_may_write_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(SERVED, "utf-8")
    (tmp_path / "HEARTBEAT.md").chmod(0o666)
    assert look(tmp_path).faults == ["heartbeat HEARTBEAT.md is writable by everyone (mode 666)"]


@pytest.mark.requirement("DOC-1")
def test_a_file_that_is_not_kept_in_step_may_be_read_only(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text(SERVED, "utf-8")
    (tmp_path / "HEARTBEAT.md").chmod(0o444)
    found = look(tmp_path, AUTO_SYNC_ENABLED="false")
    assert found.code == 0
    assert found.of("heartbeat", "note")[0] == (
        "AUTO_SYNC_ENABLED is false: the file is never written, and read only to recover"
    )


def link_to_nothing(path: Path) -> None:
    path.symlink_to("elsewhere")


def link_to_a_file(path: Path) -> None:
    path.with_name("elsewhere").write_text(json.dumps(TASK))
    path.symlink_to("elsewhere")


def private_text(path: Path) -> None:
    path.write_text("## TODO\n", "utf-8")
    path.chmod(0o600)


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("make", "level", "said"),
    [
        (
            private_text,
            "note",
            "HEARTBEAT.md.bak keeps sections as they were before your lines or edits were replaced (8 bytes)",
        ),
        (link_to_nothing, "note", "HEARTBEAT.md.bak is a link; the next backup replaces it"),
        (Path.mkdir, "WRONG", "HEARTBEAT.md.bak is not a file, so no section can be saved there"),
    ],
    ids=["file", "link", "folder"],
)
def test_doctor_reports_the_backup(tmp_path: Path, make: Make, level: str, said: str) -> None:
    make(tmp_path / "HEARTBEAT.md.bak")
    assert look(tmp_path).of("backup", level) == [said]


TASK = {"id": "a", "raw_user_request": "x", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}


def written(text: str) -> Make:
    return lambda path: path.write_text(text)


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("make", "level", "said"),
    [
        (written(json.dumps(TASK)), "ok", "heartbeat_archive.jsonl holds 1 task"),
        (
            written("torn"),
            "WRONG",
            "heartbeat_archive.jsonl: 1 lines are not tasks and were skipped.",
        ),
        (
            Path.mkdir,
            "WRONG",
            "heartbeat_archive.jsonl cannot be read (not a regular file [EINVAL]); the tasks in it are not shown.",
        ),
    ],
    ids=["whole", "torn", "folder"],
)
def test_doctor_reports_the_archive_as_the_server_reads_it(tmp_path: Path, make: Make, level: str, said: str) -> None:
    make(tmp_path / "heartbeat_archive.jsonl")
    assert look(tmp_path).of("archive", level) == [said]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "fifo"])
def test_doctor_proposes_no_mode_for_anything_but_an_archive(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "heartbeat_archive.jsonl")
    found = look(tmp_path)
    assert len(found.faults) == 1
    assert [line for line in found.lines if "chmod" in line] == []


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("make", [link_to_nothing, link_to_a_file], ids=["to nothing", "to a file"])
async def test_an_archive_that_is_a_link_is_wrong_as_nothing_is_written_through_it(
    stored_desk: Desk, make: Make
) -> None:
    task = await call(stored_desk.server(), "task_create", raw_user_request="feed the cat")
    await call(stored_desk.server(), "task_update", task_id=task["id"], updates={"status": "Complete"})
    make(stored_desk.folder / "heartbeat_archive.jsonl")
    found = look(stored_desk.folder)
    assert (found.code, found.faults) == (1, ["archive heartbeat_archive.jsonl is a link, which is not followed"])
    listed = await call(stored_desk.server(task_retention_days="0"), "task_list")
    assert any("the archive cannot be written" in warning for warning in listed["warnings"])


@pytest.mark.requirement("DOC-1")
async def test_a_link_into_a_folder_that_is_not_there_is_wrong(stored_desk: Desk) -> None:
    stored_desk.heartbeat.symlink_to("nowhere/HEARTBEAT.md")
    found = look(stored_desk.folder, HEARTBEAT_STATE_PATH=str(stored_desk.state))
    assert (found.code, found.faults) == (1, [f"folder {stored_desk.folder / 'nowhere'} does not exist"])
    server = stored_desk.server(heartbeat_state_path=str(stored_desk.state))
    made = await call(server, "task_create", raw_user_request="feed the cat")
    assert any("HEARTBEAT.md was left as it is" in warning for warning in made["warnings"])


@pytest.mark.requirement("DOC-1")
def test_where_nothing_is_written_no_folder_is_missed(tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").symlink_to("nowhere/HEARTBEAT.md")
    elsewhere = str(tmp_path / "state.json")
    assert look(tmp_path, AUTO_SYNC_ENABLED="false", HEARTBEAT_STATE_PATH=elsewhere).code == 0


@pytest.mark.requirement("DOC-1")
async def test_a_store_that_a_link_leads_into_a_folder_that_is_not_there_is_wrong(stored_desk: Desk) -> None:
    stored_desk.state.symlink_to("nowhere/state.json")
    assert look(stored_desk.folder).faults == [f"folder {stored_desk.folder / 'nowhere'} does not exist"]
    with pytest.raises(ToolFailed, match=r"^StoreWriteFailed: "):
        await call(stored_desk.server(), "task_create", raw_user_request="feed the cat")


@pytest.mark.requirement("DOC-1")
def test_a_store_in_another_folder_has_its_own_folder_looked_at(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    found = look(tmp_path, HEARTBEAT_STATE_PATH=str(tmp_path / "state" / "s.json"))
    assert found.of("folder", "ok") == [f"{tmp_path / 'state'} is writable", f"{tmp_path} is writable"]


@pytest.mark.requirement("DOC-1", "DOC-2", "CLI-1")
def test_the_command_prints_the_report_on_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "damaged.json").write_text("{")
    (tmp_path / "damaged.json").chmod(0o600)
    monkeypatch.setenv("HEARTBEAT_FILE_PATH", str(tmp_path / "HEARTBEAT.md"))
    monkeypatch.setenv("HEARTBEAT_STATE_PATH", str(tmp_path / "damaged.json"))
    monkeypatch.setattr(sys, "argv", ["heartbeat-mcp", "doctor"])
    with untouched(tmp_path), command_line(), pytest.raises(SystemExit) as ending:
        main()
    said = capsys.readouterr()
    assert (ending.value.code, said.out.splitlines()[-1], said.err) == (1, "1 fault found.", "")


@pytest.mark.requirement("DOC-2")
def test_bad_settings_are_findings(tmp_path: Path) -> None:
    found = look(tmp_path, HEARTBEAT_FILE_PATH="HEARTBEAT.md", TASK_LOCK_TIMEOUT="soon")
    assert (found.code, len(found.faults)) == (1, 2)


@pytest.mark.requirement("DOC-1", "EN-17", "EN-19")
async def test_a_database_is_looked_at_beside_the_file_and_has_no_archive_of_its_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "sqlite")
    await call(desk.server(), "task_create", raw_user_request="feed the cat")
    address = f"sqlite:{tmp_path}/tasks.db"
    found = look(tmp_path, TASK_STORE=address)
    assert (found.code, found.faults) == (0, [])
    assert found.of("heartbeat", "ok") == ["HEARTBEAT.md shows 1 task in its section '## TODO'"]
    assert found.of("archive", "ok") == []
    alone = look(tmp_path, TASK_STORE=address, HEARTBEAT_FILE_PATH="")
    assert (alone.code, alone.of("heartbeat", "ok")) == (0, [])


@pytest.mark.requirement("DOC-1", "HB-18")
def test_a_file_that_is_mounted_without_its_folder_is_worth_a_note(tmp_path: Path) -> None:
    path, mounts = tmp_path / "HEARTBEAT.md", tmp_path / "mountinfo"
    mounts.write_text(f"25 22 98:0 /srv/HEARTBEAT.md {path} rw - ext4 /dev/root rw\n")
    listed = checks(HeartbeatSettings.model_validate({"heartbeat_file_path": path}), mounts=mounts)
    found = [finding for check in listed if check.subject == "mount" for finding in check.look()]
    assert [(finding.level, finding.cure) for finding in found] == [(Level.NOTE, "Mount its folder instead.")]


@pytest.mark.requirement("DOC-1", "HB-18")
async def test_doctor_reports_tasks_that_the_file_does_not_show_and_whoever_holds_it(stored_desk: Desk) -> None:
    await call(stored_desk.server(), "task_create", raw_user_request="feed the cat")
    text = stored_desk.heartbeat.read_text("utf-8")
    stored_desk.heartbeat.write_text("", "utf-8")
    assert (
        look(stored_desk.folder)
        .of("heartbeat", "WRONG")[0]
        .startswith("HEARTBEAT.md does not show 1 task of the store")
    )
    stored_desk.heartbeat.write_text(text, "utf-8")
    assert look(stored_desk.folder).faults == []
    with stored_desk.heartbeat.open("a"):
        (fault,) = look(stored_desk.folder).of("heartbeat", "WRONG")
    assert fault.startswith("another program has HEARTBEAT.md open for writing")
