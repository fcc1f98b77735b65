"""A person's tasks, as ``import --from`` and ``export --to`` need them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Final

from task_core.models import format_timestamp
from task_core.moving import ORIGIN, Arrival, Home, Imported, read_moment
from task_core.store import Selection, Store, Transaction
from task_formats.record import ForeignTask, State
from tasks_v1_mcp.models import Priority, StoredTask, V1Status
from tasks_v1_mcp.service import new_id

__all__ = ["TasksMover"]

_MAX_TAGS: Final = 20
_MAX_TAG: Final = 50
"""The bounds of ``create_task``."""

_STEP: Final = timedelta(microseconds=1)
"""The step between the ids of tasks that were created at one time: it keeps their order, and no two ids meet."""

_STATES: Final[Mapping[V1Status, State]] = {
    V1Status.PENDING: "open",
    V1Status.IN_PROGRESS: "active",
    V1Status.DONE: "done",
    V1Status.CANCELED: "cancelled",
}


class TasksMover:
    """The tasks of one store."""

    home = Home(
        statuses={state: status.value for status, state in _STATES.items()},
        held=("labels", "created", "updated"),
        priorities={"critical": "high", **{it.value: it.value for it in Priority}},
        max_title=200,
        max_text=4_000,
    )

    def __init__(self, store: Store[StoredTask], path: Path | None, rng: Random) -> None:
        self.path = path
        self.transaction = store.transaction
        self._store = store
        self._rng = rng

    def imported(self, work: Transaction[StoredTask]) -> dict[str, Imported]:
        """Return the tasks with a source, by that."""
        return {task.source: Imported(task.id, task.title) for task in work.select(Selection()) if task.source}

    def settle(self, _: Transaction[StoredTask], tasks: Sequence[ForeignTask]) -> tuple[list[ForeignTask], list[str]]:
        """Return the tasks with the labels that can be tags; the others become text."""
        settled: list[ForeignTask] = []
        for task in tasks:
            wanted = dict.fromkeys(label for label in task.labels if label.strip() and len(label) <= _MAX_TAG)
            kept = [*wanted][:_MAX_TAGS]
            others = [label for label in dict.fromkeys(task.labels) if label not in kept]
            rest = {**task.rest, "labels": ", ".join(others)} if others else task.rest
            settled.append(replace(task, labels=tuple(kept), rest=rest))
        return settled, []

    def add(self, work: Transaction[StoredTask], arrivals: Iterable[Arrival], _: Mapping[str, str]) -> list[str]:
        """Add the tasks."""
        for place, arrival in enumerate(arrivals):
            task, now = arrival.task, work.next_moment()
            created = read_moment(task.created, now) or now
            updated = max(created, read_moment(task.updated or task.closed, now) or created)
            work.add(
                StoredTask(
                    id=new_id(created + place * _STEP, work, self._rng),
                    title=task.title,
                    description=task.text or None,
                    status=V1Status(self.home.status(task.state)),
                    priority=Priority(self.home.priorities[task.priority or "medium"]),
                    tags=task.labels,
                    source=arrival.origin,
                    created_at=created,
                    updated_at=updated,
                )
            )
        return []

    def tasks(self) -> list[ForeignTask]:
        """Return all tasks, the oldest first."""
        with self._store.read() as tasks:
            return [_export(task) for task in tasks.select(Selection())]


def _export(task: StoredTask) -> ForeignTask:
    rest = {"category": task.category.value, "topic_id": task.topic_id or "", ORIGIN: task.source or ""}
    return ForeignTask(
        id=task.id,
        title=task.title,
        text=task.description or "",
        state=_STATES[task.status],
        status=task.status.value,
        priority=task.priority.value,
        labels=task.tags,
        created=format_timestamp(task.created_at),
        updated=format_timestamp(task.updated_at),
        rest={name: value for name, value in rest.items() if value},
    )
