"""Run the tools of the specification against the installed ``tasks-v1-mcp`` through the MCP Inspector.

Each group of cases has a server of its own, so that the tasks outlast restarts too. Prints one table and returns a
non-zero exit code when a case fails.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from inspector.inspector_cli import Answer, Inspector, member
from inspector.pinned import server_command
from inspector.report import Part, Report, run

TITLE: Final = "研究航天产业的成本结构"
SAMPLE: Final = {
    "title": TITLE,
    "description": "聚焦发射成本的主要驱动因素、可复用火箭的影响、主要玩家对比。",
    "category": "tech",
    "priority": "high",
    "tags": ["space", "launch_cost"],
    "topic_id": "space_industry",
    "source": "capture_idea",
}
MISSING: Final = "task_000000000000"
FIELDS: Final = [
    "id",
    "title",
    "description",
    "category",
    "status",
    "priority",
    "tags",
    "topic_id",
    "source",
    "created_at",
    "updated_at",
]


class StoreInspector(Inspector):
    """A store in a fresh folder, and calls of the server over it in one era of the protocol."""

    def __init__(self, folder: Path, era: str) -> None:
        self.store = folder / "tasks" / "tasks.json"
        super().__init__([server_command("tasks-v1-mcp")], {"TASKS_FILE_PATH": str(self.store)}, era)

    @property
    def stored(self) -> dict[object, object]:
        """The tasks of the store file, by id."""
        tasks = member(json.loads(self.store.read_bytes()), "tasks")
        return {member(task, "id"): task for task in tasks} if isinstance(tasks, list) else {}


def task_of(answer: Answer, *names: str) -> object:
    """Return the task in the result, or a field of it."""
    return member(answer.result, "task", *names)


def text_of(answer: Answer, name: str) -> str:
    """Return one field of the task in the result as text."""
    return str(task_of(answer, name))


def listed(answer: Answer) -> list[object]:
    """Return the titles of the tasks in the result, in order."""
    tasks = member(answer.result, "tasks")
    return [member(task, "title") for task in tasks] if isinstance(tasks, list) else []


def is_stored(inspector: StoreInspector, answer: Answer) -> bool:
    """Tell whether the store has the task just as it was answered; what the store keeps besides is its own."""
    task, kept = task_of(answer), inspector.stored.get(task_of(answer, "id"))
    return isinstance(task, dict) and isinstance(kept, dict) and kept | task == kept


def create(report: Report, inspector: StoreInspector) -> str:
    """[V1-1] Create the sample of the specification, and a task with a title alone; return the id of the sample."""
    answer = inspector.call_exactly("create_task", SAMPLE)
    report.case(
        "create_task, sample of the specification",
        "exit 0",
        answer,
        id_has_its_form=re.fullmatch(r"task_[0-9A-HJKMNP-TV-Z]{12}", text_of(answer, "id")) is not None,
        fields_as_given=[task_of(answer, name) for name in SAMPLE] == list(SAMPLE.values()),
        pending=task_of(answer, "status") == "pending",
        times_in_utc=text_of(answer, "created_at").endswith("Z")
        and task_of(answer, "created_at") == task_of(answer, "updated_at"),
        stored_as_answered=is_stored(inspector, answer),
    )
    plain = inspector.call("create_task", "title=买牛奶", "priority=1", 'tags=["home", "home"]', "status=in_progress")
    report.case(
        "create_task, name=value arguments",
        "exit 0",
        plain,
        defaults=(task_of(plain, "category"), task_of(plain, "description")) == ("other", None),
        integer_is_a_priority=task_of(plain, "priority") == "low",
        tag_kept_once=task_of(plain, "tags") == ["home"],
        stored_as_answered=is_stored(inspector, plain),
    )
    return text_of(answer, "id")


def read(report: Report, inspector: StoreInspector, task_id: str) -> None:
    """[V1-2] [V1-4] List with filters and orders, and get one task."""
    whole = inspector.call("get_task", f"id={task_id}")
    report.case("get_task", "exit 0", whole, whole_task=_keys(task_of(whole)) == FIELDS)
    answer = inspector.call("list_tasks")
    report.case(
        "list_tasks",
        "exit 0",
        answer,
        newest_first=listed(answer) == ["买牛奶", TITLE],
        counted=member(answer.result, "total") == 2,
        descriptions_left_out="description" not in _keys(member(answer.result, "tasks", 1)),
        empty_fields_left_out="topic_id" not in _keys(member(answer.result, "tasks", 0)),
    )
    lists: dict[tuple[str, ...], list[str]] = {
        ("status=in_progress",): ["买牛奶"],
        ('status=["pending", "done"]', "category=tech"): [TITLE],
        ("topic_id=space_industry", 'tags_any=["space"]'): [TITLE],
        ("query=LAUNCH",): [TITLE],
        ("priority=high", "query=牛奶"): [],
        ("order_by=priority_desc",): [TITLE, "买牛奶"],
    }
    for arguments, expected in lists.items():
        answer = inspector.call("list_tasks", *arguments)
        report.case(f"list_tasks {' '.join(arguments)}", "exit 0", answer, as_expected=listed(answer) == expected)


def page(report: Report, inspector: StoreInspector) -> None:
    """[V1-4] List page by page, with a restart before every call."""
    first = inspector.call("list_tasks", "limit=1")
    inspector.call("create_task", "title=later")
    second = inspector.call("list_tasks", "limit=1", f"cursor={member(first.result, 'next_cursor')}")
    report.case(
        "list_tasks, next page after a restart and a new task",
        "exit 0",
        second,
        nothing_twice_or_skipped=listed(first) + listed(second) == ["买牛奶", TITLE],
        last_page="next_cursor" not in _keys(second.result),
        new_one_counted=member(second.result, "total") == 3,
    )


def _keys(value: object) -> list[object]:
    return list(value) if isinstance(value, dict) else []


def move(report: Report, inspector: StoreInspector, task_id: str) -> None:
    """[V1-3] Through the states, and what is refused on the way."""
    _refused(report, inspector, "pending to done", "InvalidTransition", "update_task_status", id=task_id, status="done")
    for status in ("in_progress", "in_progress", "done"):
        before = inspector.stored.get(task_id)
        answer = inspector.call("update_task_status", f"id={task_id}", f"status={status}")
        is_same = member(before, "status") == status
        moves = text_of(answer, "updated_at") > str(member(before, "updated_at"))
        report.case(
            f"update_task_status {status}{' again' if is_same else ''}",
            "exit 0",
            answer,
            has_it=task_of(answer, "status") == status,
            updated_at_moves_only_with_a_change=moves is not is_same,
            stored_as_answered=is_stored(inspector, answer),
        )
    for status in ("pending", "in_progress"):
        _refused(
            report, inspector, f"done to {status}", "InvalidTransition", "update_task_status", id=task_id, status=status
        )
    answer = inspector.call("update_task_status", f"id={task_id}", "status=canceled")
    report.case("update_task_status done to canceled", "exit 0", answer, has_it=task_of(answer, "status") == "canceled")
    _refused(
        report, inspector, "canceled to done", "InvalidTransition", "update_task_status", id=task_id, status="done"
    )


def update(report: Report, inspector: StoreInspector, task_id: str) -> None:
    """[V1-5] [V1-6] Change fields, clear them, and change nothing."""
    answer = inspector.call("update_task", f"id={task_id}", "title=新标题", "priority=medium", 'tags=["a"]')
    report.case(
        "update_task",
        "exit 0",
        answer,
        changed=[task_of(answer, name) for name in ("title", "priority", "tags")] == ["新标题", "medium", ["a"]],
        others_kept=task_of(answer, "topic_id") == "space_industry",
        stored_as_answered=is_stored(inspector, answer),
    )
    before = inspector.store.stat()
    same = inspector.call("update_task", f"id={task_id}", "title=新标题")
    report.case(
        "update_task, nothing new",
        "exit 0",
        same,
        same_task=task_of(same) == task_of(answer),
        not_written=inspector.store.stat().st_mtime_ns == before.st_mtime_ns,
    )
    answer = inspector.call_exactly("update_task", {"id": task_id, "description": None, "category": None, "tags": None})
    report.case(
        "update_task, null",
        "exit 0",
        answer,
        cleared=[task_of(answer, name) for name in ("description", "category", "tags")] == [None, "other", []],
    )


def errors(report: Report, inspector: StoreInspector, task_id: str) -> None:
    """What each tool refuses, and how."""
    wrong: list[tuple[str, str, dict[str, object]]] = [
        ("no title", "create_task", {}),
        ("blank title", "create_task", {"title": " "}),
        ("long description", "create_task", {"title": "x", "description": "x" * 4_001}),
        ("done at once", "create_task", {"title": "x", "status": "done"}),
        ("topic that is not a slug", "create_task", {"title": "x", "topic_id": "Space Industry"}),
        ("misspelt argument", "create_task", {"titel": "x"}),
        ("status in update_task", "update_task", {"id": task_id, "status": "done"}),
        ("no field in update_task", "update_task", {"id": task_id}),
        ("no title in update_task", "update_task", {"id": task_id, "title": None}),
        ("limit of 101", "list_tasks", {"limit": 101}),
        ("damaged cursor", "list_tasks", {"cursor": "AAAA"}),
    ]
    for name, tool, arguments in wrong:
        _refused(report, inspector, name, "InvalidArguments", tool, **arguments)
    for tool, more in (("get_task", ""), ("update_task", "title"), ("update_task_status", "status")):
        given = {"id": MISSING} | ({more: "done"} if more else {})
        _refused(report, inspector, f"{tool}, unknown id", "TaskNotFound", tool, **given)
    answer = _refused(report, inspector, "unknown status", "InvalidArguments", "list_tasks", status="cancelled")
    message = str(member(answer.result, "error", "message"))
    report.case(
        "unknown status, advice",
        "exit 5 InvalidArguments",
        answer,
        list_given="pending, in_progress, done, canceled" in message,
        nearest_given="Did you mean 'canceled'?" in message,
    )
    # If only a list is accepted, the Inspector parses the JSON itself and sends each key once; text it leaves alone.
    _refused(report, inspector, "key twice in a string", "DuplicateKey", "list_tasks", status='[{"a": 1, "a": 2}]')
    # The Inspector looks tools up itself, so that its own exit code is all there is to see.
    report.case("unknown tool", "exit 5", inspector.call("get_tasks"))


def _refused(report: Report, inspector: StoreInspector, name: str, code: str, tool: str, **arguments: object) -> Answer:
    before = inspector.store.read_bytes()
    answer = inspector.call_exactly(tool, arguments)
    report.case(name, f"exit 5 {code}", answer, unchanged=inspector.store.read_bytes() == before)
    return answer


def settings(report: Report) -> None:
    """A setting that cannot be is refused at once, with its name."""
    server = Inspector([server_command("tasks-v1-mcp")], {"TASKS_FILE_PATH": "tasks.json"})
    answer = server.run("tools/list")
    report.case("path that is not absolute", "exit 1", answer, says_so="TASKS_FILE_PATH" in answer.log)


def conformance(report: Report) -> None:
    """Run every case in the newer era, in a folder of its own; every_server.py calls each tool in both."""
    with tempfile.TemporaryDirectory() as name:
        inspector = StoreInspector(Path(name).resolve() / "made by the server", "modern")
        with inspector.connected():
            task_id = create(report, inspector)
        with inspector.connected():
            read(report, inspector, task_id)
        page(report, inspector)
        with inspector.connected():
            move(report, inspector, task_id)
            update(report, inspector, task_id)
        with inspector.connected():
            errors(report, inspector, task_id)
    settings(report)


PARTS: Final = [Part("tasks-v1-mcp", conformance)]
"""All that this script runs."""


if __name__ == "__main__":
    sys.exit(run(PARTS))
