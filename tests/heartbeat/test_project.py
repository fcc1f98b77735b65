"""Without HEARTBEAT_FILE_PATH the list is the one of the project: of the client's, or around the current folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.client import Client

from heartbeat_mcp.__main__ import main
from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.bootstrap import BadSettings
from task_core.cli.settings import load_settings
from task_core.errors import TaskError
from task_core.server import client_roots
from tests.core.command_line import command_line
from tests.doctor_report import report
from tests.tool_client import Roots

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # a client may have anything as a root
]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Projects with a list of one task each; the current folder, ``away``, is in none of them."""
    for name in ("here", "there"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "HEARTBEAT.md").write_text(f"# {name}\n\n## TODO\n- work {name}\n", "utf-8")
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    return tmp_path


def client_of(roots: Roots | None = None, mode: str = "legacy", **settings: object) -> Client:
    values = {"task_fsync": False, "task_extra_tools": "changes", **settings}
    server = build_server(HeartbeatSettings.model_validate(values))
    return Client(server.sdk, mode=mode, list_roots_callback=roots)


async def ask(client: Client, tool: str = "task_list", **arguments: object) -> dict[str, Any]:
    answer = (await client.call_tool(tool, arguments)).structured_content
    assert answer is not None
    return answer


async def requests(client: Client) -> list[str]:
    """Return what the tasks in the client's list ask for, or the code of an error."""
    answer = await ask(client)
    return [task["raw_user_request"] for task in answer["tasks"]] if "tasks" in answer else [answer["error"]["code"]]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("place", ["here", "here/src"])
async def test_the_list_is_the_one_of_the_project_around_the_current_folder(
    folders: Path, monkeypatch: pytest.MonkeyPatch, place: str, mode: str
) -> None:
    monkeypatch.chdir(folders / place)
    async with client_of(mode=mode) as client:
        created = await ask(client, "task_create", raw_user_request="added")
        assert await requests(client) == ["work here", "added"]
        assert (await ask(client, "task_get", task_id=created["id"]))["id"] == created["id"]
    shown = (folders / "here" / "HEARTBEAT.md").read_text("utf-8")
    assert shown.startswith("# here\n\n## TODO\n- [Pending]")
    assert "added" in shown
    assert (folders / "here" / "heartbeat_state.json").is_file()
    assert [*(folders / "here" / "src").iterdir()] == []


async def test_the_roots_of_the_client_count_more_than_the_current_folder(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders / "here")
    roots = Roots((folders / "there" / "src").as_uri(), (folders / "away").as_uri())
    async with client_of(roots) as client:
        assert [await requests(client) for _ in range(2)] == [["work there"], ["work there"]]
        assert roots.asked == 1
        shown = (await client.read_resource("tasks://list")).contents[0]
        assert isinstance(shown, mcp_types.TextResourceContents)
        assert "work there" in shown.text
        assert (await ask(client, "list_changes"))["changes"] == []
    assert sorted(os.listdir(folders / "here")) == ["HEARTBEAT.md", "src"]


async def test_a_list_that_was_found_stays_although_the_client_moves(folders: Path) -> None:
    roots = Roots((folders / "there").as_uri())
    async with client_of(roots) as client:
        assert await requests(client) == ["work there"]
        roots.uris = ((folders / "here").as_uri(),)
        await client.send_roots_list_changed()
        assert await requests(client) == ["work there"]


@pytest.mark.parametrize("uris", [["https://example.org/x"], []])
async def test_roots_that_are_no_folders_leave_the_current_one(
    folders: Path, monkeypatch: pytest.MonkeyPatch, uris: list[str]
) -> None:
    monkeypatch.chdir(folders / "here")
    async with client_of(Roots(*uris)) as client:
        assert await requests(client) == ["work here"]


async def test_a_folder_without_a_list_is_refused_until_somebody_makes_one(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders / "here")  # another project than the client's
    async with client_of(Roots((folders / "away").as_uri())) as client:
        refused = await ask(client, "task_create", raw_user_request="lost")
        assert refused["error"]["code"] == "NoHeartbeatFile"
        for way in (
            "create HEARTBEAT.md",
            "start the client in a folder that has one",
            "HEARTBEAT_FILE_PATH",
            "TASK_STORE",
        ):
            assert way in refused["error"]["message"]
        assert str(folders) not in refused["error"]["message"]
        assert [*(folders / "away").iterdir()] == []
        (folders / "away" / "HEARTBEAT.md").write_text("# Away\n", "utf-8")
        await ask(client, "task_create", raw_user_request="kept")
        assert await requests(client) == ["kept"]
    assert sorted(os.listdir(folders / "here")) == ["HEARTBEAT.md", "src"]


