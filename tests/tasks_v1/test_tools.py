"""The five tools as a client sees them, on every engine and in both eras of the protocol (V1-1 to V1-6, EN-5)."""

import re

import pytest
from pydantic import JsonValue

from task_core.store import Engine
from tests.tasks_v1.conftest import Object, ServedStore, titles
from tests.tool_client import ToolFailed

SAMPLE: dict[str, JsonValue] = {
    "title": "研究航天产业的成本结构",
    "description": "聚焦发射成本的主要驱动因素、可复用火箭的影响、主要玩家对比。",
    "category": "tech",
    "priority": "high",
    "tags": ["space", "launch_cost"],
    "topic_id": "space_industry",
    "source": "capture_idea",
}
TOOLS = ["create_task", "list_tasks", "update_task_status", "get_task", "update_task"]


@pytest.mark.requirement("V1-1", "V1-4", "TOOL-5", "TOOL-6")
async def test_a_new_task_is_whole_and_pending(any_served: ServedStore) -> None:
    task = await any_served.task("create_task", **SAMPLE)
    assert await any_served.task("get_task", id=task["id"]) == task
    assert re.fullmatch(r"task_[0-9A-HJKMNP-TV-Z]{12}", str(task.pop("id")))
    made = str(task.pop("created_at"))
    assert re.fullmatch(r"2026-03-01T12:00:0[1-9]\.000000Z", made)
    assert task.pop("updated_at") == made
    assert task == {**SAMPLE, "status": "pending"}


@pytest.mark.requirement("V1-1")
async def test_a_title_is_enough(served: ServedStore) -> None:
    task = await served.task("create_task", title="x")
    given = {name: value for name, value in task.items() if name not in ("id", "created_at", "updated_at")}
    assert given == {
        "title": "x",
        "description": None,
        "category": "other",
        "status": "pending",
        "priority": "medium",
        "tags": [],
        "topic_id": None,
        "source": None,
    }


@pytest.mark.requirement("V1-1")
async def test_the_integers_are_taken_as_priorities(served: ServedStore) -> None:
    for rank, name in [(1, "low"), (2, "medium"), (3, "high")]:
        task = await served.task("create_task", title="x", priority=rank, status="in_progress")
        assert (task["priority"], task["status"]) == (name, "in_progress")


@pytest.mark.requirement("V1-1", "TOOL-2")
async def test_tags_are_kept_once_in_order_and_may_arrive_as_json_text(served: ServedStore) -> None:
    assert (await served.task("create_task", title="x", tags=["b", "a", "b"]))["tags"] == ["b", "a"]
    assert (await served.task("create_task", title="x", tags='["b", "a", "b"]'))["tags"] == ["b", "a"]
    assert (await served.task("create_task", title="null", tags="only"))["tags"] == ["only"]


REFUSED_CREATES: list[tuple[dict[str, JsonValue], str, str]] = [
    ({}, "title", "required"),
    ({"title": " "}, "title", "not blank"),
    ({"title": "a\nb"}, "title", "one line"),
    ({"title": 5}, "title", "text"),
    ({"title": "x" * 201}, "title", "200 characters; it has 201. Put the details into description"),
    ({"title": "x", "description": "x" * 4001}, "description", "4,000 .* a file or a memory service"),
    ({"title": "x", "source": "x" * 101}, "source", "100 .* a file or a memory service"),
    ({"title": "x", "category": "techh"}, "category", "investing, .*, other. Did you mean 'tech'"),
    ({"title": "x", "priority": "hihg"}, "priority", "low, medium, high. Did you mean 'high'"),
    ({"title": "x", "priority": 4}, "priority", "low, medium, high"),
    ({"title": "x", "priority": True}, "priority", "low, medium, high"),
    ({"title": "x", "status": "done"}, "status", "pending, in_progress. .* update_task_status"),
    ({"title": "x", "status": "pendng"}, "status", "Did you mean 'pending'"),
    ({"title": "x", "tags": ["x"] * 21}, "tags", "at most 20"),
    ({"title": "x", "tags": ["a", "x" * 51]}, "tags.1", "50 characters"),
    ({"title": "x", "tags": ["a", 1]}, "tags.1", "text"),
    ({"title": "x", "tags": [" "]}, "tags.0", "blank"),
    ({"title": "x", "topic_id": "Space Industry"}, "topic_id", "space_industry"),
    ({"title": "x", "topic_id": ""}, "topic_id", "1 to 100"),
    ({"title": "x", "topic_id": 7}, "topic_id", "1 to 100"),
    ({"title": "x", "catgory": "tech"}, "catgory", "Did you mean 'category'"),
]


