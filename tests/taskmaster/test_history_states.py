"""From the changes of a project alone, each of its earlier states (AG-21)."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.document_file.source import Source
from task_core.history.changes import Change
from taskmaster_mcp.codec import CODEC, TagDocument
from taskmaster_mcp.project.project import put_tag
from taskmaster_mcp.project.tag_history import compare, undo
from tests.taskmaster.conftest import Object

WORDS = st.sampled_from(["a", "b", None, [1], {"c": 2}])
# Left out: a task "2.1" beside the subtask 1 of 2, and a task "x:1" of "a" beside the task 1 of "a:x".
TASK_IDS = st.sampled_from([1, 2, 3, 4, "v.1", "z:y"])
SUBTASK_IDS = st.sampled_from([1, 2, "1.2", "q.r", "z:y"])
SUBTASK = st.fixed_dictionaries({"id": SUBTASK_IDS}, optional={"status": WORDS, "details": WORDS})
SUBTASKS = st.lists(SUBTASK, max_size=4)
TASK = st.fixed_dictionaries({"id": TASK_IDS}, optional={"status": WORDS, "subtasks": SUBTASKS | WORDS})
TASKS = st.lists(TASK, max_size=5) | st.lists(TASK, max_size=5, unique_by=lambda task: str(task["id"]))
TAG = st.fixed_dictionaries({"tasks": TASKS}, optional={"metadata": st.fixed_dictionaries({}, optional={"a": WORDS})})
STATE = st.dictionaries(st.sampled_from(["master", "a", "a:x", "b"]), TAG, min_size=1)
STATES = st.lists(STATE, min_size=2, max_size=4)


def read(state: Object) -> TagDocument:
    return CODEC.read(Source("tasks.json", json.dumps(state, indent=2).encode()))


@pytest.mark.requirement("AG-21")
@settings(max_examples=50)
@given(STATES)
def test_undoing_every_change_in_turn_leads_back_to_the_first_state(found: list[Object]) -> None:
    states = found[:1]
    for state in found[1:]:  # the order of tags that stay is not in the history
        states.append({**{name: state[name] for name in states[-1] if name in state}, **state})
    changes = [Change(1, "", "", compare(read(old), read(new))) for old, new in pairwise(states)]
    work = read(states[-1])
    for change, state in reversed([*zip(changes, states, strict=False)]):
        if change.steps:
            undo(work, Change.parse(1, 1, change.to_json()), put_tag, "now")
        assert json.loads(work.data) == state
        assert work.tags == [*state]
