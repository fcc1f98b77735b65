"""Plans of the calling model: what it is shown, and what its plan becomes (TM-64 to TM-72, TM-74)."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from task_core.text import fold
from taskmaster_mcp.core.creating import add_subtask, add_task
from taskmaster_mcp.core.graph import add_dependency, build_graph
from taskmaster_mcp.core.items import JsonObject, ProjectItem, TagTasks
from taskmaster_mcp.core.moving import Dropped, clear_subtasks
from taskmaster_mcp.core.stored_words import REFERENCE
from taskmaster_mcp.errors import BadValue, Refused

__all__ = [
    "Ask",
    "Planned",
    "add_subtasks",
    "add_tasks",
    "check_expandable",
    "check_revision",
    "find_open",
    "find_related",
    "hash_values",
]

_MAX_RELATED: Final = 8

_WORD: Final = re.compile(r"\w{4,}")
"""A word that says what a task is about."""


class Planned(NamedTuple):
    """A task or subtask of a plan."""

    fields: Mapping[str, JsonValue]
    dependencies: Sequence[str] = ()
    """positions in the plan, from 1, or ids with a dot"""


class Ask(NamedTuple):
    """The arguments of a call besides its plan."""

    arguments: JsonObject
    """all that the caller gave, for the call that is to be made"""
    num: int | None = None
    prompt: str = ""
    telemetry: JsonObject | None = None
    """the cost of thinking as the caller reports it; it is returned and never kept"""


def hash_values(*values: JsonValue) -> str:
    """Return a hash of what a plan is based on (TM-65)."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def check_revision(revision: str | None, value: JsonValue) -> None:
    """Raise ``Refused`` unless ``value`` is as it was when a plan was asked for, if the plan says so (TM-65)."""
    if revision is not None and revision != hash_values(value):
        raise Refused("STALE")


def find_open(tasks: TagTasks, start: str) -> list[ProjectItem]:
    """Return the tasks from the id ``start`` on that are neither done nor cancelled (TM-67).

    Numbers, and decimals too, are compared; a task whose id is neither is among them if it comes later in the file.
    """
    found, first = tasks.tasks, tasks.index().get(start)
    if first is None and not REFERENCE.fullmatch(start):
        first = tasks.get(start.partition(".")[0])
    task = (first.parent or first) if first else None
    place, own = (found.index(task), task.id) if task else (0, start.partition(".")[0])

    def is_from(it: ProjectItem) -> bool:
        if REFERENCE.fullmatch(it.id) and REFERENCE.fullmatch(own):
            return [*map(int, it.id.split("."))] >= [*map(int, own.split("."))]
        return it in found[place:]

    return [it for it in found if not it.is_settled and is_from(it)]


def find_related(tasks: TagTasks, prompt: str) -> list[ProjectItem]:
    """Return the tasks that share most words with ``prompt``, at most eight; then the latest (TM-66)."""
    wanted = {*_WORD.findall(fold(prompt))}

    def order(item: ProjectItem) -> tuple[int, int]:
        words = {*_WORD.findall(fold(f"{item.title} {item.text('description')}"))}
        return len(words & wanted), item.number or 0

    return sorted(tasks.tasks, key=order, reverse=True)[:_MAX_RELATED]


def check_expandable(task: ProjectItem) -> None:
    """Check that ``task`` can be split: that it is not a subtask, nor done or cancelled."""
    if task.is_subtask:
        raise BadValue("id", "give the id of a task, not of a subtask")
    if task.is_settled:
        raise Refused("TASK_CLOSED", id=task.id, status=task.status)


def add_subtasks(
    tasks: TagTasks, plans: Sequence[tuple[ProjectItem, Sequence[Planned]]], *, force: bool = False
) -> Dropped:
    """Add the subtasks of plans, each after those that its task has, or with ``force`` in their place (TM-68, TM-69).

    Return the dependencies on replaced subtasks, which are dropped.
    """
    for task, _ in plans:
        check_expandable(task)
    dropped = clear_subtasks(tasks, [task for task, _ in plans]) if force else []
    added = [([add_subtask(tasks, task, planned.fields) for planned in plan], plan) for task, plan in plans]
    _connect(tasks, added)
    return dropped


def add_tasks(tasks: TagTasks, plan: Sequence[Planned]) -> list[ProjectItem]:
    """Add the tasks of a plan (TM-70)."""
    added = [add_task(tasks, planned.fields) for planned in plan]
    _connect(tasks, [(added, plan)])
    return added


def _connect(tasks: TagTasks, plans: Sequence[tuple[Sequence[ProjectItem], Sequence[Planned]]]) -> None:
    """Add the dependencies of plans to the items made of them."""
    graph, known = build_graph(tasks, inherits=True), tasks.index()
    for added, plan in plans:
        for number, (item, planned) in enumerate(zip(added, plan, strict=True), 1):
            for target in dict.fromkeys(planned.dependencies):
                if not target.isdecimal():
                    add_dependency(tasks, item, (known.get(target) or tasks.get(target)).id, graph)
                    continue
                place = int(target)
                if not 0 < place <= len(added):
                    field = f"{number}.dependencies"
                    raise BadValue(field, f"{place} is not a position in this list of {len(added)} entries")
                add_dependency(tasks, item, added[place - 1].id, graph)
            tasks.touched.pop(item, None)