@pytest.mark.requirement("V1-1", "TOOL-2", "TOOL-3", "ERR-2", "ERR-3")
async def test_a_create_that_is_not_right_makes_nothing(served: ServedStore) -> None:
    for arguments, path, message in REFUSED_CREATES:
        with pytest.raises(ToolFailed, match=f"^InvalidArguments: .*{message}") as caught:
            await served.call("create_task", **arguments)
        assert caught.value.paths == [path]
    assert await served.whole() == []


@pytest.mark.requirement("V1-2")
async def test_a_list_shows_the_newest_first_without_descriptions_and_empty_fields(any_served: ServedStore) -> None:
    await any_served.call("create_task", title="old")
    new = await any_served.task("create_task", **SAMPLE)
    answer = await any_served.call("list_tasks")
    shown = {name: value for name, value in new.items() if name != "description"}
    old = answer["tasks"][1] if isinstance(answer["tasks"], list) else None
    assert answer == {"tasks": [shown, old], "total": 2}
    assert isinstance(old, dict)
    assert list(old) == ["id", "title", "category", "status", "priority", "created_at", "updated_at"]
    assert (await any_served.call("list_tasks", include_description=True))["tasks"] == [new, old]


LISTS: list[tuple[dict[str, JsonValue], list[str]]] = [
    ({}, ["c", "b", "a"]),
    ({"status": "pending"}, ["c", "a"]),
    ({"status": ["pending", "in_progress"]}, ["c", "b", "a"]),
    ({"status": '["in_progress", "done"]'}, ["b"]),
    ({"status": [], "tags_any": [], "query": ""}, ["c", "b", "a"]),
    ({"status": None, "category": None, "topic_id": None, "tags_any": None, "cursor": None}, ["c", "b", "a"]),
    ({"category": "tech"}, ["b"]),
    ({"topic_id": "space"}, ["a"]),
    ({"tags_any": ["x", "y"]}, ["c", "a"]),
    ({"tags_any": "x"}, ["a"]),
    ({"priority": 3}, ["b"]),
    ({"query": "NOTE"}, ["c", "a"]),
    ({"order_by": "priority_desc"}, ["b", "c", "a"]),
    ({"order_by": "updated_at_desc"}, ["a", "c", "b"]),
    ({"limit": 1}, ["c"]),
]


@pytest.mark.requirement("V1-2", "TOOL-2")
async def test_filters_and_orders(served: ServedStore) -> None:
    first = await served.task("create_task", title="a", topic_id="space", tags=["x"])
    await served.call("create_task", title="b", category="tech", priority="high", status="in_progress")
    await served.call("create_task", title="c", tags=["y"], description="a note", priority="medium")
    await served.call("update_task", id=first["id"], description="Notes")
    for arguments, expected in LISTS:
        assert await served.titles(**arguments) == expected, arguments


@pytest.mark.requirement("V1-2")
async def test_a_cursor_goes_on_where_the_page_before_ended_also_after_a_restart(any_served: ServedStore) -> None:
    for number in range(5):
        await any_served.call("create_task", title=f"{number}")
    first = await any_served.call("list_tasks", limit=2)
    await any_served.call("create_task", title="new")
    if any_served.engine is not Engine.MEMORY:
        any_served.restart()
    second = await any_served.call("list_tasks", limit=2, cursor=first["next_cursor"])
    third = await any_served.call("list_tasks", limit=2, cursor=second["next_cursor"])
    assert [*titles(first), *titles(second), *titles(third)] == ["4", "3", "2", "1", "0"]
    assert (first["total"], second["total"], "next_cursor" in third) == (5, 6, False)


