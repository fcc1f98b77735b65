"""The four tools as a client sees them (HB-2 to HB-6)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from pydantic import JsonValue

from tests.heartbeat.conftest import Desk, call
from tests.tool_client import ToolFailed


@pytest.mark.requirement("HB-1", "HB-2")
async def test_a_new_task_is_pending_and_whole(desk: Desk) -> None:
    task = await call(
        desk.server(),
        "task_create",
        raw_user_request="实现用户登录功能",
        raw_reference="/docs/auth.md",
        ideas=["使用JWT", "添加验证码"],
    )
    assert re.fullmatch(r"[a-z]+-[a-z]+", str(task.pop("id")))
    assert task.pop("created_at") == task.pop("updated_at")
    assert task == {
        "status": "Pending",
        "raw_user_request": "实现用户登录功能",
        "raw_reference": "/docs/auth.md",
        "ideas": ["使用JWT", "添加验证码"],
        "result": None,
        "result_file": None,
        "completed_at": None,
        "claude_session_id": None,
        "extra_fields": {},
    }


@pytest.mark.requirement("TOOL-5")
async def test_timestamps_are_utc_with_microseconds(desk: Desk) -> None:
    task = await call(desk.server(), "task_create", raw_user_request="x")
    assert re.fullmatch(r"2026-03-01T12:00:\d\d\.000000Z", str(task["created_at"]))


@pytest.mark.requirement("HB-2")
async def test_further_arguments_become_extra_fields(desk: Desk) -> None:
    task = await call(
        desk.server(), "task_create", raw_user_request="x", room=7, note="null", extra_fields={"who": ["me"]}
    )
    assert task["extra_fields"] == {"who": ["me"], "room": 7, "note": "null"}


@pytest.mark.requirement("HB-2", "TOOL-2", "TOOL-3")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "InvalidArguments"),
        ({"input": {"raw_user_request": "B"}}, "InvalidArguments"),
        ({"raw_user_request": " \n "}, "InvalidArguments"),
        ({"raw_user_request": 5}, "InvalidArguments"),
        ({"raw_user_request": None}, "InvalidArguments"),
        ({"raw_user_request": "x" * 100_001}, "InvalidArguments"),
        ({"raw_user_request": "x", "raw_refrence": "a.md"}, "InvalidArguments"),
        ({"raw_user_request": "x", "status": "Running"}, "ReservedField"),
        ({"raw_user_request": "x", "id": "mine"}, "ReservedField"),
        ({"raw_user_request": "x", "extra_fields": {"result": 1}}, "ReservedField"),
        ({"raw_user_request": "x", "extra_fields": {"a": 1}, "a": 2}, "DuplicateKey"),
        ({"raw_user_request": "x", "extra_fields": '{"a": 1, "a": 2}'}, "DuplicateKey"),
        ({"raw_user_request": "x", "ideas": [1]}, "InvalidArguments"),
        ({"raw_user_request": "x", "ideas": ["i"] * 201}, "InvalidArguments"),
        ({"raw_user_request": "x", "two\nlines": 1}, "InvalidArguments"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_a_create_that_is_not_right_makes_nothing(desk: Desk, arguments: dict[str, JsonValue], code: str) -> None:
    server = desk.server()
    with pytest.raises(ToolFailed, match=f"^{code}: "):
        await call(server, "task_create", **arguments)
    assert await call(server, "task_list") == {"tasks": []}


@pytest.mark.requirement("TOOL-2")
async def test_objects_and_lists_may_arrive_as_json_text(desk: Desk) -> None:
    server = desk.server()
    task = await call(server, "task_create", raw_user_request='{"a": 1}', ideas='["x", "y"]', extra_fields='{"k": [1]}')
    assert (task["raw_user_request"], task["ideas"], task["extra_fields"]) == ('{"a": 1}', ["x", "y"], {"k": [1]})
    task = await call(server, "task_update", task_id=task["id"], updates='{"status": "Running", "ideas": "only"}')
    assert (task["status"], task["ideas"]) == ("Running", ["only"])


@pytest.mark.requirement("HB-3", "TOOL-3")
async def test_repeated_keys_in_json_text_are_refused(desk: Desk) -> None:
    server = desk.server()
    task = await call(server, "task_create", raw_user_request="x")
    with pytest.raises(ToolFailed, match=r"^DuplicateKey: .*'status'"):
        await call(server, "task_update", task_id=task["id"], updates='{"status": "Running", "status": "Fail"}')


@pytest.mark.requirement("HB-3", "ERR-2")
async def test_an_update_is_all_or_nothing(stored_desk: Desk) -> None:
    server = stored_desk.server()
    task = await call(server, "task_create", raw_user_request="x")
    before = stored_desk.bytes
    with pytest.raises(ToolFailed, match=r"^ReadOnlyField: "):
        await call(server, "task_update", task_id=task["id"], updates={"status": "Running", "id": "new-id"})
    assert await call(server, "task_get", task_id=task["id"]) == task
    assert stored_desk.bytes == before


@pytest.mark.requirement("HB-3", "HB-4", "HB-5")
async def test_a_task_goes_through_its_life(each_desk: Desk) -> None:
    server = each_desk.server()
    task_id = (await call(server, "task_create", raw_user_request="x"))["id"]
    await call(server, "task_update", task_id=task_id, updates={"status": "Running", "ideas": ["一", "二"]})
    task = await call(server, "task_update", task_id=task_id, updates={"ideas": ["三"]}, append_ideas=True)
    assert task["ideas"] == ["一", "二", "三"]
    task = await call(server, "task_update", task_id=task_id, updates={"status": "complete", "result": "done"})
    assert (task["status"], task["completed_at"]) == ("Complete", task["updated_at"])
    assert await call(server, "task_list") == {"tasks": []}
    assert await call(server, "task_list", include_completed=True) == {"tasks": [task]}
    assert await call(server, "task_get", task_id=task_id) == task


@pytest.mark.requirement("HB-3", "ERR-1", "ERR-4")
async def test_an_unknown_id_is_answered_with_near_ones(desk: Desk) -> None:
    server = desk.server()
    task_id = str((await call(server, "task_create", raw_user_request="x"))["id"])
    cases: list[tuple[str, dict[str, JsonValue]]] = [
        ("task_get", {}),
        ("task_update", {"updates": {"status": "Running"}}),
    ]
    for tool, more in cases:
        with pytest.raises(ToolFailed, match=r"^TaskNotFound: ") as caught:
            await call(server, tool, task_id=task_id[:-1], **more)
        assert caught.value.details == {"id": task_id[:-1], "near": [task_id]}


@pytest.mark.requirement("HB-4")
async def test_the_list_is_oldest_first_and_leaves_out_finished_tasks(desk: Desk) -> None:
    server = desk.server()
    ids = [(await call(server, "task_create", raw_user_request=f"{n}"))["id"] for n in range(4)]
    await call(server, "task_update", task_id=ids[1], updates={"status": "Fail"})
    await call(server, "task_update", task_id=ids[0], updates={"status": "Running"})
    active = await call(server, "task_list")
    everything = await call(server, "task_list", include_completed=True)
    assert [task["id"] for task in active["tasks"]] == [ids[0], ids[2], ids[3]]
    assert [task["id"] for task in everything["tasks"]] == ids


@pytest.mark.requirement("HB-4")
async def test_days_to_keep_leaves_out_what_was_finished_longer_ago(desk: Desk) -> None:
    server = desk.server()
    old, new, active = [(await call(server, "task_create", raw_user_request=f"{n}"))["id"] for n in range(3)]
    await call(server, "task_update", task_id=old, updates={"status": "Complete"})
    desk.now += timedelta(days=3)
    await call(server, "task_update", task_id=new, updates={"status": "Complete"})

    async def ids(**arguments: JsonValue) -> list[JsonValue]:
        return [task["id"] for task in (await call(server, "task_list", **arguments))["tasks"]]

    assert await ids(include_completed=True, days_to_keep_completed=3.5) == [old, new, active]
    assert await ids(include_completed=True, days_to_keep_completed=2) == [new, active]
    assert await ids(include_completed=True, days_to_keep_completed=0) == [active]
    assert await ids(include_completed=True, days_to_keep_completed=1e300) == [old, new, active]
    assert await ids(days_to_keep_completed=30) == [active]


@pytest.mark.requirement("HB-6", "S2")
async def test_paths_must_lie_in_the_workspace_when_there_is_one(desk: Desk) -> None:
    server = desk.server(workspace_path=str(desk.folder))
    task = await call(server, "task_create", raw_user_request="x", raw_reference="docs/../a.md")
    assert task["raw_reference"] == "docs/../a.md"
    for field in ("raw_reference", "result_file"):
        with pytest.raises(ToolFailed, match=r"^PathOutsideWorkspace: "):
            await call(server, "task_update", task_id=task["id"], updates={field: "../a.md"})
    with pytest.raises(ToolFailed, match=r"^PathOutsideWorkspace: "):
        await call(server, "task_create", raw_user_request="x", raw_reference="/etc/passwd")
    await call(server, "task_update", task_id=task["id"], updates={"result_file": "https://example.org/a"})


@pytest.mark.requirement("HB-6")
async def test_without_a_workspace_an_absolute_path_is_taken_and_a_relative_one_stays_below(desk: Desk) -> None:
    server = desk.server()
    await call(server, "task_create", raw_user_request="x", raw_reference="/docs/auth.md")
    with pytest.raises(ToolFailed, match=r"^PathOutsideWorkspace: "):
        await call(server, "task_create", raw_user_request="x", raw_reference="../a.md")


@pytest.mark.requirement("HB-4", "HB-7")
async def test_a_long_list_is_read_page_by_page_archived_tasks_among_the_others(kept_desk: Desk) -> None:
    server = kept_desk.server()
    ids = [(await call(server, "task_create", raw_user_request=f"{n}"))["id"] for n in range(7)]
    for task_id in ids[::2]:
        await call(server, "task_update", task_id=task_id, updates={"status": "Complete"})
    kept_desk.now += timedelta(days=8)
    server = kept_desk.server()
    for limit in (1, 3, 7):
        found: list[JsonValue] = []
        after: dict[str, JsonValue] = {}
        while True:
            page = await call(server, "task_list", include_archived=True, limit=limit, **after)
            found += [task["id"] for task in page["tasks"]]
            assert page.get("left_out", 0) == len(ids) - len(found)
            if "left_out" not in page:
                break
            after = {"after": found[-1]}
        assert found == ids
    page = await call(server, "task_list", include_archived=True, days_to_keep_completed=1)
    assert [task["id"] for task in page["tasks"]] == ids[1::2]
    page = await call(server, "task_list", after=ids[2])
    assert [task["id"] for task in page["tasks"]] == ids[3::2]
    with pytest.raises(ToolFailed, match=r"^TaskNotFound: "):
        await call(server, "task_list", after="no-such-task")
