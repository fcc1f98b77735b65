"""Strategies for tasks of any tracker."""

from __future__ import annotations

from hypothesis import strategies as st

from task_formats.record import ForeignTask

__all__ = ["TASKS", "json_values"]

_WORD = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=8)
_LINE = st.lists(_WORD, min_size=1, max_size=4).map(" ".join)
_MARKDOWN = st.one_of(st.just(""), st.lists(_LINE, min_size=1, max_size=3).map("\n\n".join))
_TIME = st.datetimes().map(lambda time: f"{time.isoformat()}Z")
_STATES = st.sampled_from(["open", "active", "blocked", "deferred", "review", "done", "cancelled"])

TASKS = st.lists(
    st.builds(
        ForeignTask,
        id=st.one_of(st.from_regex(r"[a-z]{1,4}-[0-9]{1,3}", fullmatch=True), _WORD),
        title=_LINE,
        text=_MARKDOWN,
        state=_STATES,
        status=st.one_of(st.just(""), st.sampled_from(["Pending", "Done", "in_progress"]), _WORD),
        priority=st.sampled_from([None, "critical", "high", "medium", "low"]),
        labels=st.lists(_LINE, max_size=2).map(tuple),
        parent=st.one_of(st.none(), _WORD),
        dependencies=st.lists(_WORD, max_size=2).map(tuple),
        created=st.one_of(st.none(), _TIME),
        updated=st.one_of(st.none(), _TIME),
        closed=st.one_of(st.none(), _TIME),
        due=st.one_of(st.none(), st.dates().map(str), _TIME),
        criteria=st.lists(_LINE, max_size=2).map(tuple),
        notes=st.lists(_LINE, max_size=2).map(tuple),
        result=_MARKDOWN,
        rest=st.dictionaries(st.one_of(st.sampled_from(["assignee", "Comments"]), _WORD), _LINE, max_size=2),
    ),
    max_size=3,
    unique_by=lambda task: task.id.casefold(),
)
"""Lists of tasks with ids of their own; relations may lead nowhere."""


def json_values(names: list[str]) -> st.SearchStrategy[object]:
    """Return a strategy for JSON whose objects have these names."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda values: st.lists(values) | st.dictionaries(st.sampled_from(names), values),
        max_leaves=12,
    )
