"""One task as the details show it: whatever fields it has, without knowing any of them."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise, takewhile
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from task_board.markdown import is_plain
from task_board.stores import BoardStore, Snapshot
from task_core.view import Action, Line

__all__ = [
    "HEADING",
    "DetailRow",
    "count_below",
    "digest",
    "find_line",
    "find_parent",
    "label_id",
    "list_children",
    "list_places",
    "list_rows",
    "list_sources",
    "list_steps",
]

_SHORT_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,9})*")

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*(?:Z|\+00:00)")

_SHOWN_ABOVE: Final = frozenset({"id", "status", "parent"})
"""Fields that the details show elsewhere."""


HEADING: Final = 200
"""Characters of a task's text that its heading shows."""


class DetailRow(NamedTuple):
    """One field of a task."""

    name: str
    kind: str
    """``text``, ``texts``, ``moment``, ``tasks`` or ``data``"""
    value: Any


def list_rows(task: Mapping[str, JsonValue], heading: str = "", needed: Sequence[Line] = ()) -> list[DetailRow]:
    """Return the fields of a task that hold something, in its own order; not the one that the ``heading`` shows.

    ``needed`` are the tasks that its dependencies name.
    """
    empty: tuple[JsonValue, ...] = (None, "", [], {})
    is_whole = len(heading) <= HEADING and is_plain(heading)
    title = next((name for name, value in task.items() if value == heading), "") if is_whole else ""
    left_out = {*_SHOWN_ABOVE, title}
    linked = [{"id": line.id, "status": line.status, "name": line.text} for line in needed]
    fields = {**task, "dependencies": linked} if linked and "dependencies" in task else task
    return [_row(name, value) for name, value in fields.items() if name not in left_out and value not in empty]


def _row(name: str, value: JsonValue) -> DetailRow:
    if isinstance(value, str):
        moment = _MOMENT.fullmatch(value)
        return (
            DetailRow(name, "moment", (value, f"{moment[1]} {moment[2]} UTC"))
            if moment
            else DetailRow(name, "text", value)
        )
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return DetailRow(name, "texts", value)
    if isinstance(value, list) and all(isinstance(item, dict) and "id" in item for item in value):
        return DetailRow(name, "tasks", value)
    return DetailRow(name, "data", json.dumps(value, ensure_ascii=False, indent=2))


def list_steps(store: BoardStore, line: Line) -> list[Action]:
    """Return the changes of status, and removals, that are offered for a task."""
    tasks, steps = store.tasks(), store.actions.steps
    is_parent, is_early = count_below(tasks, line.id) > 0, _is_early(store, tasks, line)
    offered = [step for step in steps if not (step.is_for_leaves and is_parent)]
    offered = [step for step in offered if not step.sources or line.status in step.sources]
    return [step for step in offered if not (is_early and line.status in step.in_order)]


def _is_early(store: BoardStore, tasks: Snapshot, line: Line) -> bool:
    """Return whether a sibling before the task, or before one above it, is not finished; not all roots are ordered."""
    path = [-1] if getattr(store.view, "has_ordered_roots", False) else []
    path += [tasks.places[task.id] for task in (*tasks.above(line.id), tasks.line(line.id)) if task]
    before = ([other for other in tasks.below[above] if other < place] for above, place in pairwise(path))
    return any(tasks.lines[other].status not in store.view.finished for siblings in before for other in siblings)


def count_below(tasks: Snapshot, task_id: str, statuses: Collection[str] = ()) -> int:
    """Return how many tasks are below one, with one of ``statuses`` if there are any."""
    place = tasks.places.get(task_id)
    if place is None:
        return 0
    return sum(not statuses or line.status in statuses for line in _list_below(tasks, place))


def _list_below(tasks: Snapshot, place: int) -> Iterator[Line]:
    depth = tasks.lines[place].depth
    return takewhile(lambda line: line.depth > depth, islice(tasks.lines, place + 1, None))


def label_id(task_id: str) -> str:
    """Return an id as people write it: "#" before a number."""
    return f"#{task_id}" if _SHORT_NUMBER.fullmatch(task_id) else task_id


def list_sources(store: BoardStore, status: str) -> list[str]:
    """Return the statuses from which a task can get this one."""
    steps = [step for step in store.actions.steps if step.status == status]
    return sorted({source for step in steps for source in step.sources or store.view.statuses})


def find_parent(tasks: Snapshot, task_id: str) -> str:
    """Return the id of the task above one, or nothing at the top level."""
    above = tasks.parents[tasks.places[task_id]]
    return tasks.lines[above].id if above >= 0 else ""


def list_children(tasks: Snapshot, above: int) -> list[str]:
    """Return the ids of all tasks right below the one with an index, or of the top level for -1, in their order."""
    return [tasks.lines[place].id for place in tasks.below.get(above, ())]


def list_places(store: BoardStore, task_id: str) -> list[tuple[str, Mapping[str, str]]]:
    """Return the moves in the tree that are offered for a task: the key of each label, and what the page sends."""
    tasks, below, on_top = store.tasks(), store.actions.place_below, store.actions.place_on_top
    if not below or not on_top or task_id not in tasks.places:
        return []
    parent = find_parent(tasks, task_id)
    siblings = list_children(tasks, tasks.parents[tasks.places[task_id]])
    index = siblings.index(task_id)
    found: list[tuple[str, Mapping[str, str]]] = []
    if below.index and index:
        found.append(("page.up", {"parent": parent, "before": siblings[index - 1]}))
    if below.index and siblings[index + 1 :]:
        found.append(("page.down", {"parent": parent, "after": siblings[index + 1]}))
    if parent:
        found.append(("page.level_up", {"parent": find_parent(tasks, parent), "after": parent if below.index else ""}))
    place = tasks.places[task_id]
    deepest = max([tasks.lines[place].depth, *(line.depth for line in _list_below(tasks, place))])
    if index and store.actions.allows(deepest + 2):
        found.append(("page.below_previous", {"parent": siblings[index - 1]}))
    fixed = {"id": task_id, "was_parent": parent}
    return [(key, {"action": (below if to["parent"] else on_top).name, **fixed, **to}) for key, to in found]


def find_line(store: BoardStore, task_id: str, task: Mapping[str, JsonValue]) -> Line:
    """Return the line of a task, also of one that no list shows, such as an archived one."""
    found = store.tasks().line(task_id)
    return found or Line(task_id, str(task.get("status", "")), task_id)


def digest(task: Mapping[str, JsonValue]) -> str:
    """Return a value that differs after every change of the task."""
    return hashlib.sha256(json.dumps(task, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