REFUSED_LISTS: list[tuple[dict[str, JsonValue], str, str]] = [
    ({"status": "cancelled"}, "status.0", "canceled. Did you mean 'canceled'"),
    ({"status": ["done", "in-progres"]}, "status.1", "Did you mean 'in_progress'"),
    ({"status": 5}, "status", "list"),
    ({"category": "Techh"}, "category", "Did you mean 'tech'"),
    ({"order_by": "priority"}, "order_by", "created_at_desc, .* Did you mean 'priority_desc'"),
    ({"limit": 0}, "limit", "greater than or equal to 1"),
    ({"limit": 101}, "limit", "less than or equal to 100"),
    ({"limit": "twenty"}, "limit", "integer"),
    ({"query": "x" * 100_001}, "query", "100,000"),
    ({"tags_any": ["x" * 51]}, "tags_any.0", "50"),
    ({"topic_id": "A"}, "topic_id", "lower-case"),
    ({"cursor": "nonsense"}, "cursor", "next_cursor"),
    ({"tag_any": ["a"]}, "tag_any", "Did you mean 'tags_any'"),
]


@pytest.mark.requirement("V1-2", "ERR-4", "TOOL-3")
async def test_a_list_that_cannot_be_is_refused(served: ServedStore) -> None:
    for arguments, path, message in REFUSED_LISTS:
        with pytest.raises(ToolFailed, match=f"^InvalidArguments: .*{message}") as caught:
            await served.call("list_tasks", **arguments)
        assert caught.value.paths == [path]


@pytest.mark.requirement("V1-2")
async def test_a_cursor_of_a_list_in_another_order_is_refused(served: ServedStore) -> None:
    for number in range(3):
        await served.call("create_task", title=f"{number}")
    cursor = (await served.call("list_tasks", limit=1))["next_cursor"]
    with pytest.raises(ToolFailed, match=r"^InvalidArguments: .*same order_by") as caught:
        await served.call("list_tasks", limit=1, cursor=cursor, order_by="updated_at_desc")
    assert caught.value.paths == ["cursor"]


@pytest.mark.requirement("V1-3", "V1-6")
async def test_a_task_goes_through_its_life(any_served: ServedStore) -> None:
    task_id = (await any_served.task("create_task", title="x"))["id"]
    for status in ("in_progress", "in_progress", "done", "canceled"):
        task = await any_served.task("update_task_status", id=task_id, status=status)
        assert task["status"] == status
    assert str(task["updated_at"]) > str(task["created_at"])
    assert await any_served.task("get_task", id=task_id) == task


@pytest.mark.requirement("V1-3", "ERR-2", "ERR-3")
async def test_a_transition_that_is_not_allowed_changes_nothing(served: ServedStore) -> None:
    task = await served.task("create_task", title="x")
    with pytest.raises(ToolFailed, match=r"^InvalidTransition: ") as caught:
        await served.call("update_task_status", id=task["id"], status="done")
    assert caught.value.details == {"from": "pending", "to": "done", "allowed": ["in_progress", "canceled"]}
    assert await served.task("get_task", id=task["id"]) == task


@pytest.mark.requirement("V1-3")
async def test_a_status_that_is_not_known_is_answered_with_the_list_and_the_nearest(served: ServedStore) -> None:
    task = await served.task("create_task", title="x")
    with pytest.raises(ToolFailed, match=r"pending, in_progress, done, canceled. Did you mean 'done'\?"):
        await served.call("update_task_status", id=task["id"], status="Donne")


@pytest.mark.requirement("V1-5")
async def test_an_update_changes_fields_and_null_sets_them_back(any_served: ServedStore) -> None:
    task = await any_served.task("create_task", **SAMPLE)
    changed = await any_served.task("update_task", id=task["id"], title="new", tags=["a", "a"], priority=1)
    assert changed == {**task, "title": "new", "tags": ["a"], "priority": "low", "updated_at": changed["updated_at"]}
    cleared = await any_served.task(
        "update_task",
        id=task["id"],
        description=None,
        category=None,
        priority=None,
        tags=None,
        topic_id=None,
        source=None,
    )
    names = ("description", "category", "priority", "tags", "topic_id", "source")
    assert [cleared[name] for name in names] == [None, "other", "medium", [], None, None]
    assert await any_served.task("get_task", id=task["id"]) == cleared


