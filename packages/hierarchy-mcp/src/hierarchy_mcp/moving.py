"""Trees of tasks, as ``import --from`` and ``export --to`` need them (MV-5)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from hierarchy_mcp.models import HierarchyStatus, HierarchyTask, derive_status
from hierarchy_mcp.summary import walk
from hierarchy_mcp.tree import active_leaves, choose_id, settle
from task_core.fields import MAX_LINE, MAX_TEXT
from task_core.moving import ORIGIN, Arrival, Home, Imported
from task_core.store import ROOTS, Selection, Store, Transaction
from task_formats.arranging import sort_by_needs
from task_formats.record import ForeignTask, State

__all__ = ["HierarchyMover"]

_STATES: Final[Mapping[HierarchyStatus, State]] = {
    HierarchyStatus.TODO: "open",
    HierarchyStatus.IN_PROGRESS: "active",
    HierarchyStatus.DONE: "done",
}


class HierarchyMover:
    """The trees of one store; siblings are ordered by what they wait for."""

    home = Home(
        statuses={
            **{state: status.value for status, state in _STATES.items()},
            "cancelled": HierarchyStatus.DONE.value,
        },
        held=("parent", "criteria", "result"),
        priorities={},
        max_title=MAX_LINE,
        max_text=MAX_TEXT,
    )

    def __init__(self, store: Store[HierarchyTask], path: Path | None, rng: Random) -> None:
        self.path = path
        self.transaction = store.transaction
        self._store = store
        self._rng = rng

    def imported(self, work: Transaction[HierarchyTask]) -> dict[str, Imported]:
        """Return the tasks with an origin, by that."""
        found = (((task.model_extra or {}).get(ORIGIN), task) for task in work.select(Selection()))
        return {origin: Imported(task.id, task.name) for origin, task in found if isinstance(origin, str)}

    def settle(
        self, work: Transaction[HierarchyTask], tasks: Sequence[ForeignTask]
    ) -> tuple[list[ForeignTask], list[str]]:
        """Return the tasks with siblings in the order in which they can be done, and one active leaf at most.

        The status of a parent follows from its subtasks, and an edge between two places in the trees stays as text.
        """
        known = {task.id: task for task in tasks}
        notes = [
            f"{task.id} waits for {name}, which is in another place: the order of the trees does not show that"
            for task in tasks
            for name in task.dependencies
            if name in known and known[name].parent != task.parent
        ]
        settled = _sort(tasks)
        below = _children(settled)
        has_active = bool(active_leaves(work))
        for place, task in enumerate(settled):
            if task.state == "active" and task.id not in below:
                if has_active:
                    notes.append(f"{task.id} is todo: only one task may be in progress")
                    rest = {**task.rest, "status": task.status or task.state}
                    settled[place] = replace(task, state="open", rest=rest)
                has_active = True
        statuses = self._statuses(settled, below)
        notes += [
            f"{task.id} is {statuses[task.id].value}, as its subtasks say, not {task.status or task.state}"
            for task in settled
            if task.id in below and (statuses[task.id] is HierarchyStatus.DONE) != (task.state in {"done", "cancelled"})
        ]
        return settled, notes

    def add(self, work: Transaction[HierarchyTask], arrivals: Iterable[Arrival], ids: Mapping[str, str]) -> list[str]:
        """Add the trees, each task under its id in the source if that is free."""
        tasks = [arrival.task for arrival in arrivals]
        statuses = self._statuses(tasks, _children(tasks))
        found = dict(ids)
        for arrival in arrivals:
            task = arrival.task
            found[task.id] = choose_id(work, task.id, self._rng)
            new = HierarchyTask(
                id=found[task.id],
                name=task.title,
                description=task.text or None,
                status=statuses[task.id],
                completion_criteria=task.criteria,
                resolution=task.result or None,
            )
            work.add(new.changed(**{ORIGIN: arrival.origin}), found[task.parent] if task.parent else ROOTS)
        for parent in {task.parent for task in tasks if task.parent in ids}:
            name = ids[parent]
            settle(work, [*work.ancestors(name), work.get(name)])
        return []

    def tasks(self) -> list[ForeignTask]:
        """Return all tasks, each followed by what is below it."""
        with self._store.read() as tasks:
            return [_export(task, parent.id if parent else None) for task, parent in walk(tasks)]

    def _statuses(
        self, tasks: Sequence[ForeignTask], below: Mapping[str | None, Sequence[str]]
    ) -> dict[str, HierarchyStatus]:
        """Return the status of each task; parents come first, and theirs follow from what is ``below``."""
        found: dict[str, HierarchyStatus] = {}
        for task in reversed(tasks):
            states = {found[name] for name in below.get(task.id, ())}
            found[task.id] = derive_status(states) if states else HierarchyStatus(self.home.status(task.state))
        return found


def _children(tasks: Sequence[ForeignTask]) -> dict[str | None, list[str]]:
    below: dict[str | None, list[str]] = {}
    for task in tasks:
        below.setdefault(task.parent, []).append(task.id)
    return below


def _sort(tasks: Sequence[ForeignTask]) -> list[ForeignTask]:
    """Return the tasks, each followed by what is below it, siblings by what they wait for."""
    known = {task.id: task for task in tasks}
    needs = {task.id: task.dependencies for task in tasks}
    below = {parent: sort_by_needs(names, needs) for parent, names in _children(tasks).items()}
    waiting = [name for parent, names in below.items() if parent not in known for name in names][::-1]
    found: list[ForeignTask] = []
    while waiting:
        name = waiting.pop()
        found.append(known[name])
        waiting.extend(reversed(below.get(name, [])))
    return found


def _export(task: HierarchyTask, parent: str | None) -> ForeignTask:
    extra = task.model_extra or {}
    rest = {name: it if isinstance(it, str) else json.dumps(it) for name, it in extra.items()}
    return ForeignTask(
        id=task.id,
        title=task.name,
        text=task.description or "",
        state=_STATES[task.status],
        status=task.status.value,
        parent=parent,
        criteria=task.completion_criteria,
        result=task.resolution or "",
        rest=rest | ({"constraints": "\n".join(task.constraints)} if task.constraints else {}),
    )
