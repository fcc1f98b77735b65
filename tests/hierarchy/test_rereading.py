"""A document exactly as it is written is read block by block, and gives the same as reading it as a whole."""

from __future__ import annotations

import json
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from typing_extensions import override

from hierarchy_mcp.codec import CODEC, ForestCodec
from hierarchy_mcp.models import KIND, MAX_LEVELS, HierarchyStatus, HierarchyTask
from hierarchy_mcp.settings import HierarchySettings
from task_core.errors import TaskError
from task_core.store import ROOTS, Store, open_store
from task_core.store.collection import Node
from task_core.store.document.codec import Decoded
from task_core.store.document.source import Source
from task_core.warning_list import WarningList
from tests.document_edits import Edit, any_edit, edited

FRAGMENTS = (
    *(b"", b" ", b"  ", b"\n", b"\r\n", b",", b",\n", b"]", b"}", b"]}", b"{", b'"', b"\\", b"\xff", b"\0", b"-0"),
    *(b"\xef\xbb\xbf", b"\\ud800", b"\\u0061", b"null", b"NaN", b"in_progress", b"done", b"todo", b'"tasks":[],'),
    *(b'{"id":"a","name":""},\n', b'"not a task",\n', b'"id":"a",', b'{"version": 9},\n', b'"x":{"k":1,"k":1},'),
)

LEAF: list[JsonValue] = []
shapes = st.recursive(st.just(LEAF), lambda inner: st.lists(inner, max_size=3), max_leaves=12)
"""Trees as lists in lists: each list is a task, its items are the subtasks; the outermost holds the roots."""

edits = any_edit(FRAGMENTS, longest=2_000)


class ReadAsWhole(Exception):
    """The document was not read block by block."""


class BlocksOnly(ForestCodec):
    """Reads only what is as it would be written."""

    @override
    def decode_any(self, source: Source) -> Decoded[HierarchyTask]:
        raise ReadAsWhole


BLOCKS = BlocksOnly(KIND)


def document(shape: JsonValue, active: int, start: int = 0) -> bytes:
    """Return trees of this shape as they are written; the task number ``active`` is in progress if it is a leaf."""
    numbers = count(start)

    def tree(shape: JsonValue) -> JsonValue:
        number = next(numbers)
        status = HierarchyStatus.IN_PROGRESS if number == active else list(HierarchyStatus)[number % 2 * 2]
        below = [tree(part) for part in shape] if isinstance(shape, list) else []
        texts: dict[str, JsonValue] = {
            "name": "é[{" * (number % 3) + "x",
            "constraints": ["a", '"'],
            "mood": {"x": 1.5},
        }
        return {"id": f"t{number}", **texts, "status": status.value, "tasks": below}

    assert isinstance(shape, list)
    text = json.dumps([tree(part) for part in shape]).encode()
    return CODEC.document(CODEC.decode_any(Source("written", text)).blocks, {})


def outcome(data: bytes, *, is_whole: bool) -> object:
    """Return the whole result of a reading."""
    source = Source("tasks", data)
    try:
        found = CODEC.decode_any(source) if is_whole else CODEC.decode(source)
    except TaskError as error:
        return error.message
    nodes = [Node(task.id, parent, task.to_json()) for block in found.fresh.values() for task, parent in block]
    assert CODEC.encode(nodes) == found.blocks
    return found.blocks, [*found.blocks], found.fresh, found.fields, found.notes


def stored(store: Store[HierarchyTask]) -> object:
    """Return the tasks of a store with their places, or why it has none."""
    try:
        with store.read() as tasks:
            return [*CODEC.encode(tasks.nodes()).items()]
    except TaskError as error:
        return error.message


def another(path: Path) -> Store[HierarchyTask]:
    return open_store(HierarchySettings(file_path=path, task_fsync=False), CODEC, WarningList())


def put(path: Path, data: bytes) -> None:
    """Put a document in the place of another, as editors do."""
    new = path.with_name("new")
    new.write_bytes(data)
    new.replace(path)