REFUSED_UPDATES: list[tuple[dict[str, JsonValue], str, str]] = [
    ({}, "arguments", "at least one field"),
    ({"status": "done"}, "status", "Call update_task_status"),
    ({"status": None, "title": "new"}, "status", "Call update_task_status"),
    ({"title": None}, "title", "text"),
    ({"title": "x" * 201}, "title", "description"),
    ({"description": "x" * 4001}, "description", "memory service"),
    ({"created_at": "2026-01-01T00:00:00Z", "title": "new"}, "created_at", "This argument does not exist"),
    ({"category": "parentin"}, "category", "Did you mean 'parenting'"),
]


@pytest.mark.requirement("V1-5", "ERR-2")
async def test_an_update_that_is_not_right_changes_nothing(served: ServedStore) -> None:
    task = await served.task("create_task", title="x")
    for arguments, path, message in REFUSED_UPDATES:
        with pytest.raises(ToolFailed, match=f"^InvalidArguments: .*{message}") as caught:
            await served.call("update_task", id=task["id"], **arguments)
        assert caught.value.paths == [path]
    assert await served.task("get_task", id=task["id"]) == task


@pytest.mark.requirement("V1-6", "EN-21")
async def test_what_changes_nothing_does_not_change_the_store(served: ServedStore) -> None:
    served.restart(task_extra_tools="changes")
    task = await served.task("create_task", title="x")
    before = await served.call("list_changes")
    assert await served.task("update_task_status", id=task["id"], status="pending") == task
    assert await served.task("update_task", id=task["id"], title="x", tags=None, priority=2) == task
    assert await served.call("list_changes", since=before["token"]) == before


@pytest.mark.requirement("EN-21")
async def test_a_client_that_comes_back_sees_each_changed_task_once_and_whole(any_served: ServedStore) -> None:
    any_served.restart(task_extra_tools="changes")
    kept, other = [await any_served.task("create_task", title=title, description="why") for title in "ab"]
    token = (await any_served.call("list_changes"))["token"]
    await any_served.call("update_task_status", id=other["id"], status="in_progress")
    new = await any_served.task("create_task", title="c")
    done = await any_served.task("update_task_status", id=other["id"], status="done")
    first = await any_served.call("list_changes", since=token, limit=1)
    second = await any_served.call("list_changes", since=first["token"])
    assert [first["changes"], second["changes"]] == [[new], [done]]
    assert (first["more"], second["more"], first["reset"]) == (True, False, False)
    assert kept not in [new, done]


@pytest.mark.requirement("V1-3", "V1-4", "V1-5", "ERR-4")
async def test_an_id_that_is_not_known_is_answered_with_near_ones(served: ServedStore) -> None:
    task_id = str((await served.task("create_task", title="x"))["id"])
    calls: dict[str, Object] = {"get_task": {}, "update_task_status": {"status": "done"}, "update_task": {"title": "y"}}
    for tool, arguments in calls.items():
        with pytest.raises(ToolFailed, match=r"^TaskNotFound: ") as caught:
            await served.call(tool, id=task_id[:-1], **arguments)
        assert caught.value.details == {"id": task_id[:-1], "near": [task_id]}


@pytest.mark.requirement("TOOL-3", "ERR-3")
async def test_a_repeated_key_in_json_text_is_refused(served: ServedStore) -> None:
    with pytest.raises(ToolFailed, match=r"^DuplicateKey: "):
        await served.call("create_task", title="x", tags='[{"a": 1, "a": 2}]')


@pytest.mark.requirement("ERR-3", "ERR-4")
async def test_a_tool_that_is_not_known_is_answered_with_the_nearest(served: ServedStore) -> None:
    with pytest.raises(ToolFailed, match=r"^UnknownTool: .*'get_task'"):
        await served.call("get_tasks")
