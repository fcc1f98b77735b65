"""The document of a tree: whatever is read is written again as the same, and a store that reads it again agrees."""

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
from task_core.document_file.source import Source
from task_core.errors import TaskError
from task_core.store import ROOTS, Store, open_store
from task_core.store.codec import Decoded
from task_core.store.collection import Node
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
    return CODEC.document(CODEC.decode(Source("written", text)).blocks, {})


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


@pytest.mark.requirement("L1", "L2", "ST-3")
@settings(max_examples=40)
@given(shapes.filter(bool), st.integers(-1, 8), st.lists(edits, max_size=3))
@example([[]], -1, [("put", 0, 2, b"[\n]}\n")])
@example([[], []], -1, [("insert", 2, 0, b"]}\n")])
@example([[[]]], 1, [("repeat line", 2, 2, b"")])
@example([[[]], []], 2, [("put", 78, 4, b"in_progress")])
def test_however_a_document_is_edited_it_is_refused_or_written_as_what_was_read(
    shape: JsonValue, active: int, changes: list[Edit]
) -> None:
    data = document(shape, active)
    for change in changes:
        data = edited(data, change, width=12)
    try:
        found = CODEC.decode(Source("tasks", data))
    except TaskError:
        return
    nodes = [Node(task.id, parent, task.to_json()) for block in found.records.values() for task, parent in block]
    assert CODEC.encode(nodes) == found.blocks
    again = CODEC.decode(Source("tasks", CODEC.document(found.blocks, found.fields)))
    assert (again.blocks, again.records, again.notes) == (found.blocks, found.records, ())


@pytest.mark.requirement("D7", "EN-6", "L2", "ST-2", "ST-3")
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
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


class CountingCodec(ForestCodec):
    """Counts the tasks that it decodes."""

    count = 0

    @override
    def decode(self, source: Source) -> Decoded[HierarchyTask]:
        found = super().decode(source)
        self.count += found.count
        return found


@pytest.mark.requirement("D7", "EN-6")
def test_a_store_decodes_only_the_trees_that_another_process_changed_and_the_one_in_progress(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    put(path, document([[[]], [[], []], [[], [], []]], active=1))
    codec = CountingCodec(KIND)
    store = open_store(HierarchySettings(file_path=path, task_fsync=False), codec, WarningList())
    stored(store)
    assert codec.count == 9
    with another(path).transaction() as tasks:
        tasks.replace(tasks.get("t3").changed(name="new"))
    assert stored(store) == stored(another(path))
    assert codec.count == 9 + 2 + 3


@pytest.mark.requirement("EN-6", "ST-3", "R3.4")
@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"t1","name":"a subtask of the first tree has this id","status":"todo","tasks":[]}',
        b'{"id":"new","name":"a second one","status":"in_progress","tasks":[]}',
    ],
)
def test_a_new_tree_is_checked_against_those_that_stay(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "tasks.json"
    data = document([[[]], []], active=2)
    put(path, data)
    store = another(path)
    first = stored(store)
    (block,) = CODEC.decode(Source("new", b"[" + line + b"]")).blocks.values()
    put(path, data.replace(b"\n]\n", b",\n" + block + b"\n]\n"))
    assert stored(store) == stored(another(path)) != first


def chain(levels: int) -> bytes:
    names = [f"L{level}" for level in range(1, levels + 1)]
    lines = [HierarchyTask.model_validate({"id": name, "name": "x"}).to_json() for name in names]
    nodes = [Node(*node) for node in zip(names, [ROOTS, *names], lines, strict=False)]
    return CODEC.document(CODEC.encode(nodes), {})


@pytest.mark.requirement("R1.7", "ST-1")
def test_a_tree_may_be_as_deep_as_the_limit_and_comes_back_byte_for_byte() -> None:
    data = chain(MAX_LEVELS)
    assert len(data.splitlines()) == MAX_LEVELS + (MAX_LEVELS - 1) + 2
    assert CODEC.rewrite(Source("tasks", data)) == (data, MAX_LEVELS, ())
    with pytest.raises(TaskError):
        CODEC.decode(Source("tasks", chain(MAX_LEVELS + 1)))
