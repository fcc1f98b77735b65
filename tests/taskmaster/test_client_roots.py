"""The folders that clients of the older era work in, as the place of the project (TM-13)."""

from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from task_core.server import client_roots
from tests.taskmaster.conftest import ServedProject, item, tag
from tests.tool_client import Roots

pytestmark = [
    pytest.mark.requirement("TM-13", "TM-90"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # see Roots
]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Projects in folders of their own; the current folder is none of them."""
    for name in ("here", "there", "set"):
        ServedProject(tmp_path / name).write({"master": tag(item(1, title=name))})
    (tmp_path / "there" / "deep down").mkdir()
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    return tmp_path


async def next_title(client: Client, **arguments: str) -> str:
    answer: Any = (await client.call_tool("next_task", arguments)).structured_content
    return str(answer["data"]["nextTask"]["title"] if "data" in answer else answer["error"]["code"])


def unset(folder: Path, **options: str | None) -> ServedProject:
    return ServedProject(folder, options={"task_master_project_root": None, **options})


async def test_the_first_folder_among_the_roots_is_asked_for_once(folders: Path) -> None:
    roots = Roots((folders / "there" / "deep down").as_uri(), (folders / "here").as_uri())
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=roots) as client:
        titles = [await next_title(client) for _ in range(2)]
        assert (titles, roots.asked) == (["there", "there"], 1)
        assert await next_title(client, projectRoot=str(folders / "here")) == "here"
        found = await client.read_resource("tasks://list")
        assert isinstance(text := found.contents[0], mcp_types.TextResourceContents)
        assert '"there"' in text.text


async def test_roots_are_asked_for_again_once_they_have_changed(folders: Path) -> None:
    roots = Roots((folders / "there").as_uri())
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=roots) as client:
        assert await next_title(client) == "there"
        roots.uris = ((folders / "here").as_uri(),)
        await client.send_roots_list_changed()
        assert await next_title(client) == "here"
        roots.uris = ()
        await client.send_roots_list_changed()
        assert await next_title(client) == "FILE_NOT_FOUND_ERROR"


async def test_several_first_calls_wait_for_one_answer(folders: Path) -> None:
    roots, titles = Roots((folders / "there").as_uri()), list[str]()
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=roots) as client:

        async def call() -> None:
            titles.append(await next_title(client))

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(call)
    assert (titles, roots.asked) == (["there"] * 5, 1)


async def test_a_setting_counts_more_than_the_roots(folders: Path) -> None:
    roots = Roots((folders / "there").as_uri())
    served = unset(folders, task_master_project_root=str(folders / "set"))
    async with Client(served.server.sdk, mode="legacy", list_roots_callback=roots) as client:
        assert await next_title(client) == "set"
        await client.send_roots_list_changed()
        assert await next_title(client) == "set"
    assert roots.asked == 0


@pytest.mark.parametrize("uris", [["https://example.org/x"], []])
async def test_roots_that_are_no_folders_leave_the_current_one(
    folders: Path, monkeypatch: pytest.MonkeyPatch, uris: list[str]
) -> None:
    monkeypatch.chdir(folders / "here")
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=Roots(*uris)) as client:
        assert await next_title(client) == "here"


async def test_a_client_of_the_modern_era_or_without_roots_is_not_asked(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders / "here")
    roots = Roots((folders / "there").as_uri())
    async with Client(unset(folders).server.sdk, list_roots_callback=roots) as client:
        assert await next_title(client) == "here"
    async with Client(unset(folders).server.sdk, mode="legacy") as client:
        assert await next_title(client) == "here"
    assert roots.asked == 0


async def refuse(context: object) -> mcp_types.ListRootsResult:
    del context
    raise MCPError(-1, "no")


async def hang(context: object) -> mcp_types.ListRootsResult:
    del context
    await anyio.sleep_forever()
    raise AssertionError


async def test_a_client_that_refuses_is_done_without(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders / "here")
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=refuse) as client:
        assert await next_title(client) == "here"


async def test_while_a_client_does_not_answer_no_other_project_is_used(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders / "here")
    monkeypatch.setattr(client_roots, "_WAIT_SECONDS", 0.05)
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=hang) as client:
        for _ in range(2):
            assert await next_title(client) == "INPUT_VALIDATION_ERROR"
        assert await next_title(client, projectRoot=str(folders / "there")) == "there"


async def test_a_call_that_needs_no_root_does_not_wait_for_it(folders: Path) -> None:
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=hang) as client:
        assert await next_title(client, projectRoot=str(folders / "there")) == "there"
        assert not (await client.call_tool("cache_stats", {})).is_error


async def test_a_root_that_is_too_long_is_refused_at_once(folders: Path) -> None:
    roots = Roots("file:///" + "a/" * 3_000)
    async with Client(unset(folders).server.sdk, mode="legacy", list_roots_callback=roots) as client:
        assert await next_title(client) == "INPUT_VALIDATION_ERROR"
