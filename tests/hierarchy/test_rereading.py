"""A document that stands as it is written is read by its lines, and never says anything else than a whole reading."""

from __future__ import annotations

import json
from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from hierarchy_mcp.codec import ForestCodec
from hierarchy_mcp.models import Status, Task
from hierarchy_mcp.tree import MAX_LEVELS, walk
from task_core.store.encoding import Damaged, Decoded, Kept, Newer
from task_core.store.lines import Lines
from tests.document_edits import Edit, any_edit, edited

CODEC = ForestCodec()

FRAGMENTS = (
    *(b"", b" ", b"  ", b"\n", b"\r\n", b",", b",\n", b"]", b"}", b"]}", b"{", b'"', b"\\", b"\xff", b"\0", b"-0"),
    *(b"\xef\xbb\xbf", b"\\ud800", b"\\u0061", b"null", b"NaN", b"in_progress", b"done", b"todo", b'"tasks":[],'),
    *(b'{"id":"a","name":""},\n', b'"not a task",\n', b'"id":"a",', b'{"version": 9},\n', b'"x":{"k":1,"k":1},'),
)

LEAF: list[JsonValue] = []
shapes = st.recursive(st.just(LEAF), lambda inner: st.lists(inner, max_size=3), max_leaves=12)
"""Trees as lists in lists: each list is a task, its items are the subtasks; the outermost holds the roots."""

edits = any_edit(FRAGMENTS, longest=2_000)


def trees(shape: JsonValue, active: int, start: int = 0) -> list[Task]:
    """Return trees of these shapes; the task number ``active`` is in progress."""
    numbers = count(start)

    def below(shape: JsonValue) -> tuple[Task, ...]:
        return tuple(map(tree, shape)) if isinstance(shape, list) else ()

    def tree(shape: JsonValue) -> Task:
        number = next(numbers)
        status = Status.IN_PROGRESS if number == active else list(Status)[number % 2 * 2]
        texts = {"name": "é[{" * (number % 3), "constraints": ["a", '"'], "mood": {"x": 1.5}}
        task = Task.model_validate({"id": f"t{number}", "status": status, **texts})
        return task.with_tasks(below(shape))

    return [*below(shape)]


def document(roots: list[Task]) -> bytes:
    return CODEC.assemble(Lines.of({root.id: CODEC.encode(root) for root in roots}), Kept())


def told(found: Decoded[Task]) -> object:
    """Return all that can be told of what was read."""
    lines = {name: CODEC.encode(root) for name, root in found.records.items()}
    nodes = [(task.id, task.status, parent and parent.id) for task, parent in walk([*found.records.values()])]
    return lines, nodes, found.kept, found.faults


def outcome(data: bytes, last: Decoded[Task] | None) -> object:
    try:
        return told(CODEC.decode(data, last))
    except (Damaged, Newer) as error:
        return type(error), str(error)


def outcome_of_all(data: bytes) -> object:
    try:
        return told(CODEC.decode_any(data))
    except (Damaged, Newer) as error:
        return type(error), str(error)


@pytest.mark.requirement("D7", "L1", "L2", "ST-3")
@given(shapes, shapes, st.integers(-1, 8), st.lists(edits, max_size=3))
@example([], [[[]]], 1, [("repeat line", 2, 2, b"")])
@example([], [[[]], []], 2, [("put", 78, 4, b"in_progress")])
def test_however_a_document_is_edited_its_lines_say_what_the_whole_says(
    before: JsonValue, after: JsonValue, active: int, changes: list[Edit]
) -> None:
    last = CODEC.decode(document(trees(before, active)))
    data = document(trees(after, active))
    for change in changes:
        data = edited(data, change, width=12)
    assert outcome(data, last) == outcome(data, None) == outcome_of_all(data)


@pytest.mark.requirement("D7", "ST-1")
@given(shapes, shapes, st.integers(-1, 8), st.integers(0, 2))
def test_what_was_written_is_read_by_its_lines(before: JsonValue, after: JsonValue, active: int, start: int) -> None:
    last = CODEC.decode(document(trees(before, active)))
    data = document(trees(after, active, start))
    found = CODEC.decode_written(data, last)
    if found is None:
        assert not after
        return
    assert CODEC.assemble(found.lines or Lines(), found.kept) == data


@pytest.mark.requirement("ST-2", "D7")
def test_of_a_change_of_another_process_only_the_path_to_it_is_made() -> None:
    shape: JsonValue = [[[], []]] * 5
    last = CODEC.decode(document(trees([shape, shape], -1)))
    (first, second) = last.records.values()
    changed = first.tasks[2].tasks[1].changed(name="by another")
    part = first.tasks[2].with_tasks((first.tasks[2].tasks[0], changed))
    new = first.with_tasks((*first.tasks[:2], part, *first.tasks[3:]))
    found = CODEC.decode(document([new, second]), last)
    old_nodes = {id(task) for task, _ in walk([first, second])}
    made = [task.id for task, _ in walk([*found.records.values()]) if id(task) not in old_nodes]
    assert made == [first.id, part.id, changed.id]
    assert found.records[second.id] is second


def chain(levels: int) -> Task:
    task = Task.model_validate({"id": f"L{levels}", "name": "x"})
    for level in range(levels - 1, 0, -1):
        task = Task.model_validate({"id": f"L{level}", "name": "x"}).with_tasks((task,))
    return task


def test_a_tree_may_be_as_deep_by_its_lines_as_in_the_whole() -> None:
    for levels in (MAX_LEVELS, MAX_LEVELS + 1, MAX_LEVELS + 2):
        data = document([chain(levels)])
        assert (CODEC.decode_written(data, Decoded()) is None) == (levels > MAX_LEVELS)
        assert outcome(data, None) == outcome_of_all(data)


def test_a_value_that_is_nested_deep_is_left_to_the_whole_reading() -> None:
    data = document([Task.model_validate({"id": "a", "name": "x", "mood": json.loads("[" * 30 + "]" * 30)})])
    assert CODEC.decode_written(data, Decoded()) is None
    assert outcome(data, None) == outcome_of_all(data)


@pytest.mark.requirement("R3.17", "L2")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b'"t1"', b'"t0"', id="an id twice"),
        pytest.param(b'"todo"', b'"in_progress"', id="two in progress"),
        pytest.param(b'"todo"', b'"todo","x":NaN', id="no number"),
        pytest.param(b'"mood"', b'"name"', id="a key twice"),
        pytest.param(b"{", b" {", id="a blank"),
        pytest.param(b"]\n", b"]", id="torn"),
        pytest.param(b"\n]\n", b"", id="torn after a task"),
        pytest.param(b"\n]\n", b',\n"not a task"\n]\n', id="no task"),
        pytest.param(b"[\n", b"[\n]}\n", id="an end without a start"),
    ],
)
def test_what_would_not_be_written_so_is_read_as_a_whole(old: bytes, new: bytes) -> None:
    data = document(trees([[], [], []], -1)).replace(b'"done"', b'"todo"').replace(old, new)
    assert CODEC.decode_written(data, Decoded()) is None


def test_tasks_that_are_not_valid_are_told_at_every_reading() -> None:
    data = document(trees([[]], -1)).replace(b"\n]\n", b',\n"not a task"\n]\n')
    first = CODEC.decode(data)
    assert CODEC.decode(data, Decoded(first.records, first.kept, lines=Lines())).faults == first.faults
    assert len(first.faults) == 1