@pytest.mark.requirement("D7", "L1", "L2", "ST-3")
@given(shapes.filter(bool), st.integers(-1, 8), st.lists(edits, max_size=3))
@example([[]], -1, [("put", 0, 2, b"[\n]}\n")])
@example([[], []], -1, [("insert", 2, 0, b"]}\n")])
@example([[[]]], 1, [("repeat line", 2, 2, b"")])
@example([[[]], []], 2, [("put", 78, 4, b"in_progress")])
def test_however_a_document_is_edited_its_blocks_say_what_the_whole_says(
    shape: JsonValue, active: int, changes: list[Edit]
) -> None:
    data = document(shape, active)
    for change in changes:
        data = edited(data, change, width=12)
    assert outcome(data, is_whole=False) == outcome(data, is_whole=True)


@pytest.mark.requirement("D7", "EN-6", "L2", "ST-2", "ST-3")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(shapes, shapes, st.integers(-1, 8), st.integers(0, 2), st.lists(edits, max_size=2))
@example([[[]], []], [[[]], []], 2, 0, [("repeat line", 2, 2, b"")])
def test_a_store_that_reads_its_document_again_has_what_one_that_opens_it_has(
    before: JsonValue, after: JsonValue, active: int, start: int, changes: list[Edit]
) -> None:
    data = document(after, active, start)
    for change in changes:
        data = edited(data, change, width=12)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tasks.json")
        put(path, document(before, active))
        store = another(path)
        first = stored(store)
        put(path, data)
        assert stored(store) == stored(another(path))
        put(path, document(before, active))
        assert stored(store) == first
        store.close()


@pytest.mark.requirement("D7", "ST-1")
@given(shapes.filter(bool), st.integers(-1, 8))
def test_what_was_written_is_read_by_its_blocks_and_written_as_the_same_bytes(shape: JsonValue, active: int) -> None:
    data = document(shape, active)
    found = BLOCKS.decode(Source("tasks", data))
    assert BLOCKS.document(found.blocks, found.fields) == data
    known = BLOCKS.decode(Source("tasks", data), {block: root for root, block in found.blocks.items()})
    assert (known.blocks, known.fresh) == (found.blocks, {})


@pytest.mark.requirement("EN-6")
def test_only_the_changed_block_of_a_document_is_read_again() -> None:
    shape: JsonValue = [[[], []]] * 5
    old = BLOCKS.decode(Source("tasks", document([shape, shape], -1)))
    first, second = old.blocks
    data = document([shape, shape], -1).replace(b'"id":"t7","name":"\xc3\xa9[{x"', b'"id":"t7","name":"by another"')
    found = BLOCKS.decode(Source("tasks", data), {block: root for root, block in old.blocks.items()})
    assert [*found.fresh] == [first]
    assert {task.id: task.name for task, _ in found.fresh[first]}["t7"] == "by another"
    assert found.blocks[second] == old.blocks[second]


def chain(levels: int) -> bytes:
    names = [f"L{level}" for level in range(1, levels + 1)]
    lines = [HierarchyTask.model_validate({"id": name, "name": "x"}).to_json() for name in names]
    nodes = [Node(*node) for node in zip(names, [ROOTS, *names], lines, strict=False)]
    return CODEC.document(CODEC.encode(nodes), {})


@pytest.mark.requirement("R1.7")
def test_a_tree_may_be_as_deep_by_its_blocks_as_in_the_whole() -> None:
    data = chain(MAX_LEVELS)
    assert len(data.splitlines()) == MAX_LEVELS + (MAX_LEVELS - 1) + 2
    assert [task.id for task, _ in BLOCKS.decode(Source("tasks", data)).fresh["L1"]][-1] == f"L{MAX_LEVELS}"
    for levels in (MAX_LEVELS + 1, MAX_LEVELS + 2):
        with pytest.raises(ReadAsWhole):
            BLOCKS.decode(Source("tasks", chain(levels)))
    for levels in (MAX_LEVELS, MAX_LEVELS + 1):
        assert outcome(chain(levels), is_whole=False) == outcome(chain(levels), is_whole=True)


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
        pytest.param(b"1.5", b"[" * 100 + b"]" * 100, id="a value that is nested deep"),
    ],
)
def test_what_would_not_be_written_so_is_read_as_a_whole(old: bytes, new: bytes) -> None:
    data = document([[], [], []], -1).replace(b'"done"', b'"todo"')
    assert len(BLOCKS.decode(Source("tasks", data)).blocks) == 3
    with pytest.raises(ReadAsWhole):
        BLOCKS.decode(Source("tasks", data.replace(old, new)))
