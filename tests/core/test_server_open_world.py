"""A server without a store: coroutines as tools, changes that it reports itself, and no commands for a store."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceTemplateReference
from pydantic import BaseModel

from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.settings import ServerSettings, describe_settings
from task_core.errors import TaskNotFound
from task_core.fields import Arguments
from task_core.server.app import TaskServer
from task_core.server.overview import LIST_URI, SUMMARY_URI, JsonObject
from task_core.server.resources import TaskResources
from task_core.warning_list import WarningList
from tests.core.listening import following, older, until

pytestmark = [
    pytest.mark.requirement("CX-111"),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),  # the older era is what some tests are about
]

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Place(Arguments):
    """Arguments of the tools."""

    name: str = ""


class Weather(BaseModel):
    """Their result."""

    text: str


class World:
    """A server of an open world, and what happened in it."""

    def __init__(self) -> None:
        self.heeded: list[bool] = []
        self.cancelled = asyncio.Event()
        self.warnings = WarningList()
        self.server = TaskServer("world", title="World", version="1", instructions="Look.", warnings=self.warnings)
        self._add_tools()

    def _add_tools(self) -> None:
        @self.server.tool(read_only=True, open_world=True)
        async def look(arguments: Place) -> Weather:
            """Look."""
            return Weather(text=f"fine in {arguments.name}")

        @self.server.tool()
        async def fail(arguments: Place) -> Weather:
            """Fail."""
            raise ValueError(arguments.name)

        @self.server.tool()
        async def wait(_: Place) -> Weather:
            """Wait for what never comes."""
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await asyncio.sleep(0)  # an end that takes its time is not cancelled again
                self.cancelled.set()
            return Weather(text="never")

    def offer(self) -> TaskServer:
        """Offer the tasks, of which there are none."""

        async def tasks() -> JsonObject:
            return {"tasks": []}

        async def task(task_id: str) -> JsonObject:
            if task_id == "none":
                raise TaskNotFound(task_id)
            return {"id": task_id}

        async def summary() -> str:
            return "There are none."

        self.server.offer(TaskResources(None, tasks, task, summary), on_subscribers_changed=self.heeded.append)
        return self.server


@BOTH_ERAS
async def test_a_coroutine_is_a_tool_like_any_other(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.offer()
    async with Client(world.server.sdk, mode=mode) as client:
        hints = {it.name: it.annotations and it.annotations.open_world_hint for it in (await client.list_tools()).tools}
        assert hints == {"look": True, "fail": False, "wait": False}
        said = await client.call_tool("look", {"name": "Kyōto"}, progress_callback=ignore_progress)
        assert said.structured_content == {"text": "fine in Kyōto"}
        failed = await client.call_tool("fail", {"name": "secret"})
    assert failed.structured_content["error"]["code"] == "InternalError"
    assert "secret" not in failed.model_dump_json() + caplog.text


async def ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    raise AssertionError(progress, total, message)


@BOTH_ERAS
async def test_a_call_that_is_cancelled_cancels_its_coroutine(mode: str) -> None:
    world = World()
    async with Client(world.server.sdk, mode=mode) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(client.call_tool, "wait", {}))
            await client.list_tools()
            tasks.cancel_scope.cancel()
        await until(world.cancelled.is_set)
        assert not (await client.call_tool("look", {})).is_error


async def test_resources_may_be_coroutines_and_without_a_store_no_id_is_completed() -> None:
    server = World().offer()
    async with Client(server.sdk) as client:
        texts = [(await client.read_resource(uri)).contents[0] for uri in (LIST_URI, SUMMARY_URI, "tasks://a")]
        with pytest.raises(MCPError):
            await client.read_resource("tasks://none")
        reference = ResourceTemplateReference(type="ref/resource", uri="tasks://{id}")
        assert (await client.complete(reference, {"name": "id", "value": ""})).completion.values == []
    assert [getattr(it, "text", "") for it in texts] == ['{"tasks":[]}', "There are none.", '{"id":"a"}']


async def test_changes_that_are_reported_reach_the_subscriber() -> None:
    server = World().offer()
    async with older(server, LIST_URI, "tasks://a") as told:
        await server.changed("a", "b")
        assert await told.next(2) == [ResourceUpdated(LIST_URI), ResourceUpdated("tasks://a")]
        await server.changed("b", resized=True)
        assert await told.next(2) == [ResourceUpdated(LIST_URI), ResourcesListChanged()]
    await server.changed("a")  # it has gone


async def test_changes_that_are_reported_reach_listeners() -> None:
    server = World().offer()
    async with Client(server.sdk) as client, client.listen(resource_subscriptions=["tasks://a"]) as news:
        await server.changed("b")
        await server.changed("a")
        assert await following(news, 1) == [ResourceUpdated("tasks://a")]


async def test_a_server_without_resources_has_nobody_to_report_to() -> None:
    await World().server.changed("a")


async def test_the_first_and_the_last_listener_are_heeded() -> None:
    world = World()
    server = world.offer()
    async with Client(server.sdk) as client:
        async with client.listen(resource_subscriptions=[LIST_URI]):
            await until(lambda: world.heeded)
            async with client.listen(resource_subscriptions=["tasks://a"]):
                assert world.heeded == [True]
        await until(lambda: len(world.heeded) == 2)
    assert world.heeded == [True, False]


async def test_a_subscriber_is_heeded_until_it_unsubscribes_or_another_comes() -> None:
    world = World()
    server = world.offer()
    async with older(server, LIST_URI) as told:
        assert world.heeded == [True]
        await told.client.unsubscribe_resource(LIST_URI)
        assert world.heeded == [True, False]
        await told.client.subscribe_resource(LIST_URI)
    async with older(server) as told:
        with pytest.raises(MCPError):
            await told.client.subscribe_resource("tasks:nothing")
        assert world.heeded == [True, False, True, False], "the subscriptions of the last client went with it"
        await told.client.subscribe_resource(LIST_URI)
        server.end_streams()
    assert world.heeded == [True, False, True, False, True, False]


class WorldSettings(ServerSettings):
    """Settings of a server without a store."""

    world: str = "flat"


def never(_: object) -> Iterator[object]:
    raise AssertionError("nothing is built")


PROGRAM = Program(
    "mcp-task-core",
    lambda: WorldSettings,
    build=never,  # pyrefly: ignore  # it never returns
    checks=lambda _: [],
    codec=None,
)


def test_a_server_without_a_store_has_its_own_settings_only() -> None:
    assert [name for name, _, _ in describe_settings(WorldSettings)] == ["LOG_LEVEL", "WORLD"]


@pytest.mark.parametrize("command", ["export", "import", "restore"])
def test_a_server_without_a_store_has_no_commands_for_one(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(PROGRAM, [command])
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(PROGRAM, ["--help"])
    text = capsys.readouterr().out
    assert "doctor" in text
    assert command not in text


def test_the_distribution_of_a_program_may_have_another_name() -> None:
    assert Program.of("task_core").version() == "unknown"
    assert Program.of("task_core").description() == ""
    named = PROGRAM._replace(name="somebody-elses", distribution="mcp-task-core")
    assert named.version() == PROGRAM.version() != "unknown"
    assert named.description() == PROGRAM.description() != ""


@pytest.mark.parametrize("module", ["errors", "strict_json", "text"])
def test_what_the_command_line_stands_on_imports_nothing_slow(module: str) -> None:
    code = f"import sys, task_core.{module}; print({{'pydantic', 'typing_extensions', 'mcp'}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
