"""The history of a project, and what an undo puts back (AG-3, AG-6, AG-7)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from mcp.client import Client
from pydantic import JsonValue

from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.models import utc_now
from tests.core.command_line import command_line
from tests.core.listening import until
from tests.taskmaster.conftest import NOW, STAMP, Object, ServedProject, item, tag
from tests.tool_client import tool_schemas

pytestmark = pytest.mark.requirement("AG-6", "AG-7")

EXTRA = {"task_extra_tools": "all"}

MASTER = tag(
    item(1, status="done"),
    item(2, 1, subtasks=[item(1, status="done"), item(2, 1)], status="in-progress"),
    item(3, 2, priority="high", details="long"),
)


@pytest.fixture
def served(tmp_path: Path) -> ServedProject:
    found = ServedProject(tmp_path, options=EXTRA)
    found.write({"master": MASTER, "other": tag(item(1), item(7))})
    return found


def plain(document: Object) -> Object:
    """Return a document without the moments of changes."""
    text = json.dumps(document)
    found: Object = json.loads(text)
    for value in found.values():
        value["metadata"].pop("updated", None)
        for task in value["tasks"]:
            task.pop("updatedAt", None)
            for subtask in task.get("subtasks", []):
                subtask.pop("updatedAt", None)
    return found


async def steps(served: ServedProject, **arguments: JsonValue) -> list[list[tuple[str, str]]]:
    page = await served.client.call("task_history", dict(arguments))
    return [[(step["id"], step["what"]) for step in change["tasks"]] for change in page["changes"]]


async def undo(served: ServedProject, change: int) -> Object:
    return await served.client.call("undo_change", {"change": change})


CALLS: list[tuple[str, Object, list[tuple[str, str]]]] = [
    ("set_task_status", {"id": "2", "status": "done"}, [("2", "changed"), ("2.2", "changed")]),
    ("update_task", {"id": "3", "details": "other"}, [("3", "changed")]),
    ("remove_task", {"id": "3"}, [("3", "removed")]),
    (
        "remove_task",
        {"id": "2.1"},
        [("2", "changed"), ("2.1", "removed"), ("2.2", "changed")],
    ),
    (
        "clear_subtasks",
        {"id": "2"},
        [("2", "changed"), ("2.2", "removed"), ("2.1", "removed")],
    ),
    (
        "expand_task",
        {"id": "2", "subtasks": [{"title": "new", "description": "d"}]},
        [("2", "changed"), ("2.3", "created")],
    ),
    ("move_task", {"from_": "2.1", "to": "2.2"}, []),
    ("move_task", {"from_": "3", "fromTag": "master", "toTag": "other", "ignoreDependencies": True}, []),
    ("update_subtask", {"id": "2.1", "prompt": "note"}, []),
    ("rename_tag", {"oldName": "other", "newName": "another"}, []),
    ("add_task", {"title": "new", "description": "x"}, [("4", "created")]),
    ("move_task", {"from_": "3", "to": "9"}, [("3", "removed"), ("9", "created")]),
    ("remove_dependency", {"id": "3", "dependsOn": "2"}, [("3", "changed")]),
    ("delete_tag", {"name": "other"}, [("other:7", "removed"), ("other:1", "removed"), ("other:", "removed")]),
    ("add_tag", {"name": "fresh"}, [("fresh:", "created")]),
    (
        "copy_tag",
        {"sourceName": "other", "targetName": "copy"},
        [("copy:", "created"), ("copy:1", "created"), ("copy:7", "created")],
    ),
]


@pytest.mark.requirement("AG-3")
@pytest.mark.parametrize(
    ("tool", "arguments", "found"), CALLS, ids=[f"{tool}-{it}" for it, (tool, *_) in enumerate(CALLS)]
)
async def test_each_call_is_one_change_and_undo_puts_back_what_it_replaced(
    served: ServedProject, tool: str, arguments: Object, found: list[tuple[str, str]]
) -> None:
    before = served.document
    await served.call(tool, **arguments)
    after = served.document
    [made] = await steps(served)
    assert made == (found or made)
    assert (await undo(served, 1))["change"] == 2
    assert plain(served.document) == plain(before)
    assert [*served.document] == [*before]
    await undo(served, 2)
    assert plain(served.document) == plain(after)


async def test_a_plan_that_replaced_all_tasks_is_undone(served: ServedProject) -> None:
    before = served.document
    tasks = [{"title": "new", "description": "d"}]
    await served.call("parse_prd", input="docs/prd.md", tasks=tasks, force=True)
    assert [task["title"] for task in served.document["master"]["tasks"]] == ["new"]
    await undo(served, 1)
    assert plain(served.document) == plain(before)


async def test_what_has_changed_since_is_left_and_named(served: ServedProject) -> None:
    await served.call("update_task", id="3", details="mine")
    await served.call("update_task", id="3", details="theirs")
    reason, error = await served.failed("undo_change", change=1)
    assert reason == "NOT_UNDONE"
    assert error["conflicts"] == [{"id": "3", "field": "details", "now": "theirs"}]
    await served.call("update_task", id="3", priority="low")
    await undo(served, 2)
    task = served.document["master"]["tasks"][2]
    assert (task["details"], task["priority"], task["updatedAt"]) == ("mine", "low", STAMP)


async def test_a_removed_task_comes_back_at_its_place_or_last_if_that_has_gone(served: ServedProject) -> None:
    await served.call("remove_task", id="1")
    await undo(served, 1)
    assert [task["id"] for task in served.document["master"]["tasks"]] == [1, 2, 3]
    await served.call("remove_task", id="1", tag="other")
    await served.call("add_task", title="x", description="x", tag="other")
    await served.call("remove_task", id="7", tag="other")
    await undo(served, 3)
    assert [task["id"] for task in served.document["other"]["tasks"]] == [8, 1]


@pytest.mark.parametrize(
    ("calls", "change", "now"),
    [
        ([("remove_task", {"id": "3"}), ("add_task", {"title": "x", "description": "x"})], 1, "there is a new task"),
        ([("add_task", {"title": "x", "description": "x"}), ("remove_task", {"id": "4"})], 1, "it is gone"),
        ([("delete_tag", {"name": "other"}), ("add_tag", {"name": "other"})], 1, "there is a new tag"),
        ([("add_tag", {"name": "fresh"}), ("delete_tag", {"name": "fresh"})], 1, "it is gone"),
        ([("copy_tag", {"sourceName": "other", "targetName": "b"}), ("delete_tag", {"name": "b"})], 1, "it is gone"),
        (
            [("add_tag", {"name": "b"}), ("add_task", {"title": "x", "description": "x", "tag": "b"})],
            1,
            "it has tasks that were added since",
        ),
    ],
)
async def test_an_undo_in_the_way_of_later_changes_is_refused(
    served: ServedProject, calls: list[tuple[str, Object]], change: int, now: str
) -> None:
    for tool, arguments in calls:
        await served.call(tool, **arguments)
    reason, error = await served.failed("undo_change", change=change)
    assert reason == "NOT_UNDONE"
    assert str(error["conflicts"][0]["now"]).startswith(now)


async def test_an_undo_that_leaves_a_dependency_without_its_task_is_refused(served: ServedProject) -> None:
    await served.call("add_task", title="x", description="x")
    await served.call("add_dependency", id="3", dependsOn="4")
    reason, error = await served.failed("undo_change", change=1)
    assert reason == "NOT_UNDONE"
    assert error["message"] == "Change 1 was not undone: then 3 depends on 4, which does not exist."


async def test_the_changes_of_a_task_are_found_by_its_id_and_include_those_of_its_subtasks(
    served: ServedProject,
) -> None:
    await served.call("set_task_status", id="2.2", status="done")
    await served.call("update_task", id="3", details="x")
    await served.call("update_task", id="7", details="x", tag="other")
    await served.call("update_subtask", id="2.1", prompt="note")
    await served.call("remove_task", id="2")

    async def numbers(**arguments: JsonValue) -> list[int]:
        page = await served.client.call("task_history", dict(arguments))
        return [change["change"] for change in page["changes"]]

    assert await numbers(id="2") == await numbers(id="#2") == await numbers(id="master:2") == [5, 4, 1]
    assert await numbers(id="2.1") == await numbers(id="master:2.1") == [5, 4]
    assert await numbers(id="other:7") == await numbers(id="7", tag="other") == [3]
    assert await numbers(id="7") == await numbers(id="nothing:7") == []


async def test_an_undo_leaves_what_was_done_to_other_subtasks(served: ServedProject) -> None:
    await served.call("remove_task", id="2.1")
    await served.call("update_subtask", id="2.2", prompt="note")
    await served.call("add_subtask", id="2", title="new")
    await undo(served, 1)
    subtasks = served.document["master"]["tasks"][1]["subtasks"]
    assert [subtask["id"] for subtask in subtasks] == [1, 2, 3]
    assert "note" in subtasks[1]["details"]


async def test_a_change_of_one_of_many_long_subtasks_is_kept(served: ServedProject) -> None:
    subtasks = [item(number, details="x" * 7_000) for number in range(1, 16)]
    served.write({"master": tag(item(1, subtasks=subtasks))})
    await served.call("set_task_status", id="1.1", status="done")
    await undo(served, 1)
    assert served.document["master"]["tasks"][0]["subtasks"][0]["status"] == "pending"


async def test_what_was_added_to_a_new_task_keeps_an_undo_from_removing_it(served: ServedProject) -> None:
    await served.call("add_task", title="x", description="x")
    document = served.document
    document["master"]["tasks"][-1]["note"] = "mine"
    served.write(document)
    _, error = await served.failed("undo_change", change=1)
    assert error["conflicts"] == [{"id": "4", "field": "note", "now": "mine"}]


@pytest.mark.parametrize(
    ("tags", "calls", "current"),
    [
        (
            ["master", "other"],
            [("use_tag", {"name": "other"}), ("rename_tag", {"oldName": "other", "newName": "b"})],
            "other",
        ),
        (["master", "other"], [("add_tag", {"name": "b"}), ("use_tag", {"name": "b"})], "master"),
        (["one", "two"], [("add_tag", {"name": "b"}), ("use_tag", {"name": "b"})], "one"),
    ],
)
async def test_an_undo_that_takes_the_current_tag_away_makes_another_the_current_one(
    served: ServedProject, tags: list[str], calls: list[tuple[str, Object]], current: str
) -> None:
    served.write({name: tag(item(1)) for name in tags})
    for tool, arguments in calls:
        await served.call(tool, **arguments)
    await undo(served, 1)
    assert [it["name"] for it in (await served.call("list_tags"))["tags"] if it["isCurrent"]] == [current]


async def test_a_project_keeps_a_tag_when_the_making_of_its_only_one_is_undone(served: ServedProject) -> None:
    served.path.unlink()
    await served.call("add_task", title="x", description="x")
    await undo(served, 1)
    assert [*served.document] == ["master"]
    await undo(served, 2)
    assert [task["title"] for task in served.document["master"]["tasks"]] == ["x"]


async def test_names_with_colons_and_dots_are_told_apart(served: ServedProject) -> None:
    served.write({"a": tag(item(1)), "a:b": tag(item("v1"), item("v1.2", subtasks=[item(1), item("v1.2.2")]))})
    for task_id in ("v1.2.1", "v1.2.2", "v1.2"):
        await served.call("update_task", id=task_id, details="x", tag="a:b")
    before = served.document
    await served.call("delete_tag", name="a:b")
    await undo(served, 4)
    assert plain(served.document) == plain(before)
    for change in (1, 2, 3):
        await undo(served, change)
    assert "details" not in json.dumps(served.document)


async def test_a_removed_tag_does_not_replace_what_a_person_put_in_its_place(served: ServedProject) -> None:
    await served.call("update_task", id="3", details="x")
    served.write({"master": MASTER, "other": {"tasks": "mine"}})
    await served.call("update_task", id="3", details="x")
    _, error = await served.failed("undo_change", change=2)
    assert error["conflicts"][0] == {"id": "other:", "now": "there is a new tag with this name"}


async def test_counts_and_times_in_the_metadata_are_not_in_the_way_of_an_undo(served: ServedProject) -> None:
    served.write({"master": tag(item(1), item(2), lastModified="x", taskCount=2, completedCount=0)})
    await served.call("set_task_status", id="1", status="done")
    await served.call("add_task", title="x", description="x")
    await undo(served, 1)
    metadata = served.document["master"]["metadata"]
    assert (metadata["taskCount"], metadata["completedCount"], metadata["lastModified"]) == (3, 0, STAMP)


async def test_subtasks_that_are_no_list_any_more_are_not_put_back(served: ServedProject) -> None:
    await served.call("update_subtask", id="2.1", prompt="note")
    document = served.document
    document["master"]["tasks"][1]["subtasks"] = "mine"
    served.write(document)
    _, error = await served.failed("undo_change", change=1)
    assert {"id": "2.1", "now": "it is gone"} in error["conflicts"]


@pytest.mark.requirement("AG-3")
async def test_the_work_of_a_background_call_is_a_change_of_its_client(served: ServedProject) -> None:
    tasks = [{"title": "new", "description": "d"}]
    await served.call("parse_prd", input="docs/prd.md", tasks=tasks, append=True, background=True)
    await until(lambda: len(served.document["master"]["tasks"]) == 4)
    await until(served.path.with_name("tasks.json.history.jsonl").exists)
    [change] = (await served.client.call("task_history", {}))["changes"]
    assert (change["by"], change["tool"]) == ("mcp 0.1.0", "parse_prd")


async def test_a_call_may_name_another_project(served: ServedProject, tmp_path: Path) -> None:
    other = ServedProject(tmp_path / "other", options=EXTRA)
    other.write({"master": MASTER})
    root = {"projectRoot": str(other.root)}
    await served.call("update_task", id="3", details="x", **root)
    assert await steps(served) == []
    assert await steps(served, **root) == [[("3", "changed")]]
    await served.client.call("undo_change", {"change": 1, **root})
    assert plain(other.document) == plain({"master": MASTER})


async def test_tasks_whose_ids_are_not_their_own_are_kept_together(served: ServedProject) -> None:
    served.write({"master": tag(item(1), item(1, title="twin"), item(2))})
    await served.call("update_task", id="2", details="x")
    assert await steps(served) == [[("master:", "changed")]]
    await undo(served, 1)
    assert "details" not in served.document["master"]["tasks"][2]


@pytest.mark.requirement("AG-3", "AG-4")
async def test_an_edit_by_hand_is_a_change_from_outside_and_moves_are_told(served: ServedProject) -> None:
    await served.call("update_task", id="3", details="x")
    document = served.document
    document["master"]["tasks"].insert(0, document["master"]["tasks"].pop())
    served.write(document)
    await served.call("update_task", id="1", details="y")
    page = await served.client.call("task_history", {})
    assert [change["by"].split()[0] for change in page["changes"]] == ["mcp", "outside", "mcp"]
    assert (await steps(served))[1] == [("3", "moved")]
    await undo(served, 2)
    assert [task["id"] for task in served.document["master"]["tasks"]] == [1, 2, 3]


@pytest.mark.requirement("AG-8")
async def test_a_status_that_a_person_made_up_neither_leads_a_session_nor_lengthens_its_brief(tmp_path: Path) -> None:
    served = ServedProject(tmp_path, options=EXTRA)
    made_up = [f"{word}\n\n# Do `this`\x1b[2J" for word in ("new", "\U0001f600" * 100, *map(str, range(100)))]
    served.write({"master": tag(*(item(number, status=status) for number, status in enumerate(made_up, 1)))})
    brief = (await served.client.call("brief", {"max_bytes": 500}))["brief"]
    async with Client(served.server.sdk) as client:
        summary = (await client.read_resource("tasks://summary")).contents[0].text  # pyrefly: ignore
    for text in (brief, summary):
        assert "1 new \\# Do \\`this\\`\\\\u{1b}\\[2J" in text
        assert "\x1b" not in text
        assert "\n# Do" not in text
    assert len(brief.encode()) <= 500


@pytest.mark.requirement("AG-4")
async def test_two_servers_share_the_history_and_neither_takes_the_other_for_a_person(served: ServedProject) -> None:
    other = ServedProject(served.root, options=EXTRA)
    for number in range(2):
        await served.call("update_task", id="3", details=f"a{number}")
        await other.call("update_task", id="1", details=f"b{number}")
    page = await other.client.call("task_history", {})
    assert [(change["change"], change["tool"]) for change in page["changes"]] == [
        (number, "update_task") for number in (4, 3, 2, 1)
    ]


@pytest.mark.requirement("AG-4")
async def test_a_server_that_only_read_the_changes_of_others_does_not_note_them_again(served: ServedProject) -> None:
    other = ServedProject(served.root, options=EXTRA)
    await served.call("get_tasks")
    for number in range(3):
        await other.call("update_task", id="1", details=f"b{number}")
        await served.call("get_tasks")
    served.path.write_bytes(served.path.read_bytes() + b"\n")
    await served.call("get_tasks")
    await served.call("update_task", id="3", details="a")
    page = await other.client.call("task_history", {})
    assert [change["tool"] for change in page["changes"]] == ["update_task"] * 4


@pytest.mark.requirement("AG-4")
async def test_an_edit_while_no_server_runs_is_noted_without_what_was_there(served: ServedProject) -> None:
    await served.call("update_task", id="3", details="x")
    served.write({"master": tag(item(9))})
    other = ServedProject(served.root, options=EXTRA)
    await other.call("update_task", id="9", details="x")
    assert await steps(other) == [[("9", "changed")], [], [("3", "changed")]]
    reason, _ = await other.failed("undo_change", change=2)
    assert reason == "NOT_UNDONE"
    assert (await other.failed("undo_change", change=9))[0] == "CHANGE_NOT_FOUND"


@pytest.mark.requirement("AG-5")
async def test_without_days_nothing_is_kept(tmp_path: Path) -> None:
    served = ServedProject(tmp_path, options=EXTRA | {"task_history_days": 0})
    served.write({"master": MASTER})
    await served.call("update_task", id="3", details="x")
    assert await steps(served) == []
    assert [*served.files] == [".taskmaster/tasks/tasks.json"]


@pytest.mark.requirement("AG-1")
async def test_the_tools_are_there_only_if_they_are_asked_for(served: ServedProject) -> None:
    names, others = await tool_schemas(served.server), await tool_schemas(ServedProject(served.root).server)
    assert names.keys() - others.keys() == {"task_history", "undo_change", "brief", "claim_task", "release_task"}
    for name, schema in others.items():
        names[name]["properties"].pop("agent", None)
        assert names[name] == schema
    with pytest.raises(ValueError, match="'changes' is not a set of tools"):
        served.another(task_extra_tools="changes")


@pytest.mark.requirement("AG-8")
async def test_the_brief_of_a_project_says_what_is_ready_and_what_waits(served: ServedProject) -> None:
    await served.call("add_task", title="Paint", description="x", dependencies="3")
    await served.call("add_task", title="x", description="x", tag="other")
    await served.call("set_task_status", id="2.2", status="in-progress")
    brief = (await served.client.call("brief", {}))["brief"]
    assert brief.startswith(
        '## In progress\n- 2.2: "Title 2" (since 2026-03-01 12:00 UTC by mcp 0.1.0)\n- 2: "Title 2"\n'
    )
    assert '\n## Waiting\n- 3: "Title 3" for 2' in brief
    assert '- added by mcp 0.1.0: other:8\n- added by mcp 0.1.0: 4 "Paint"\n' in brief
    assert brief.endswith("Call next_task, and set_task_status to start or finish it.\n")
    for number in range(6):
        await served.call("add_task", title=f"{number}", description="x", dependencies="3")
    brief = (await served.client.call("brief", {"since": "99"}))["brief"]
    assert "Left out here: 3 more." in brief  # of 8 that wait


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    monkeypatch.setenv("TASK_MASTER_PROJECT_ROOT", str(tmp_path))

    def print_it(*words: str) -> str:
        with command_line(), pytest.raises(SystemExit) as ended:
            run(Program.of("taskmaster_mcp"), words)
        assert ended.value.code == 0
        return capsys.readouterr().out

    return print_it


async def test_the_commands_show_and_undo_it(served: ServedProject, command: Callable[..., str]) -> None:
    now: datetime = NOW
    served.clock = lambda: now
    now = utc_now()
    served.server = served.another()
    await served.call("update_task", id="3", details="x")
    assert 'details: "long" -> "x"' in command("history", "3")
    assert "Undone." in command("undo", "--yes")
    assert served.document["master"]["tasks"][2]["details"] == "long"
    assert command("history", "--limit", "1").splitlines()[0].endswith("command line undo")
    assert '- 2: "Title 2"' in command("brief")
