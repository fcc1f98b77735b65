"""The document: tags and what is beside them, in whatever layout, and what is left alone (TM-18 to TM-24)."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.document_file.source import Source
from task_core.errors import StoreDamaged
from taskmaster_mcp.codec import CODEC, TagDocument, is_tag
from taskmaster_mcp.project.json_text import DEFAULT
from tests.taskmaster.conftest import LARGE, STAMP, Object, ServedProject, item, tag


def decoded(text: str) -> Object:
    found = CODEC.read(Source("tasks.json", text.encode()))
    assert found.data.decode() == text
    return found.members


@pytest.mark.requirement("TM-18", "TM-20", "TM-89")
@pytest.mark.parametrize("indent", [2, 4, "\t", None])
@pytest.mark.parametrize("end", ["", "\r\n\r\n"])
@pytest.mark.parametrize(
    "document",
    [{}, {"master": tag()}, {"a": tag(item(1)), "$schema": "x", "b": {"tasks": 5}, "c": [{"tasks": []}]}, LARGE],
    ids=["empty", "one", "mixed", "large"],
)
def test_a_document_comes_back_byte_for_byte(document: Object, indent: int | str | None, end: str) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False) + end
    members = decoded(text)
    assert {name: member.value for name, member in members.items()} == document
    tags = {name for name, value in document.items() if isinstance(value, dict) and isinstance(value["tasks"], list)}
    assert {name for name, member in members.items() if is_tag(member.value)} == tags


@settings(max_examples=25)
@given(st.recursive(st.none() | st.integers() | st.text(), lambda it: st.lists(it) | st.dictionaries(st.text(), it)))
def test_a_member_of_any_value_keeps_its_text_and_takes_a_new_value(value: object) -> None:
    text = json.dumps({"x": value, "master": tag(item(1))}, indent=2, ensure_ascii=False)
    members = decoded(text)
    new = members["master"].with_value(tag(item(1), item(2)))
    document = TagDocument({"x": members["x"], "master": new})
    assert document.data.decode() == json.dumps(
        {"x": value, "master": tag(item(1), item(2))}, indent=2, ensure_ascii=False
    )


@pytest.mark.requirement("TM-20", "TM-24")
async def test_a_change_in_a_large_project_differs_only_in_the_changed_lines(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    served.write(LARGE)
    before = served.path.read_text().split("\n")
    await served.call("set_task_status", id="45", status="blocked")
    after = served.path.read_text().split("\n")
    added = [line for line in after if line.strip().startswith('"updatedAt"')]
    assert [line.strip() for line in added] == [f'"updatedAt": "{STAMP}"']
    place = after.index(added[0])
    after[place - 1] = after[place - 1].removesuffix(",")
    del after[place]
    changed = [(old.strip(), new.strip()) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [
        ('"status": "pending",', '"status": "blocked",'),
        ('"updated": "2025-01-01T00:00:00.000Z",', f'"updated": "{STAMP}",'),
    ]


@pytest.mark.requirement("TM-19")
async def test_a_project_without_tags_is_read_as_master_and_gets_tags_with_the_first_change(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    old = {"project": "x", "tasks": [item(1), item(2, 1)], "metadata": {"projectName": "P"}, "more": {"a": 1}}
    served.write(old)
    text = served.path.read_bytes()
    assert [task["id"] for task in (await served.call("get_tasks"))["tasks"]] == ["1", "2"]
    assert [row["name"] for row in (await served.call("list_tags"))["tags"]] == ["master"]
    assert served.path.read_bytes() == text
    await served.call("set_task_status", id="1", status="done")
    new = served.document
    assert [*new] == ["project", "master", "more"]
    assert (new["project"], new["more"]) == ("x", {"a": 1})
    assert new["master"]["metadata"] == {"projectName": "P", "updated": STAMP}
    assert new["master"]["tasks"] == [item(1, status="done", updatedAt=STAMP), item(2, 1)]
    assert served.path.read_text() == json.dumps(new, indent=2)


@pytest.mark.requirement("TM-21", "TM-89")
@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ('{"master": {"tasks": [', 1, 23, "JSON"),
        ('{\n"master": {"tasks": [], "tasks": []}}', 2, 25, "each key once"),
        ('{\n<<<<<<< HEAD\n"master": 1\n=======\n', 2, 1, "without merge conflict markers"),
        ('{"master": {"tasks": [{"id": NaN}]}}', 1, 30, "JSON"),
        ("[]", 1, 1, "an object of tags"),
        ('{"tasks": {"a": 1}}', 1, 11, "a list of tasks, or tags"),
        ('{"tasks": [], "master": {"tasks": []}}', 1, 11, "there is a tag 'master' too"),
        ('{"": {"tasks": []}}', 1, 6, "a member with a name"),
        ('{"master": {"tasks": [{"title": "\\ud800"}]}}', 1, 33, "whole characters"),
    ],
)
async def test_a_file_that_is_not_whole_is_left_alone(
    tmp_path: Path, text: str, line: int, column: int, expected: str
) -> None:
    served = ServedProject(tmp_path)
    served.write(text)
    calls: list[tuple[str, Object]] = [("get_tasks", {}), ("add_task", {"title": "x"}), ("validate_dependencies", {})]
    for tool, arguments in calls:
        reason, error = await served.failed(tool, **arguments)
        assert (reason, error["line"], error["column"]) == ("INVALID_TASKS_FILE", line, column)
        assert expected in error["expected"]
    assert [path.name for path in served.path.parent.iterdir()] == ["tasks.json"]


@pytest.mark.requirement("TM-22")
async def test_no_task_is_hidden_by_missing_or_odd_values(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    odd: list[Any] = [
        {"id": 1},
        {"id": "2", "title": None, "status": "completed", "priority": None, "dependencies": None, "subtasks": None},
        {
            "id": 3,
            "title": 7,
            "status": "half",
            "priority": "huge",
            "dependencies": {"a": 1},
            "subtasks": [5, {"id": "3.4"}],
        },
        {"title": "no id"},
        {"id": "abc"},
        "no task",
        {"id": 3, "title": "again"},
    ]
    served.write({"master": {"tasks": odd}})
    shown = (await served.call("get_tasks", withSubtasks=True))["tasks"]
    assert [(task["id"], task["title"], task["status"], task["priority"]) for task in shown] == [
        ("1", "", "pending", "medium"),
        ("2", "", "done", "medium"),
        ("3", "7", "half", "huge"),
        ("", "no id", "pending", "medium"),
        ("abc", "", "pending", "medium"),
        ("3", "again", "pending", "medium"),
    ]
    assert shown[2]["subtasks"] == [{"id": "3.4", "title": "", "status": "pending", "dependencies": []}]
    found = await served.call("validate_dependencies")
    assert [found[f"{what}Checked"] for what in ("tasks", "subtasks", "dependencies")] == [6, 1, 0]
    assert [(issue["type"], issue["taskId"]) for issue in found["issues"]] == [
        ("duplicate-id", "3"),
        ("odd-value", "3"),
        ("unknown-status", "3"),
        ("unknown-priority", "3"),
    ]
    await served.call("set_task_status", id="3", status="deferred")
    stored = served.document["master"]["tasks"]
    assert stored[2] == {**odd[2], "status": "deferred", "updatedAt": STAMP}
    assert [*stored[:2], *stored[3:]] == [*odd[:2], *odd[3:]]


@pytest.mark.requirement("TM-23")
@pytest.mark.parametrize(("ids", "new"), [([1, 2], 3), (["1", "2"], "3"), ([1, "2"], 3), ([], 1)])
async def test_a_new_id_has_the_type_that_all_others_have(tmp_path: Path, ids: list[int | str], new: int | str) -> None:
    served = ServedProject(tmp_path)
    served.write({"master": tag(*(item(number, *ids[:1]) for number in ids[1:]), *(item(it) for it in ids[:1]))})
    added = await served.call("add_task", title="new", dependencies=",".join(map(str, ids[:1])))
    assert added["taskId"] == str(new)
    stored = served.document["master"]["tasks"]
    assert stored[-1]["id"] == new
    assert type(stored[-1]["id"]) is type(new)
    assert [task["dependencies"] for task in stored[:-1]] == [[*ids[:1]] for _ in ids[1:]] + [[] for _ in ids[:1]]


@pytest.mark.requirement("TM-24")
async def test_a_save_keeps_what_others_count_in_the_metadata(tmp_path: Path) -> None:
    served = ServedProject(tmp_path)
    counted = tag(item(1), item(2), taskCount=9, completedCount=9, lastModified="x", own={"a": [1]})
    served.write({"master": counted, "bare": {"tasks": [item(1)], "x": 1}})
    await served.call("set_task_status", id="2", status="done")
    assert served.document["master"]["metadata"] == {
        **counted["metadata"],
        "updated": STAMP,
        "lastModified": STAMP,
        "taskCount": 2,
        "completedCount": 1,
    }
    await served.call("set_task_status", id="1", status="done", tag="bare")
    made = {"created": STAMP, "updated": STAMP, "description": "Tasks for bare context"}
    assert served.document["bare"] == {"tasks": [item(1, status="done", updatedAt=STAMP)], "x": 1, "metadata": made}
    assert not any(word in served.path.read_text() for word in ("isSubtask", "complexity", '"parentId"'))


@pytest.mark.requirement("TM-30")
@pytest.mark.parametrize(
    ("mode", "folders", "files"),
    [
        (0o755, 0o755, 0o644),
        (0o700, 0o700, 0o600),
        (0o777, 0o775, 0o664),
        (0o1777, 0o775, 0o664),
        (0o2770, 0o2770, 0o660),
        (0o2777, 0o2775, 0o664),
    ],
    ids=oct,
)
async def test_the_files_of_a_new_project_are_as_open_as_its_folder_but_not_for_everyone_to_write(
    tmp_path: Path, mode: int, folders: int, files: int
) -> None:
    root = tmp_path / "p"
    root.mkdir()
    root.chmod(mode)
    served = ServedProject(root)
    await served.call("initialize_project")
    await served.call("add_task", title="x")
    await served.call("generate", output="made/deeper")
    paths = [*root.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {folders}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {files}
    served.path.chmod(0o600)
    await served.call("add_task", title="x")
    assert stat.S_IMODE(served.path.stat().st_mode) == 0o600
    assert served.path.read_bytes()[-1:] == b"}"


@settings(max_examples=25)
@given(st.sampled_from([2, 4, "\t", None]), st.sampled_from(["", "\n"]), st.booleans())
def test_a_new_tag_is_laid_out_like_the_others(indent: int | str | None, end: str, has_others: bool) -> None:
    document: Object = {"x": 1, "master": tag(item(1))} if has_others else {}
    text = json.dumps(document, indent=indent, separators=None if indent else (",", ":")) + end
    members = decoded(text)
    layout = next((member.layout for member in members.values()), DEFAULT)
    new = layout.member("beta", tag())
    grown = CODEC.read(Source("t", text.encode()))
    grown.members[new.key] = new
    found = grown.data.decode()
    if has_others:
        whole = json.dumps({**document, "beta": tag()}, indent=indent, separators=None if indent else (",", ":"))
        assert found == whole + end
    assert json.loads(found) == {**document, "beta": tag()}


def test_the_codec_reads_one_block_as_it_is_stored() -> None:
    [member] = decoded('{"a": {"tasks": []}}').values()
    with pytest.raises(StoreDamaged):
        CODEC.read(Source("t", b"{"))
    assert member.whole == '"a": {"tasks": []}'
