"""The tool ``list_changes``: what it returns to an agent that comes back, and what not (EN-20, EN-21)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client import Client
from pydantic import JsonValue

from task_core.bounds import MAX_ANSWER, size_of
from task_core.server.app import TaskServer
from task_core.server.extra_tools import add_changes_tool
from task_core.store import MemoryDatabase, Store
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, add
from tests.servers import SERVERS
from tests.tool_client import ToolFailed, call_tool

pytestmark = pytest.mark.requirement("EN-21")

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Desk:
    """A store of notes, a server with nothing but the tool, and a clock."""

    def __init__(self) -> None:
        self.now = NOON
        self.store = Store(MemoryDatabase(), NOTES, clock=lambda: self.now)
        self.server = TaskServer("desk", title="Desk", version="1", instructions="", warnings=WarningList())
        add_changes_tool(self.server, self.store, Note.model_dump)

    def rewrite(self, name: str) -> None:
        with self.store.transaction() as notes:
            notes.replace(Note(id=name, text="new"))

    def remove(self, name: str) -> None:
        with self.store.transaction() as notes:
            notes.remove(name)

    async def changes(self, since: str | None = None, **arguments: JsonValue) -> dict[str, Any]:
        return await call_tool(self.server, "list_changes", {"since": since, **arguments} if since else arguments)


@pytest.mark.requirement("EN-20")
async def test_a_client_that_comes_back_learns_of_each_changed_task_once_and_of_removed_ones_by_id() -> None:
    desk = Desk()
    add(desk.store, "walls", "roof", "door")
    left = await desk.changes()
    assert left == {"changes": [], "token": left["token"], "more": False, "reset": False}
    desk.rewrite("walls")
    desk.rewrite("roof")
    desk.rewrite("walls")
    desk.remove("door")
    back = await desk.changes(left["token"])
    assert back["changes"] == [
        {"id": "roof", "text": "new"},
        {"id": "walls", "text": "new"},
        {"id": "door", "removed": True},
    ]
    assert (back["more"], back["reset"]) == (False, False)
    assert await desk.changes(back["token"]) == {**back, "changes": []}


async def test_what_exceeds_the_limit_is_on_the_next_pages() -> None:
    desk = Desk()
    token = (await desk.changes())["token"]
    add(desk.store, *[f"n{number:02}" for number in range(45)])
    seen, more = list[str](), True
    while more:
        page = await desk.changes(token)
        seen += [change["id"] for change in page["changes"]]
        token, more = page["token"], page["more"]
        assert len(page["changes"]) == min(20, 45 - len(seen) + len(page["changes"]))
    assert seen == [f"n{number:02}" for number in range(45)]


@pytest.mark.requirement("TOOL-9")
async def test_what_exceeds_the_size_of_an_answer_is_on_the_next_pages() -> None:
    desk = Desk()
    token = (await desk.changes())["token"]
    names = [f"n{number:02}" for number in range(60)]
    with desk.store.transaction() as notes:
        for name in names:
            notes.add(Note(id=name, text="x" * 1_900))
    seen, more = list[str](), True
    while more:
        page = await desk.changes(token, limit=100)
        assert size_of(page) <= MAX_ANSWER
        seen += [change["id"] for change in page["changes"]]
        token, more = page["token"], page["more"]
    assert seen == names


@pytest.mark.requirement("EN-20")
async def test_a_client_that_was_away_for_a_month_has_to_list_the_tasks_again() -> None:
    desk = Desk()
    add(desk.store, "walls", "roof")
    token = (await desk.changes())["token"]
    desk.remove("walls")
    desk.now += timedelta(days=29)
    assert (await desk.changes(token))["changes"] == [{"id": "walls", "removed": True}]
    desk.now += timedelta(days=2)
    desk.remove("roof")
    late = await desk.changes(token)
    assert (late["changes"], late["reset"]) == ([], True)
    assert await desk.changes(late["token"]) == {"changes": [], "token": late["token"], "more": False, "reset": False}


@pytest.mark.requirement("EN-20")
@pytest.mark.parametrize("token", ["", " ", "x", "x-1-", "-", "0-0-0", "9" * 500])
async def test_an_invalid_token_is_refused_or_answered_with_a_reset(token: str) -> None:
    desk = Desk()
    add(desk.store, "walls")
    if token.strip():
        answer = await desk.changes(token)
        assert (answer["changes"], answer["reset"], answer["token"]) == ([], True, (await desk.changes())["token"])
    else:
        with pytest.raises(ToolFailed) as caught:
            await call_tool(desk.server, "list_changes", {"since": token})
        assert caught.value.paths == ["since"]


@pytest.mark.requirement("EN-20")
async def test_a_token_of_another_store_is_answered_with_a_reset() -> None:
    ours, other = Desk(), Desk()
    for desk in (ours, other):
        add(desk.store, "walls")
    assert (await ours.changes((await other.changes())["token"]))["reset"] is True


@pytest.mark.parametrize("limit", [0, 101, "five", True])
async def test_a_limit_out_of_bounds_is_named(limit: JsonValue) -> None:
    with pytest.raises(ToolFailed) as caught:
        await Desk().changes(limit=limit)
    assert caught.value.paths == ["limit"]


@pytest.mark.requirement("EN-20")
@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["put", "drop", "ask"])), max_size=30))
def test_whoever_applies_the_changes_has_the_store_as_it_is(steps: list[tuple[str, str]]) -> None:
    store = Store(MemoryDatabase(), NOTES)
    token, mirror = store.changes(None, 1).token, dict[str, Note]()
    for name, step in [*steps, ("", "ask")]:
        with store.transaction() as notes:
            if step == "drop" and name in notes:
                notes.remove(name)
            elif step == "put" and name in notes:
                notes.replace(Note(id=name, text=notes.get(name).text + "x"))
            elif step == "put":
                notes.add(Note(id=name))
        more = step == "ask"
        while more:
            found = store.changes(token, 2)
            assert found.records or not found.more
            token, more = found.token, found.more
            for changed, record in found.records:
                mirror.pop(changed, None)
                mirror |= {changed: record} if record else {}
    with store.read() as notes:
        assert {name: mirror[name] for name in sorted(mirror)} == {name: notes.get(name) for name in notes.ids("", 9)}


@pytest.mark.parametrize("extra", [None, "changes"])
async def test_the_tool_is_offered_where_the_setting_adds_it(
    extra: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_STORE", "memory:")
    if extra:
        monkeypatch.setenv("TASK_EXTRA_TOOLS", extra)
    for record in SERVERS:
        if "changes" not in record.settings_type.extra_sets:
            continue
        program = record.program()
        async with Client(program.build(program.settings_type()()).sdk) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert ("list_changes" in names) is (extra == "changes")
            if extra:
                token = (await client.call_tool("list_changes", {})).structured_content["token"]
                made = (await client.call_tool(record.create, record.call(record.create))).structured_content
                page = (await client.call_tool("list_changes", {"since": token})).structured_content
                (change,) = page["changes"]
                assert change["id"] in str(made)
                assert set(change) > {"id"}
