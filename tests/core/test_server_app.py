"""TaskServer turns functions into tools: what a client sees of them, and how they answer (TOOL, ERR, WARN-1)."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated

import anyio
import anyio.to_thread
import pytest
from mcp.client import Client
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from task_core.bounds import MAX_ANSWER, size_of
from task_core.errors import TaskNotFound, UnknownPrompt
from task_core.fields import Arguments, OneLine
from task_core.server.app import TaskServer
from task_core.server.faults import AnswerForm, render_error
from task_core.warning_list import WarningList
from tests.core.notes import DEADLINE

BOTH_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Greeting(Arguments):
    """Who is greeted."""

    name: Annotated[OneLine, Field(description="A name.")]


class Greeted(BaseModel):
    """What is said."""

    words: str = Field(serialization_alias="said")
    nobody: None = None


class Bench:
    """A server with a tool for each way that a call can go."""

    def __init__(self, close: Callable[[], None] = lambda: None) -> None:
        self.can_answer_now = False
        self.warnings = WarningList()
        self.running = False
        self.server = TaskServer(
            "bench",
            title="Bench",
            version="9.8.7",
            instructions="Greet somebody.",
            warnings=self.warnings,
            lifespan=self.lifespan,
            close=close,
            can_answer_now=lambda: self.can_answer_now,
        )
        self.threads = list[threading.Thread]()
        self.arguments = list[weakref.ref[Greeting]]()
        self._add_tools()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        self.running = True
        yield
        self.running = False

    def _add_tools(self) -> None:
        @self.server.tool(title="Say hello", read_only=True, idempotent=True)
        def greet(arguments: Greeting) -> Greeted:
            """Greet somebody.

            Politely.
            """
            self.threads.append(threading.current_thread())
            return Greeted(words=f"Hello, {arguments.name}")

        @self.server.tool(title="Greet a friend", read_only=True, quick=True)
        def greet_friend(arguments: Greeting) -> Greeted:
            """Greet somebody who may be near."""
            self.threads.append(threading.current_thread())
            return Greeted(words=f"Hi, {arguments.name}")

        @self.server.tool(title="Look for somebody", destructive=True)
        def find(arguments: Greeting) -> Greeted:
            """Look for somebody who is not there."""
            self.arguments.append(weakref.ref(arguments))
            raise TaskNotFound(arguments.name, ["anna"])

        @self.server.tool(title="Fail")
        def fail(arguments: Greeting) -> Greeted:
            """Fail in a way that nobody foresaw."""
            self.arguments.append(weakref.ref(arguments))
            raise KeyError(arguments.name)

        @self.server.tool(title="Break")
        def mumble(arguments: Greeting) -> Greeted:
            """Say what no client could read."""
            return Greeted(words=f"\ud800{arguments.name}")


def error_of(result: CallToolResult) -> dict[str, object]:
    assert result.is_error
    error: dict[str, object] = result.structured_content["error"]
    assert result.content == [TextContent(text=f"{error['code']}: {error['message']}")]
    return error


@pytest.mark.requirement("TOOL-1", "TOOL-6")
@BOTH_ERAS
async def test_a_client_sees_who_serves_it_and_how_to_use_it(mode: str) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        assert client.server_info
        shown = client.server_info.model_dump(include={"name", "title", "version"})
        assert shown == {"name": "bench", "title": "Bench", "version": "9.8.7"}
        assert client.instructions == "Greet somebody."


@pytest.mark.requirement("TOOL-1", "TOOL-2")
@BOTH_ERAS
async def test_tools_are_listed_in_order_with_all_that_a_model_needs(mode: str) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["greet", "greet_friend", "find", "fail", "mumble"]
    greet, _, find = tools[:3]
    assert (greet.title, greet.description) == ("Say hello", "Greet somebody.\n\nPolitely.")
    assert greet.annotations
    assert greet.annotations.model_dump(exclude_none=True) == {
        "read_only_hint": True,
        "destructive_hint": False,
        "idempotent_hint": True,
        "open_world_hint": False,
    }
    assert find.annotations
    assert find.annotations.destructive_hint is True
    assert greet.input_schema["additionalProperties"] is False
    assert greet.output_schema
    assert set(greet.output_schema["properties"]) == {"said", "nobody", "warnings"}


@pytest.mark.requirement("TOOL-5")
@BOTH_ERAS
async def test_a_result_is_one_object_as_data_and_as_compact_text(mode: str) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        result = await client.call_tool("greet", {"name": "Zoë"})
    assert result.structured_content == {"said": "Hello, Zoë", "nobody": None}
    assert result.content == [TextContent(text='{"said":"Hello, Zoë","nobody":null}')]
    assert not result.is_error


@pytest.mark.requirement("ERR-3", "ERR-4", "P2")
@BOTH_ERAS
async def test_an_error_of_the_core_keeps_its_code_and_details(mode: str) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        error = error_of(await client.call_tool("find", {"name": "ana"}))
    assert (error["code"], error["details"]) == ("TaskNotFound", {"id": "ana", "near": ["anna"]})


@pytest.mark.requirement("ERR-3", "TOOL-2")
@BOTH_ERAS
async def test_a_call_without_its_arguments_says_what_is_missing(mode: str) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        error = error_of(await client.call_tool("greet"))
    assert error["code"] == "InvalidArguments"
    assert error["details"] == {"fields": [{"path": "name", "message": "This argument is required."}]}


@pytest.mark.requirement("ERR-3", "ERR-4")
@BOTH_ERAS
async def test_an_unknown_tool_comes_with_the_names_that_are_near(mode: str) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        error = error_of(await client.call_tool("gret", {}))
    assert (error["code"], error["details"]) == ("UnknownTool", {"name": "gret", "near": ["greet"]})


@pytest.mark.requirement("ERR-1", "CLI-4", "P2")
@BOTH_ERAS
@pytest.mark.parametrize("tool", ["fail", "mumble"])
async def test_a_fault_in_a_tool_is_hidden_from_the_client_and_located_in_the_log(
    mode: str, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(Bench().server.sdk, mode=mode) as client:
        result = await client.call_tool(tool, {"name": "secret"})
    assert error_of(result)["code"] == "InternalError"
    assert "secret" not in result.model_dump_json() + caplog.text
    assert f"The tool {tool} failed" in caplog.text


@pytest.mark.requirement("CLI-4")
@BOTH_ERAS
async def test_each_call_leaves_one_line_in_the_log_with_its_outcome_and_no_text(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "task_core")
    async with Client(Bench().server.sdk, mode=mode) as client:
        for tool, name in (("greet", "name"), ("greet", "nom"), ("fail", "name"), ("Ann", "name")):
            await client.call_tool(tool, {name: "Ann"})
    lines = [line.partition(" in ")[0] for line in caplog.messages if line.endswith(" ms")]
    assert lines == ["greet: ok", "greet: InvalidArguments", "fail: InternalError", "invalid call: UnknownTool"]
    assert "Ann" not in caplog.text


@pytest.mark.requirement("TM-90")
@BOTH_ERAS
async def test_a_server_may_answer_errors_in_a_form_of_its_own(mode: str) -> None:
    server = Bench().server
    server.form = AnswerForm(
        "", lambda error: UnknownPrompt(error.code), lambda error: {"found": 0, **render_error(error)}
    )
    async with Client(server.sdk, mode=mode) as client:
        results = [await client.call_tool(tool, {"name": "ana"}) for tool in ("find", "nowhere", "fail")]
    assert [result.structured_content["found"] for result in results] == [0, 0, 0]
    assert [error_of(result)["code"] for result in results] == ["UnknownPrompt"] * 3
    said = [str(error_of(result)["message"]).partition(".")[0] for result in results]
    assert said == [f"Unknown prompt '{code}'" for code in ("TaskNotFound", "UnknownTool", "InternalError")]


@pytest.mark.requirement("TM-5", "TM-90")
@BOTH_ERAS
async def test_a_tool_can_be_called_by_another_name_that_is_not_listed(mode: str) -> None:
    server = Bench().server
    server.alias("hail", "greet")
    async with Client(server.sdk, mode=mode) as client:
        assert "hail" not in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("hail", {"name": "a"})).structured_content["said"] == "Hello, a"
        assert error_of(await client.call_tool("hail", {"nam": "a"}))["code"] == "InvalidArguments"


@pytest.mark.requirement("WARN-1")
async def test_waiting_warnings_ride_along_once_with_a_result_and_with_an_error() -> None:
    bench = Bench()
    async with Client(bench.server.sdk) as client:
        bench.warnings.add("cause", "Careful.")
        result = await client.call_tool("greet", {"name": "a"})
        assert result.structured_content["warnings"] == ["Careful."]
        assert result.content == [TextContent(text='{"said":"Hello, a","nobody":null,"warnings":["Careful."]}')]
        assert "warnings" not in (await client.call_tool("greet", {"name": "a"})).structured_content
        bench.warnings.add("another", "Again.")
        assert (await client.call_tool("find", {"name": "a"})).structured_content["warnings"] == ["Again."]


@pytest.mark.requirement("WARN-2", "ERR-3")
async def test_a_warning_is_also_at_the_end_of_the_text_of_a_failure() -> None:
    bench = Bench()
    bench.warnings.add("one", "Careful.")
    bench.warnings.add("two", "Again.")
    async with Client(bench.server.sdk) as client:
        result = await client.call_tool("find", {"name": "ana"})
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert (
        text.text == "TaskNotFound: No task has the id 'ana'. Did you mean 'anna'?\nWarning: Careful.\nWarning: Again."
    )
    assert result.structured_content["warnings"] == ["Careful.", "Again."]


@pytest.mark.requirement("WARN-2")
async def test_the_warnings_of_a_call_that_is_cancelled_come_with_the_next_answer() -> None:
    bench, is_begun, may_end = Bench(), threading.Event(), threading.Event()

    @bench.server.tool(title="Wait")
    def wait(arguments: Greeting) -> Greeted:
        """Wait with a warning."""
        bench.warnings.add("cause", "Careful.")
        is_begun.set()
        may_end.wait(DEADLINE)
        return Greeted(words=arguments.name)

    async with Client(bench.server.sdk) as client:
        async with anyio.create_task_group() as cancelled:
            cancelled.start_soon(partial(client.call_tool, "wait", {"name": "a"}))
            await anyio.to_thread.run_sync(is_begun.wait)
            cancelled.cancel_scope.cancel()
        may_end.set()
        result = await client.call_tool("greet", {"name": "a"})
    assert result.structured_content["warnings"] == ["Careful."]


@pytest.mark.requirement("TOOL-9", "WARN-2")
@pytest.mark.parametrize("tool", ["find", "greet", "recite"])
async def test_warnings_take_the_room_that_an_answer_leaves_and_the_others_wait_for_the_next(tool: str) -> None:
    bench, told = Bench(), list[str]()

    @bench.server.tool(title="Recite")
    def recite(arguments: Greeting) -> Greeted:
        """Say more than an answer holds."""
        return Greeted(words=arguments.name * 60_000)

    for number in range(100):
        bench.warnings.add(f"{number}", f"{number:03}" + "\U0001f9ed" * 2_000)
    async with Client(bench.server.sdk) as client:
        while len(told) < 100:
            result = await client.call_tool(tool, {"name": "a"})
            (text,) = result.content
            assert isinstance(text, TextContent)
            assert max(len(text.text.encode()), size_of(result.structured_content)) <= MAX_ANSWER
            assert result.structured_content["warnings"]
            told += [warning[:3] for warning in result.structured_content["warnings"]]
    assert told == [f"{number:03}" for number in range(100)]


@pytest.mark.requirement("TOOL-9")
async def test_only_a_tool_that_answers_with_one_whole_task_says_more_than_an_answer_holds() -> None:
    bench = Bench()

    @bench.server.tool(title="Recite", whole=True)
    def recite(arguments: Greeting) -> Greeted:
        """Say all of it."""
        return Greeted(words=arguments.name * 60_000)

    @bench.server.tool(title="Sum up")
    def sum_up(arguments: Greeting) -> Greeted:
        """Say some of it."""
        return Greeted(words=arguments.name * 60_000)

    async with Client(bench.server.sdk) as client:
        whole = (await client.call_tool("recite", {"name": "a"})).structured_content
        cut = (await client.call_tool("sum_up", {"name": "a"})).structured_content
    assert whole == {"said": "a" * 60_000, "nobody": None}
    assert cut == {"said": "a" * 1_999 + "…", "nobody": None, "cut": True}


@pytest.mark.requirement("TOOL-7")
async def test_tools_run_beside_the_event_loop_and_beside_each_other() -> None:
    bench = Bench()
    together = threading.Barrier(8)

    @bench.server.tool(title="Meet")
    def meet(arguments: Greeting) -> Greeted:
        """Wait until eight are here."""
        together.wait(timeout=20)
        return Greeted(words=arguments.name)

    async with Client(bench.server.sdk) as client, anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(partial(client.call_tool, "meet", {"name": "a"}))
    assert not together.broken


async def test_a_tool_is_still_a_function_and_the_lifespan_frames_the_connection() -> None:
    bench = Bench()
    assert bench.running is False
    async with Client(bench.server.sdk):
        assert bench.running is True
    assert bench.running is False


@pytest.mark.requirement("P3")
def test_closing_the_server_ends_the_waits_for_its_store() -> None:
    closed = threading.Event()
    Bench(close=closed.set).server.close()
    assert closed.is_set()
    Bench().server.close()


@pytest.mark.requirement("MEM-1")
@pytest.mark.parametrize("tool", ["find", "fail"])
async def test_what_a_failed_call_held_is_gone_before_the_collector_comes_by(tool: str) -> None:
    bench = Bench()
    async with Client(bench.server.sdk) as client:
        gc.disable()
        try:
            assert (await client.call_tool(tool, {"name": "anna"})).is_error
            await client.list_tools()
            assert [reference() for reference in bench.arguments] == [None]
        finally:
            gc.enable()


@pytest.mark.requirement("SPEED-1", "TOOL-7")
@pytest.mark.parametrize("can_answer_now", [True, False])
@pytest.mark.parametrize(("tool", "is_quick"), [("greet_friend", True), ("greet", False)])
async def test_only_what_can_be_answered_at_once_takes_no_thread(
    tool: str, is_quick: bool, can_answer_now: bool
) -> None:
    bench = Bench()
    bench.can_answer_now = can_answer_now
    async with Client(bench.server.sdk) as client:
        assert not (await client.call_tool(tool, {"name": "anna"})).is_error
    assert (bench.threads == [threading.current_thread()]) is (is_quick and can_answer_now)


@pytest.mark.requirement("SPEED-1", "ERR-3")
async def test_a_tool_that_may_answer_at_once_still_says_what_is_wrong_with_its_arguments() -> None:
    bench = Bench()
    bench.can_answer_now = True
    async with Client(bench.server.sdk) as client:
        assert error_of(await client.call_tool("greet_friend", {"nam": "anna"}))["code"] == "InvalidArguments"