async def test_a_list_whose_store_is_a_link_is_not_used(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folders / "here" / "heartbeat_state.json").symlink_to(folders / "away" / "victim.json")
    monkeypatch.chdir(folders / "here")
    with pytest.raises(BadSettings, match="whose store is a link"):
        load_settings(HeartbeatSettings)
    for roots in (None, Roots((folders / "here").as_uri())):
        async with client_of(roots) as client:
            refused = await ask(client, "task_create", raw_user_request="x")
            assert refused["error"]["code"] == "NoHeartbeatFile"
            assert "whose store is a link" in refused["error"]["message"]
    assert [*(folders / "away").iterdir()] == []


async def test_while_a_client_does_not_answer_no_list_is_used(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders / "here")
    monkeypatch.setattr(client_roots, "_WAIT_SECONDS", 0.05)
    roots = Roots((folders / "there").as_uri())
    roots.may_answer = anyio.Event()
    async with client_of(roots) as client:
        assert await requests(client) == ["NoHeartbeatFile"]
        roots.may_answer.set()
        monkeypatch.setattr(client_roots, "_WAIT_SECONDS", 5.0)
        assert await requests(client) == ["work there"]


async def test_a_subscriber_hears_of_the_list_in_its_project(folders: Path) -> None:
    heard = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            heard.set()

    server = build_server(HeartbeatSettings.model_validate({"task_fsync": False}))
    roots = Roots((folders / "there").as_uri())
    async with Client(server.sdk, mode="legacy", list_roots_callback=roots, message_handler=hear) as client:
        await client.subscribe_resource("tasks://list")
        await ask(client, "task_create", raw_user_request="news")
        with anyio.fail_after(10):
            await heard.wait()
    assert roots.asked == 1


async def test_an_explicit_setting_counts_more_than_what_the_client_says(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders / "here")
    roots = Roots((folders / "here").as_uri())
    async with client_of(roots, heartbeat_file_path=folders / "there" / "HEARTBEAT.md") as client:
        assert await requests(client) == ["work there"]
    async with client_of(roots, task_store="memory:") as client:
        assert await requests(client) == []
    assert roots.asked == 0


@pytest.mark.requirement("CLI-3")
def test_settings_find_the_file_unless_it_is_set_or_not_needed(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders / "here" / "src")
    settings = load_settings(HeartbeatSettings)
    assert settings.file == folders / "here" / "HEARTBEAT.md"
    assert settings.address.path == folders / "here" / "heartbeat_state.json"
    assert settings.archive_path == folders / "here" / "heartbeat_archive.jsonl"
    assert "heartbeat_file_path" not in settings.model_fields_set
    monkeypatch.setenv("TASK_STORE", f"sqlite:{folders}/tasks.db")
    assert load_settings(HeartbeatSettings).file is None


@pytest.mark.requirement("CLI-3")
@pytest.mark.usefixtures("folders")
def test_without_a_file_only_a_server_with_a_client_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"Set HEARTBEAT_FILE_PATH: .* has a HEARTBEAT\.md .* TASK_STORE"):
        load_settings(HeartbeatSettings)
    settings = load_settings(HeartbeatSettings, has_client=True)
    with pytest.raises(TaskError, match=r"has a HEARTBEAT\.md"):
        _ = settings.address
    monkeypatch.setenv("HEARTBEAT_STATE_PATH", str(tmp_path / "state.json"))
    with pytest.raises(BadSettings, match="Set HEARTBEAT_FILE_PATH: HEARTBEAT_STATE_PATH is the store"):
        load_settings(HeartbeatSettings, has_client=True)


async def test_a_server_that_found_no_list_ends_as_any_other(folders: Path) -> None:
    server = build_server(HeartbeatSettings.model_validate({}))
    async with Client(server.sdk) as client:
        assert await requests(client) == ["NoHeartbeatFile"]
    server.close()
    assert [*(folders / "away").iterdir()] == []


@pytest.mark.requirement("CLI-1", "CLI-3")
@pytest.mark.parametrize("options", [["export"], ["--transport", "http", "--port", "0"]])
@pytest.mark.usefixtures("folders")
def test_commands_and_http_end_with_2_where_there_is_no_file(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["heartbeat-mcp", *options])
    with command_line(), pytest.raises(SystemExit) as ending:
        main()
    said = capsys.readouterr()
    assert (ending.value.code, said.out) == (2, "")
    assert "heartbeat-mcp: Set HEARTBEAT_FILE_PATH: " in said.err


@pytest.mark.requirement("DOC-1")
def test_doctor_says_which_file_was_found_and_how(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = report("heartbeat_mcp", folders, {})
    assert away.code == 1
    assert "Set HEARTBEAT_FILE_PATH" in away.faults[0]
    monkeypatch.chdir(folders / "here" / "src")
    found = report("heartbeat_mcp", folders, {})
    file = folders / "here" / "HEARTBEAT.md"
    assert (found.code, found.of("project", "ok")) == (
        0,
        [f"HEARTBEAT_FILE_PATH is not set: {file} is the nearest from the current folder, {folders / 'here' / 'src'}"],
    )
    assert report("heartbeat_mcp", folders, {"HEARTBEAT_FILE_PATH": str(file)}).of("project", "ok") == []
