"""A store that was edited in haste, with a HEARTBEAT.md beside it: both come to rest, and neither loses a task."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from heartbeat_mcp.server import build_server
from heartbeat_mcp.settings import HeartbeatSettings
from task_core.server.app import TaskServer
from tests.stores.shops import SHOPS, Object
from tests.stores.test_mutations import edits, new_path, refused, traces

HEARTBEAT = SHOPS[0]

IDS = st.one_of(
    st.sampled_from(
        ["a", "A", " ", "-->", "a --> b", "a\n- [Running] b: c", "[x]", "## TODO", "b:", "<!--", "\0", "…"]
    ),
    st.text(min_size=1, max_size=8),
)
"""Ids that a person or another program may have written."""

TEXTS = st.one_of(
    st.text(max_size=30), st.sampled_from(["```", "- [ ] x", "<!-- task_id: a -->", "\n## TODO\n", "1. x", "\\n"])
)


def mirrored(path: Path) -> TaskServer:
    files = {"heartbeat_file_path": path.with_name("HEARTBEAT.md"), "heartbeat_state_path": path, "task_fsync": False}
    return build_server(HeartbeatSettings.model_validate(files), rng=Random(7))


def listed(path: Path) -> list[JsonValue]:
    tasks = HEARTBEAT.call(mirrored(path), "task_list", include_archived=True)["tasks"]
    assert isinstance(tasks, list)
    return tasks


def files_of(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def come_to_rest(path: Path) -> None:
    """After the first server that sees them nothing changes any more."""
    first = listed(path)
    at_rest = files_of(path)
    for _ in range(2):
        assert listed(path) == first
        assert files_of(path) == at_rest


@pytest.mark.requirement("H5", "HB-9", "HB-11", "ST-3")
@settings(max_examples=4)
@given(
    tasks=st.lists(
        st.tuples(IDS, TEXTS, st.sampled_from(["Pending", "Running"])), max_size=4, unique_by=lambda task: task[0]
    )
)
@example(tasks=[("<", "", "Pending"), (">", "", "Pending"), ("a-->", "x", "Running")])
def test_whatever_the_ids_and_texts_a_store_and_its_mirror_come_to_rest(tasks: list[tuple[str, str, str]]) -> None:
    items: list[Object] = [HEARTBEAT.task(task_id, text, status=status) for task_id, text, status in tasks]
    data = HEARTBEAT.data(*items)
    with new_path(data) as path:
        listed(path)
        come_to_rest(path)
        assert traces(HEARTBEAT, path.read_bytes()) == traces(HEARTBEAT, data)


@pytest.mark.requirement("H5", "L1", "ST-3", "P2")
@settings(max_examples=4)
@given(data=edits(HEARTBEAT))
def test_hasty_edits_come_to_rest_beside_a_mirror(data: bytes) -> None:
    with new_path(HEARTBEAT.data(HEARTBEAT.task("a", "one"), HEARTBEAT.task("kept", "two"))) as path:
        listed(path)
        path.write_bytes(data)
        before = files_of(path)
        if refused(HEARTBEAT, mirrored(path)):
            assert files_of(path) == before
            return
        come_to_rest(path)
        assert set(traces(HEARTBEAT, data)) <= set(traces(HEARTBEAT, path.read_bytes())) | archived(path)


def archived(path: Path) -> set[str]:
    """Return the texts of the tasks that were cleaned out of the store."""
    archive = path.with_name("heartbeat_archive.jsonl")
    lines = archive.read_bytes().splitlines() if archive.exists() else ()
    return {json.dumps(json.loads(line)["raw_user_request"]) for line in lines}
