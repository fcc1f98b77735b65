"""The file: its form, what a person may do to it, and what another process sees (R4, ST-1 to ST-4, L1, L2)."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from hierarchy_mcp.codec import ForestCodec
from tests.hierarchy.conftest import Board, Object, call, dig, ids, objects, tree
from tests.tool_client import ToolFailed

TREE = tree("a", tree("b", tree("c"), tree("d")), tree("e"))


def bare(task_id: str, *tasks: JsonValue, **fields: JsonValue) -> Object:
    """Return a task as a person may write it into the file."""
    return {"id": task_id, "name": task_id, **fields, **({"tasks": list(tasks)} if tasks else {})}


def warnings_of(answer: Object) -> str:
    assert isinstance(answer["warnings"], list)
    return " ".join(map(str, answer["warnings"]))


def write(board: Board, *items: JsonValue) -> None:
    assert board.path is not None
    board.path.write_text(json.dumps(items), "utf-8")


@pytest.mark.requirement("R4.1", "R4.6", "ST-1")
async def test_the_file_is_an_array_of_nested_tasks_each_on_a_line_of_its_own(stored_board: Board) -> None:
    await stored_board.create(tree("a", tree("b", tree("c"), tree("d", description="日本語\n2")), tree("e")), tree("z"))
    assert stored_board.bytes is not None
    rest = '"status":"todo","completion_criteria":[],"constraints":[],"resolution":null,"tasks":['
    none = f'"description":null,{rest}'
    assert stored_board.bytes.decode() == (
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


async def test_a_list_that_lost_its_last_task_is_empty(stored_board: Board) -> None:
    await stored_board.create(tree("a"))
    await stored_board.call("deleteTask", id="a")
    assert stored_board.bytes == b"[]\n"


@pytest.mark.requirement("R4.3")
async def test_a_server_that_starts_has_what_the_file_holds(stored_board: Board) -> None:
    await stored_board.create(TREE)
    await stored_board.finish("c")
    await stored_board.call("startTask", id="d")
    before = await stored_board.call("listTasks")
    stored_board.restart()
    assert await stored_board.call("listTasks") == before


@pytest.mark.requirement("R4.4")
async def test_every_change_is_in_the_file_when_it_is_answered(stored_board: Board) -> None:
    steps: list[tuple[str, Object]] = [
        ("createTask", TREE),
        ("startTask", {"id": "a"}),
        ("completeTask", {"id": "c", "resolution": "x"}),
        ("updateTask", {"id": "d", "name": "D"}),
        ("deleteTask", {"id": "e"}),
    ]
    for tool, arguments in steps:
        before = stored_board.bytes
        await stored_board.call(tool, **arguments)
        assert stored_board.bytes != before
        assert stored_board.stored == (await stored_board.call("listTasks"))["tasks"]


@pytest.mark.requirement("ST-2")
async def test_two_servers_see_each_others_changes_at_the_next_call(stored_board: Board) -> None:
    other = stored_board.another()
    await stored_board.create(TREE)
    await call(other, "startTask", id="a")
    await stored_board.call("completeTask", id="c", resolution="x")
    await call(other, "createTask", name="n", id="n", insertIndex=0)
    assert list(await stored_board.statuses()) == ["n", *"abcde"]
    assert await call(other, "listTasks") == await stored_board.call("listTasks")


@pytest.mark.requirement("HI-8")
async def test_a_root_that_is_put_first_moves_the_others_in_the_file_too(stored_board: Board) -> None:
    await stored_board.create(tree("a", tree("b")), tree("c"), tree("d"))
    await stored_board.call("createTask", name="x", id="x", insertIndex=1)
    await stored_board.call("createTask", name="y", id="y", insertIndex=0)
    assert [task["id"] for task in stored_board.stored] == ["y", "a", "x", "c", "d"]


@pytest.mark.requirement("ST-3", "L2")
async def test_unknown_fields_are_kept_at_every_level(stored_board: Board) -> None:
    none: JsonValue = [{"id": "x", "name": "no subtask"}, 5]
    child = bare("b", owner={"x": [1]}, own_status=2, parents="me", unread=1, **{"(unread)": none})
    write(stored_board, bare("a", child, due="friday"), bare("z"))
    await stored_board.call("startTask", id="b")
    (a, _) = stored_board.stored
    (b,) = objects(a, "tasks")
    assert (a["due"], b["owner"], b["own_status"], b["parents"], b["unread"]) == ("friday", {"x": [1]}, 2, "me", 1)
    assert (b["(unread)"], b["tasks"]) == (none, [])
    assert "due" not in objects(await stored_board.call("listTasks"), "tasks")[0]


@pytest.mark.requirement("ST-3")
async def test_what_a_person_writes_briefly_is_taken(stored_board: Board) -> None:
    write(stored_board, bare("a", bare("my task", completion_criteria="one", constraints=None, tasks=None)))
    answer = await stored_board.call("getTask", id="my task")
    assert (dig(answer, "task", "completion_criteria"), dig(answer, "task", "constraints")) == (["one"], [])
    assert "warnings" not in answer


@pytest.mark.requirement("L2")
async def test_a_byte_order_mark_and_other_line_ends_are_accepted(stored_board: Board) -> None:
    assert stored_board.path is not None
    stored_board.path.write_bytes(b'\xef\xbb\xbf[\r\n{"id": "a", "name": "A"}\r\n]\r\n\r\n')
    assert await stored_board.statuses() == {"a": "todo"}


@pytest.mark.requirement("HI-8", "ST-3", "WARN-1")
@pytest.mark.parametrize(
    ("item", "expected", "warned"),
    [
        (bare("a", bare("b", status="todo"), status="done"), {"a": "todo", "b": "todo"}, "it is 'todo'"),
        (bare("a", bare("b", status="done")), {"a": "done", "b": "done"}, ""),
        (bare("a", bare("b", status="done"), status="todo"), {"a": "done", "b": "done"}, "it is 'done'"),
        (bare("a", status="Done"), {"a": "done"}, "'a' was put right: it is 'done'"),
        (bare("a", status="finished"), {"a": "todo"}, "'a' was put right: it is 'todo'"),
        (bare("a", status=None), {"a": "todo"}, "'a' was put right: it is 'todo'"),
        (
            bare("a", bare("b", status="in_progress"), bare("c", status="in_progress")),
            {"a": "in_progress", "b": "in_progress", "c": "todo"},
            "'c' is todo again: only one task may be in progress",
        ),
    ],
    ids=["open below done", "fine", "done below todo", "case", "unknown", "null", "two active"],
)
async def test_a_status_against_the_rule_is_put_right_with_a_warning(
    stored_board: Board, item: Object, expected: dict[str, str], warned: str
) -> None:
    write(stored_board, item)
    answer = await stored_board.call("listTasks")
    assert await stored_board.statuses() == expected
    assert (warned in warnings_of(answer)) if warned else ("warnings" not in answer)


@pytest.mark.requirement("HI-8", "WARN-1")
async def test_what_was_put_right_is_written_at_the_next_change_and_told_once(stored_board: Board) -> None:
    write(stored_board, bare("a", bare("b"), status="done"), bare("c"))
    assert "warnings" in await stored_board.call("listTasks")
    assert "warnings" not in await stored_board.call("completeTask", id="c", resolution="x")
    assert [task["status"] for task in stored_board.stored] == ["todo", "done"]


@pytest.mark.requirement("L1", "L2", "ST-3")
async def test_what_is_no_task_is_kept_unread_beside_its_siblings(stored_board: Board) -> None:
    bad: list[JsonValue] = [7, {"id": "x"}, {"name": "no id"}, bare("y", tasks={"not": "a list"}), bare(" ")]
    write(stored_board, *bad[:2], bare("a", *bad, bare("b")), *bad[2:])
    answer = await stored_board.call("listTasks")
    assert "Task 2 is not valid (name: Field required); it was kept in the file unread." in warnings_of(answer)
    await stored_board.call("completeTask", id="b", resolution="x")
    assert await stored_board.statuses() == {"a": "done", "b": "done"}
    assert stored_board.path is not None
    a, *rest = json.loads(stored_board.path.read_text("utf-8"))
    assert rest == bad
    assert [task["id"] for task in a["tasks"][:1]] == ["b"]
    assert a["tasks"][1:] == bad


@pytest.mark.requirement("L2")
async def test_of_two_tasks_with_one_id_the_second_gets_another(stored_board: Board) -> None:
    write(stored_board, bare("a", bare("b"), bare("a")), bare("a", bare("b")), bare("a-2"))
    answer = await stored_board.call("listTasks")
    assert "The id 'a' stood twice; the second task is now 'a-3'." in warnings_of(answer)
    made = list(await stored_board.statuses())
    assert sorted(made) == ["a", "a-2", "a-3", "a-4", "b", "b-2"]
    assert made[0] == "a"


@pytest.mark.requirement("L1", "ST-3")
@pytest.mark.parametrize(
    "text",
    [
        "[",
        '{"id": "a"}',
        '{"version": true}',
        "7",
        '[{"id": "a", "id": "b", "name": "x"}]',
        '[{"id": "\\ud800", "name": "x"}]',
        '[{"id": "a", "name": NaN}]',
        json.dumps([json.loads('{"id": "a", "name": "a", "tasks": [' * 91 + "]}" * 91)]),
        "[" * 100_000,
    ],
    ids=["torn", "object", "boolean", "number", "key twice", "surrogate", "nan", "91 levels", "deep"],
)
async def test_a_damaged_file_is_kept_aside_and_told(stored_board: Board, text: str) -> None:
    assert stored_board.path is not None
    stored_board.path.write_text(text, "utf-8")
    answer = await stored_board.call("listTasks")
    assert answer["tasks"] == []
    assert "tasks.json was unusable" in warnings_of(answer)
    (copy,) = stored_board.path.parent.glob("tasks.json.corrupt-*")
    assert copy.read_text("utf-8") == text
    await stored_board.create(TREE)
    assert ids(await stored_board.call("listTasks"), "tasks") == ["a"]


@pytest.mark.requirement("ST-4")
async def test_a_file_of_a_later_format_is_left_alone(stored_board: Board) -> None:
    assert stored_board.path is not None
    stored_board.path.write_text('{"version": 2, "tasks": []}', "utf-8")
    with pytest.raises(ToolFailed, match=r"^StoreNewer: "):
        await stored_board.create(TREE)
    assert stored_board.path.read_text("utf-8") == '{"version": 2, "tasks": []}'


def test_a_change_encodes_the_path_to_the_root_alone() -> None:
    codec = ForestCodec()
    (root,) = codec.decode(json.dumps([bare("a", bare("b", bare("c")), bare("d"))]).encode()).records.values()
    codec.encode(root)
    b, d = root.tasks
    changed = root.with_tasks((b.with_tasks((b.tasks[0].changed(name="C"),)), d))
    assert "head_json" in vars(d)
    assert not {"head_json"} & {name for task in (changed, *changed.tasks[:1]) for name in vars(task)}
    assert codec.encode(changed) == codec.encode(root).replace(b'"name":"c"', b'"name":"C"')


@pytest.mark.requirement("L2")
async def test_thousands_of_repeated_ids_and_active_leaves_are_put_right_at_once(stored_board: Board) -> None:
    write(
        stored_board, bare("a", *[bare("b", status="in_progress")] * 5_000), bare("z", bare("y", status="in_progress"))
    )
    answer = await stored_board.call("listTasks", depth=0)
    assert "9996 more faults" in warnings_of(answer)
    statuses = await stored_board.statuses()
    assert list(statuses)[:4] == ["a", "b", "b-2", "b-3"]
    assert [name for name, status in statuses.items() if status == "in_progress"] == ["a", "b"]
