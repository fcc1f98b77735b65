"""The file: its form, what a person may do to it, and what another process sees (R4, ST-1 to ST-4, L1, L2)."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from tests.hierarchy.conftest import Object, ServedTree, call, dig, objects, tree
from tests.tool_client import ToolFailed

TREE = tree("a", tree("b", tree("c"), tree("d")), tree("e"))


def bare(task_id: str, *tasks: JsonValue, **fields: JsonValue) -> Object:
    """Return a task as a person may write it into the file."""
    return {"id": task_id, "name": task_id, **fields, **({"tasks": list(tasks)} if tasks else {})}


def warnings_of(answer: Object) -> str:
    assert isinstance(answer["warnings"], list)
    return " ".join(map(str, answer["warnings"]))


def write(served: ServedTree, *items: JsonValue) -> None:
    assert served.path is not None
    served.path.write_text(json.dumps(items), "utf-8")


def deep(levels: int) -> bytes:
    """Return a tree of so many levels, each on a line of its own."""
    heads = [f'{{"id":"L{level}","name":"x","tasks":[' for level in range(1, levels + 1)]
    return ("[" + "\n".join(heads) + "]}" * levels + "]\n").encode()


@pytest.mark.requirement("R4.1", "R4.6", "ST-1")
async def test_the_file_is_an_array_of_nested_tasks_each_on_a_line_of_its_own(served: ServedTree) -> None:
    await served.create(tree("a", tree("b", tree("c"), tree("d", description="日本語\n2")), tree("e")), tree("z"))
    assert served.bytes is not None
    rest = '"status":"todo","completion_criteria":[],"constraints":[],"resolution":null,"tasks":['
    none = f'"description":null,{rest}'
    assert served.bytes.decode() == (
        "[\n"
        f'{{"id":"a","name":"a",{none}\n'
        f'  {{"id":"b","name":"b",{none}\n'
        f'    {{"id":"c","name":"c",{none}]}},\n'
        f'    {{"id":"d","name":"d","description":"日本語\\n2",{rest}]}}\n'
        "  ]},\n"
        f'  {{"id":"e","name":"e",{none}]}}\n'
        "]},\n"
        f'{{"id":"z","name":"z",{none}]}}\n'
        "]\n"
    )


async def test_a_list_that_lost_its_last_task_is_empty(served: ServedTree) -> None:
    await served.create(tree("a"))
    await served.call("deleteTask", id="a")
    assert served.bytes == b"[]\n"


@pytest.mark.requirement("R4.3")
async def test_a_server_that_starts_has_what_the_file_holds(served: ServedTree) -> None:
    await served.create(TREE)
    await served.finish("c")
    await served.call("startTask", id="d")
    before = await served.call("listTasks")
    served.restart()
    assert await served.call("listTasks") == before


@pytest.mark.requirement("R4.4")
async def test_every_change_is_in_the_file_when_it_is_answered(served: ServedTree) -> None:
    steps: list[tuple[str, Object]] = [
        ("createTask", TREE),
        ("startTask", {"id": "a"}),
        ("completeTask", {"id": "c", "resolution": "x"}),
        ("updateTask", {"id": "d", "name": "D"}),
        ("deleteTask", {"id": "e"}),
    ]
    for tool, arguments in steps:
        before = served.bytes
        await served.call(tool, **arguments)
        assert served.bytes != before
        assert served.stored == (await served.call("listTasks"))["tasks"]


@pytest.mark.requirement("ST-2")
async def test_two_servers_see_each_others_changes_at_the_next_call(served: ServedTree) -> None:
    other = served.another()
    await served.create(TREE)
    await call(other, "startTask", id="a")
    await served.call("completeTask", id="c", resolution="x")
    await call(other, "createTask", name="n", id="n", insertIndex=0)
    assert list(await served.statuses()) == ["n", *"abcde"]
    assert await call(other, "listTasks") == await served.call("listTasks")


@pytest.mark.requirement("R1.1", "ST-2")
async def test_an_id_that_another_server_has_given_is_not_given_again(served: ServedTree) -> None:
    await served.call("createTask", name="one")
    await call(served.another(), "createTask", name="two")  # the same seed, so the same random id at first
    assert [task["name"] for task in served.stored] == ["one", "two"]
    assert len(await served.statuses()) == 2


@pytest.mark.requirement("HI-8")
async def test_a_root_that_is_put_first_moves_the_others_in_the_file_too(served: ServedTree) -> None:
    await served.create(tree("a", tree("b")), tree("c"), tree("d"))
    await served.call("createTask", name="x", id="x", insertIndex=1)
    await served.call("createTask", name="y", id="y", insertIndex=0)
    assert [task["id"] for task in served.stored] == ["y", "a", "x", "c", "d"]


@pytest.mark.requirement("ST-3", "L2")
async def test_unknown_fields_are_kept_at_every_level(served: ServedTree) -> None:
    none: JsonValue = [{"id": "x", "name": "no subtask"}, 5]
    child = bare("b", owner={"x": [1]}, own_status=2, parents="me", unread=1, **{"(unread)": none})
    write(served, bare("a", child, due="friday"), bare("z"))
    await served.call("startTask", id="b")
    (a, _) = served.stored
    (b,) = objects(a, "tasks")
    assert (a["due"], b["owner"], b["own_status"], b["parents"], b["unread"]) == ("friday", {"x": [1]}, 2, "me", 1)
    assert (b["(unread)"], b["tasks"]) == (none, [])
    assert "due" not in objects(await served.call("listTasks"), "tasks")[0]


@pytest.mark.requirement("ST-3")
async def test_what_a_person_writes_briefly_is_taken(served: ServedTree) -> None:
    write(served, bare("a", bare("my task", completion_criteria="one", constraints=None, tasks=None)))
    answer = await served.call("getTask", id="my task")
    assert (dig(answer, "task", "completion_criteria"), dig(answer, "task", "constraints")) == (["one"], [])
    assert "warnings" not in answer


@pytest.mark.requirement("L2")
async def test_a_byte_order_mark_and_other_line_ends_are_accepted(served: ServedTree) -> None:
    assert served.path is not None
    served.path.write_bytes(b'\xef\xbb\xbf[\r\n{"id": "a", "name": "A"}\r\n]\r\n\r\n')
    assert await served.statuses() == {"a": "todo"}


@pytest.mark.requirement("HI-8", "ST-3", "WARN-1")
@pytest.mark.parametrize(
    ("item", "expected", "warned"),
    [
        (
            bare("a", bare("b", status="todo"), status="done"),
            {"a": "todo", "b": "todo"},
            "Task 'a' is read as 'todo', not 'done': its subtasks say so.",
        ),
        (bare("a", bare("b", status="done")), {"a": "done", "b": "done"}, ""),
        (
            bare("a", bare("b", status="done"), status="todo"),
            {"a": "done", "b": "done"},
            "Task 'a' is read as 'done', not 'todo': its subtasks say so.",
        ),
        (
            bare("a", status="Done"),
            {"a": "done"},
            "Task 'a' is read as 'done', not 'Done': that is how the word is written.",
        ),
        (
            bare("a", bare("b", status="in_progress"), bare("c", status="in_progress")),
            {"a": "in_progress", "b": "in_progress", "c": "todo"},
            "Task 'c' is read as 'todo', not 'in_progress': only one task may be in progress.",
        ),
    ],
    ids=["open below done", "fine", "done below todo", "case", "two active"],
)
async def test_a_status_against_the_rule_is_read_by_the_rule_with_a_warning_that_quotes_it(
    served: ServedTree, item: Object, expected: dict[str, str], warned: str
) -> None:
    write(served, item)
    before = served.bytes
    answer = await served.call("listTasks")
    assert await served.statuses() == expected
    assert answer.get("warnings", []) == ([f"tasks.json: {warned}"] if warned else [])
    assert served.bytes == before


@pytest.mark.requirement("HI-8", "WARN-1")
async def test_what_is_read_by_the_rules_is_written_at_the_next_change_and_reported_once(served: ServedTree) -> None:
    write(served, bare("a", bare("b"), status="done"), bare("c"))
    assert "warnings" in await served.call("listTasks")
    assert "warnings" not in await served.call("completeTask", id="c", resolution="x")
    assert [task["status"] for task in served.stored] == ["todo", "done"]


@pytest.mark.requirement("WARN-2")
async def test_the_same_mistake_is_reported_again_once_it_was_fixed_by_a_person_or_by_a_save(
    served: ServedTree,
) -> None:
    await served.create(tree("a", tree("b")))
    assert served.path is not None
    whole = served.path.read_text("utf-8")
    wrong = whole.replace('"status":"todo"', '"status":"done"', 1)
    said = "tasks.json: Task 'a' is read as 'todo', not 'done': its subtasks say so."
    for mend in ("person", "save", "neither"):
        served.path.write_text(wrong, "utf-8")
        assert (await served.call("listTasks"))["warnings"] == [said]
        served.path.write_text(wrong + "\n", "utf-8")
        assert "warnings" not in await served.call("listTasks")
        if mend == "person":
            served.path.write_text(whole, "utf-8")
            assert "warnings" not in await served.call("listTasks")
        else:
            await served.call("updateTask", id="b", name=mend)


@pytest.mark.requirement("HI-8", "WARN-1")
async def test_three_of_a_thousand_notes_are_reported_and_the_rest_are_counted(served: ServedTree) -> None:
    leaves = [bare(f"b{number}", status="in_progress") for number in range(1_000)]
    write(served, bare("a", *leaves), bare("z", bare("y", status="in_progress")))
    warned = warnings_of(await served.call("listTasks", depth=0))
    assert (warned.count("is read as"), warned.endswith(" 997 more.")) == (3, True)
    counts = await served.call("completeTask", id="b0", resolution="x")
    assert dig(counts, "progress_summary", "in_progress_tasks") == 0


async def refused_as_damaged(served: ServedTree, text: bytes) -> Object:
    """Return what every tool says of a file with these bytes, which stay; then the file is mended (ST-3)."""
    assert served.path is not None
    served.path.write_bytes(text)
    found: list[Object] = []
    calls: list[tuple[str, Object]] = [
        ("listTasks", {}),
        ("createTask", {"name": "x"}),
        ("updateTask", {"id": "a", "name": "x"}),
        ("deleteTask", {"id": "a"}),
        ("startTask", {"id": "a"}),
        ("completeTask", {"id": "a", "resolution": "x"}),
    ]
    for tool, arguments in calls:
        with pytest.raises(ToolFailed, match=r"^StoreDamaged: ") as caught:
            await served.call(tool, **arguments)
        found.append(caught.value.details)
    assert found == found[:1] * len(calls)
    assert {file.name for file in served.path.parent.iterdir()} <= {
        *("tasks.json", "tasks.json.lock", "tasks.json.history.jsonl")
    }
    assert served.bytes == text
    write(served, bare("mended"))
    assert list(await served.statuses()) == ["mended"]
    return found[0]


@pytest.mark.requirement("L1", "L2", "ST-3")
@pytest.mark.parametrize(
    ("lines", "line", "column", "found", "expected"),
    [
        (['{"id":"a","name":"a"},', " 7"], 3, 2, "7", "a task"),
        (['{"id":"x"}'], 2, 1, '{"id":"x"}', "a valid task (name: Field required)"),
        (['{"name":"no id"}'], 2, 1, '{"name":"no id"}', "a valid task (id: Field required)"),
        (['{"id":" ","name":"x"}'], 2, 7, '" ","name":"x"}', "a valid task (id: "),
        (['{"id":5,"name":"x"}'], 2, 7, '5,"name":"x"}', "a valid task (id: "),
        (['{"id":"y","name":"x","tasks":{"not":"a list"}}'], 2, 30, '{"not":"a list"}}', "a list of tasks"),
        (['{"id":"y","name":"x","tasks":"none"}'], 2, 30, '"none"}', "a list of tasks"),
        (['{"id":"y","name":"x","tasks":[[]]}'], 2, 31, "[]]}", "a task"),
        (['{"id":"y","name":"x","status":"finished"}'], 2, 31, '"finished"}', "a valid task (status: "),
        (['{"id":"y","name":"x","status":null}'], 2, 31, "null}", "a valid task (status: "),
        (['{"id":"y","name":"x","constraints":[1]}'], 2, 37, "1]}", "a valid task (constraints.0: "),
        (
            ['{"id":"a","name":"a","tasks":[', '  {"id":"b","name":"b"},', '  {"id":"a","name":"c"}]}'],
            *(4, 9, '"a","name":"c"}]}', "an id of its own (line 2 has it already)"),
        ),
    ],
    ids=lambda value: "".join(value) if isinstance(value, list) else "",
)
async def test_what_is_not_a_task_damages_the_store_and_the_error_says_where(
    served: ServedTree, lines: list[str], line: int, column: int, found: str, expected: str
) -> None:
    details = await refused_as_damaged(served, "\n".join(["[", *lines, "]", ""]).encode())
    assert (details["file"], details["line"], details["column"]) == ("tasks.json", line, column)
    assert found in str(details["found"])
    assert str(details["expected"]).startswith(expected)


@pytest.mark.requirement("L1", "ST-3")
@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        (b"[", 1, 2, "JSON ("),
        (b'{"id": "a"}', 1, 1, "an array of tasks"),
        (b'{"version": true}', 1, 1, "an array of tasks"),
        (b"7", 1, 1, "an array of tasks"),
        (b'[{"id": "a",\n "id": "b", "name": "x"}]', 2, 2, "each key once in an object"),
        (b'[{"id": "\\ud800", "name": "x"}]', 1, 9, "whole characters"),
        (b'[{"id": "a", "name": NaN}]', 1, 22, "JSON ("),
        (b"<<<<<<< HEAD\n[]\n=======\n[]\n>>>>>>> theirs\n", 1, 1, "a document without merge conflict"),
        (deep(91), 91, 1, "at most 90 levels of tasks"),
        (b"[" * 100_000, 1, 191, "JSON ("),
    ],
    ids=["torn", "object", "boolean", "number", "key twice", "surrogate", "nan", "merge", "91 levels", "deep"],
)
async def test_what_is_not_a_document_of_this_server_is_left_as_it_is(
    served: ServedTree, text: bytes, line: int, column: int, expected: str
) -> None:
    details = await refused_as_damaged(served, text)
    assert (details["line"], details["column"]) == (line, column)
    assert str(details["expected"]).startswith(expected)


@pytest.mark.requirement("ST-3", "L1")
async def test_a_task_in_a_task_with_the_same_id_is_found(served: ServedTree) -> None:
    assert served.path is not None
    await served.create({"id": "house", "name": "House", "tasks": [{"id": "walls", "name": "Walls"}]})
    details = await refused_as_damaged(served, served.path.read_bytes().replace(b"walls", b"house"))
    assert (details["line"], details["expected"]) == (3, "an id of its own (line 2 has it already)")


@pytest.mark.requirement("ST-3", "HI-6")
@pytest.mark.parametrize("typo", ['"nmae":"c"', '"name":"c","id":"x"', '"name":"c","status":"tood"', '"name":["c"]'])
async def test_a_subtask_with_a_typo_does_not_stop_blocking(served: ServedTree, typo: str) -> None:
    assert served.path is not None
    await served.create(tree("a", tree("b"), tree("c")))
    whole = served.path.read_bytes()
    await refused_as_damaged(served, whole.replace(b'"name":"c"', typo.encode()))
    served.path.write_bytes(whole)
    answer = await served.call("completeTask", id="b", resolution="x")
    assert (answer["next_task_id"], (await served.statuses())["a"]) == ("c", "todo")


@pytest.mark.requirement("ST-4")
async def test_a_file_of_a_later_format_is_left_alone(served: ServedTree) -> None:
    assert served.path is not None
    served.path.write_text('{"version": 2, "tasks": []}', "utf-8")
    with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
        await served.create(TREE)
    assert served.path.read_text("utf-8") == '{"version": 2, "tasks": []}'
