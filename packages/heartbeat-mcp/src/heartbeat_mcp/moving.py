"""The to-do list, as ``import --from`` and ``export --to`` need it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, get_args

from pydantic import JsonValue

from heartbeat_mcp.models import IMPORTED, HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.recurrence import parse_moment
from heartbeat_mcp.service import HeartbeatService
from task_core.fields import MAX_TEXT
from task_core.models import format_timestamp
from task_core.moving import ORIGIN, Arrival, Home, Imported, read_moment
from task_core.store import Transaction
from task_formats.record import ForeignTask, Priority, State

__all__ = ["HeartbeatMover"]

_STATES: Final[Mapping[HeartbeatStatus, State]] = {
    HeartbeatStatus.PENDING: "open",
    HeartbeatStatus.RUNNING: "active",
    HeartbeatStatus.COMPLETE: "done",
    HeartbeatStatus.FAIL: "cancelled",
}

_PRIORITIES: Final[Mapping[str, Priority]] = {word: word for word in get_args(Priority)}


class HeartbeatMover:
    """The tasks of one list; what has no field of its own becomes extra fields."""

    home = Home(
        statuses={state: status.value for status, state in _STATES.items()},
        held=("created", "updated", "closed", "due", "criteria", "notes", "result"),
        priorities=_PRIORITIES,
        max_title=MAX_TEXT,
        max_text=MAX_TEXT // 2,
        keeps_rest=True,
    )

    def __init__(self, service: HeartbeatService, path: Path | None) -> None:
        self.path = path
        self.transaction = service.transaction
        self._service = service

    def imported(self, work: Transaction[HeartbeatTask]) -> dict[str, Imported]:
        """Return the tasks with an origin, by that, archived ones too."""
        tasks = ((task.extra_fields.get(ORIGIN), task) for task in self._service.select_all(work))
        return {origin: Imported(it.id, _export(it).title) for origin, it in tasks if isinstance(origin, str)}

    def settle(
        self, _: Transaction[HeartbeatTask], tasks: Sequence[ForeignTask]
    ) -> tuple[list[ForeignTask], list[str]]:
        """Return the tasks as they are: a list has no rules for them."""
        return [*tasks], []

    def add(self, work: Transaction[HeartbeatTask], arrivals: Iterable[Arrival], _: Mapping[str, str]) -> list[str]:
        """Add the tasks."""
        for arrival in arrivals:
            task, now = arrival.task, work.next_moment()
            status = HeartbeatStatus(self.home.status(task.state))
            created = read_moment(task.created, now) or now
            ended = read_moment(task.closed or task.updated, now) or now
            extra: dict[str, JsonValue] = {ORIGIN: arrival.origin}
            extra |= {name: it for name in ("priority", "due") if (it := getattr(task, name))}
            rest = dict[str, JsonValue](arrival.rest)
            extra |= {IMPORTED: format_timestamp(now)} if status.is_finished else {}
            extra |= {f"from_{arrival.origin.partition(':')[0]}": rest} if rest else {}
            work.add(
                HeartbeatTask(
                    id=self._service.new_id(work),
                    status=status,
                    raw_user_request="\n\n".join(filter(None, (task.title, task.text))),
                    ideas=(*task.criteria, *task.notes),
                    result=task.result or None,
                    created_at=created,
                    updated_at=max(created, read_moment(task.updated, now) or created),
                    completed_at=max(created, ended) if status.is_finished else None,
                    extra_fields=extra,
                )
            )
        return []

    def tasks(self) -> list[ForeignTask]:
        """Return all tasks, archived ones too, the oldest first."""
        with self._service.open_snapshot() as tasks:
            return [_export(task) for task in self._service.select_all(tasks)]


def _export(task: HeartbeatTask) -> ForeignTask:
    title, _, text = task.raw_user_request.strip().partition("\n")
    fields: dict[str, JsonValue] = {}
    for name, value in task.extra_fields.items():
        fields |= value if name.startswith("from_") and isinstance(value, dict) else {name: value}
    fields.pop(IMPORTED, None)
    extra = {name: it if isinstance(it, str) else json.dumps(it) for name, it in fields.items()}
    rest = {"raw_reference": task.raw_reference or "", "result_file": task.result_file or "", **extra}
    priority = _PRIORITIES.get(rest.get("priority", ""))
    labels = rest.pop("labels", "").split(", ")
    due = rest.pop("due") if parse_moment(rest.get("due")) else None
    return ForeignTask(
        id=task.id,
        title=title.strip(),
        text=text.strip(),
        state=_STATES[task.status],
        status=task.status.value,
        priority=priority,
        labels=tuple(filter(None, labels)),
        created=format_timestamp(task.created_at),
        updated=format_timestamp(task.updated_at),
        closed=format_timestamp(task.completed_at) if task.completed_at else None,
        due=due,
        notes=task.ideas,
        result=task.result or "",
        rest={name: value for name, value in rest.items() if value and not (priority and name == "priority")},
    )
