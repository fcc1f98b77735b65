"""Run the cases of the requirements, section 5.3, against the installed ``heartbeat-mcp`` through the MCP Inspector.

Cases about restarts start a server for each call, other groups of cases one for all. Prints one table and returns a
non-zero exit code when a case fails.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from inspector.inspector_cli import Answer, Inspector, member
from inspector.pinned import server_command
from inspector.report import Part, Report, run

SAMPLE: Final = """\
# HEARTBEAT

## Routine
- Read the inbox.

## TODO
"""
MISSING: Final = "non-existent-id"


class Folder:
    """A fresh folder with a HEARTBEAT.md in it, and the server that works there."""

    def __init__(self, path: Path, **variables: str) -> None:
        self.file = path / "HEARTBEAT.md"
        self.store = path / "heartbeat_state.json"
        self.variables = {"HEARTBEAT_FILE_PATH": str(self.file), **variables}
        path.mkdir(exist_ok=True)
        if not self.file.exists():
            self.file.write_text(SAMPLE, "utf-8")

    def server(self, **more: str) -> Inspector:
        """Return the Inspector on this folder, with further settings of the server."""
        return Inspector([server_command("heartbeat-mcp")], self.variables | more)

    @property
    def stored(self) -> dict[object, object]:
        """The tasks of the store file, by id."""
        tasks = member(json.loads(self.store.read_bytes()), "tasks")
        return {member(task, "id"): task for task in tasks} if isinstance(tasks, list) else {}

    @property
    def bytes(self) -> tuple[bytes, bytes]:
        """The contents of the store and of HEARTBEAT.md."""
        return self.store.read_bytes(), self.file.read_bytes()

    @property
    def routine_is_kept(self) -> bool:
        """Whether everything above the section is unchanged."""
        return self.file.read_text("utf-8").startswith(SAMPLE)

    def shows(self, line: str) -> bool:
        """Whether HEARTBEAT.md has ``line``, indentation not counted."""
        return line in [found.strip() for found in self.file.read_text("utf-8").splitlines()]

    def mentions(self, task_id: str) -> bool:
        """Whether HEARTBEAT.md has an entry of the task."""
        return self.shows(f"<!-- task_id: {task_id} -->")


def field_of(answer: Answer, name: str) -> object:
    """Return one field of the result."""
    return member(answer.result, name)


def text_of(answer: Answer, name: str) -> str:
    """Return one field of the result as text."""
    return str(field_of(answer, name))


def listed(answer: Answer) -> list[object]:
    """Return the ids of the tasks in the result, in order."""
    tasks = field_of(answer, "tasks")
    return [member(task, "id") for task in tasks] if isinstance(tasks, list) else []


def connection(report: Report, folder: Folder) -> None:
    """5.3, 1: the server starts, and says what it lacks."""
    server = folder.server()
    answer = server.run("initialize")
    report.case(
        "1 connect", "exit 0", answer, names_itself=member(answer.json, "serverInfo", "name") == "heartbeat-mcp"
    )
    answer = Inspector(server.server, {}).call("task_list")
    named = "HEARTBEAT_FILE_PATH" in str(member(answer.result, "error", "message"))
    report.case("1 call where no list is named or found", "exit 5 NoHeartbeatFile", answer, says_so=named)


def create(report: Report, folder: Folder, server: Inspector) -> str:
    """5.3, 3: create, and no key twice; return the id of the task."""
    given = ["raw_user_request=实现用户登录功能", "raw_reference=/docs/auth.md", 'ideas=["使用JWT", "添加验证码"]']
    answer = server.call("task_create", *given)
    task_id = text_of(answer, "id")
    report.case(
        "3.1 task_create",
        "exit 0",
        answer,
        readable_id=re.fullmatch(r"[a-z]+-[a-z]+", task_id) is not None,
        ideas_in_order=field_of(answer, "ideas") == ["使用JWT", "添加验证码"],
        stored_as_answered=folder.stored.get(task_id) == answer.result,
        entry_in_section=folder.shows(f"- [Pending] {task_id}: 实现用户登录功能") and folder.mentions(task_id),
        fields_in_section=folder.shows("- Raw Reference: /docs/auth.md") and folder.shows("- 添加验证码"),
        routine_kept=folder.routine_is_kept,
    )
    before = folder.bytes
    # The Inspector parses JSON objects itself and sends each key once; only JSON within a string reaches the server.
    twice = '{"raw_user_request": "A", "raw_user_request": "B"}'
    answer = server.call("task_create", f"input={twice}")
    report.case(
        "3.2 key twice, merged by the Inspector", "exit 5 InvalidArguments", answer, unchanged=folder.bytes == before
    )
    for name, arguments, key in [
        ("in a string", {"raw_user_request": "A", "input": twice}, "raw_user_request"),
        ("both ways", {"raw_user_request": "A", "note": 1, "extra_fields": {"note": 2}}, "note"),
    ]:
        answer = server.call_exactly("task_create", arguments)
        keys = member(answer.result, "error", "details", "keys")
        report.case(
            f"3.2 key twice, {name}",
            "exit 5 DuplicateKey",
            answer,
            named=keys == [key],
            unchanged=folder.bytes == before,
        )
    answer = server.call_exactly("task_create", {"raw_user_request": "A", "extra_fields": {"status": "Running"}})
    report.case("3.2 predefined name as extra field", "exit 5 ReservedField", answer, unchanged=folder.bytes == before)
    return task_id


def update(report: Report, folder: Folder, server: Inspector, task_id: str) -> None:
    """5.3, 4: several fields at once, appended ideas, read-only fields, the end of a task."""
    created = folder.stored[task_id]
    answer = server.call(
        "task_update", f"task_id={task_id}", 'updates={"status": "Running", "ideas": ["第一步", "第二步"]}'
    )
    report.case(
        "4.1 several fields",
        "exit 0",
        answer,
        fields_changed=(field_of(answer, "status"), field_of(answer, "ideas")) == ("Running", ["第一步", "第二步"]),
        others_kept=field_of(answer, "created_at") == member(created, "created_at"),
        updated_at_moved=text_of(answer, "updated_at") > str(member(created, "updated_at")),
        stored_as_answered=folder.stored.get(task_id) == answer.result,
        section_updated=folder.shows(f"- [Running] {task_id}: 实现用户登录功能") and folder.shows("- 第二步"),
    )
    answer = server.call("task_update", f"task_id={task_id}", 'updates={"ideas": ["第三步"]}', "append_ideas=true")
    report.case(
        "4.2 append ideas",
        "exit 0",
        answer,
        appended=field_of(answer, "ideas") == ["第一步", "第二步", "第三步"],
        stored_as_answered=folder.stored.get(task_id) == answer.result,
        section_updated=folder.shows("- 第一步") and folder.shows("- 第三步"),
    )
    before = folder.bytes
    for name in ("id", "created_at"):
        answer = server.call("task_update", f"task_id={task_id}", f'updates={{"{name}": "new-id", "result": "no"}}')
        report.case(f"4.3 read-only {name}", "exit 5 ReadOnlyField", answer, unchanged=folder.bytes == before)
    answer = server.call_exactly("task_update", {"task_id": task_id, "updates": {"note": '{"a": 1, "a": 2}'}})
    report.case("4 key twice in updates", "exit 5 DuplicateKey", answer, unchanged=folder.bytes == before)


def read(report: Report, folder: Folder, server: Inspector, task_id: str) -> None:
    """5.3, 5, and the end of 4: what is listed before and after a task is complete."""
    answer = server.call("task_list")
    report.case("5.1 task_list", "exit 0", answer, only_the_active=listed(answer) == [task_id])
    answer = server.call("task_update", f"task_id={task_id}", 'updates={"status": "Complete", "result": "完成"}')
    report.case(
        "4 complete",
        "exit 0",
        answer,
        completed_at_set=text_of(answer, "completed_at").endswith("Z"),
        stored_as_answered=folder.stored.get(task_id) == answer.result,
        gone_from_section=not folder.mentions(task_id),
        routine_kept=folder.routine_is_kept,
    )
    before = folder.bytes
    found = server.call("task_list")
    report.case("5.1 task_list without completed", "exit 0", found, empty=listed(found) == [])
    found = server.call("task_list", "include_completed=true")
    report.case("5.2 task_list include_completed", "exit 0", found, listed=listed(found) == [task_id])
    found = server.call("task_get", f"task_id={task_id}")
    report.case(
        "5.3 task_get", "exit 0", found, whole_task=found.result == answer.result, unchanged=folder.bytes == before
    )


def clean(report: Report, folder: Folder) -> None:
    """5.3, 6: a finished task leaves list, store and section at the restart after its retention."""
    server = folder.server()
    task_id = text_of(server.call("task_create", "raw_user_request=临时任务"), "id")
    answer = server.call("task_update", f"task_id={task_id}", 'updates={"status": "Complete"}')
    report.case("6 complete, retention not over", "exit 0", answer, still_stored=task_id in folder.stored)
    again = folder.server(TASK_RETENTION_DAYS="0")
    answer = again.call("task_list", "include_completed=true")
    report.case(
        "6 restart, retention over",
        "exit 0",
        answer,
        not_listed=listed(answer) == [],
        not_stored=folder.stored == {},
        not_in_section=not folder.mentions(task_id),
        routine_kept=folder.routine_is_kept,
    )
    answer = again.call("task_list", "include_archived=true")
    report.case("6 archived tasks on request", "exit 0", answer, listed=listed(answer) == [task_id])


def restart(report: Report, folder: Folder) -> None:
    """5.3, 7: the same list and the same section after a restart, and after the loss of the store."""
    server = folder.server()
    ids = [text_of(server.call("task_create", f"raw_user_request={name}"), "id") for name in ("任务A", "任务B")]
    first = server.call("task_list")
    before = folder.bytes
    second = server.call("task_list")
    report.case(
        "7 restart",
        "exit 0",
        second,
        both_tasks=listed(first) == ids,
        no_diff=first.printed == second.printed,
        unchanged=folder.bytes == before,
    )
    os.truncate(folder.store, folder.store.stat().st_size // 2)
    at_rest = time.time() - 60  # nobody is writing it any more
    os.utime(folder.store, (at_rest, at_rest))
    answer = server.call("task_list")
    warnings = field_of(answer, "warnings")
    report.case(
        "4.2 restart on a damaged store",
        "exit 0",
        answer,
        recovered=listed(answer) == ids,
        warned=isinstance(warnings, list) and warnings != [],
        kept_aside=len(list(folder.store.parent.glob("heartbeat_state.json.corrupt-*"))) == 1,
        section_as_before=folder.file.read_bytes() == before[1],
    )


def errors(report: Report, folder: Folder, server: Inspector) -> None:
    """5.3, 8: what is refused, and how."""
    task_id = text_of(server.call("task_create", "raw_user_request=测试任务"), "id")
    before = folder.bytes
    for tool, more in {"task_update": ('updates={"status": "Running"}',), "task_get": ()}.items():
        answer = server.call(tool, f"task_id={MISSING}", *more)
        named = member(answer.result, "error", "details", "id") == MISSING
        report.case(
            f"8.1 unknown id, {tool}", "exit 5 TaskNotFound", answer, named=named, unchanged=folder.bytes == before
        )
    answer = server.call("task_create")
    report.case(
        "8.3 missing field",
        "exit 5 InvalidArguments",
        answer,
        named=member(answer.result, "error", "details", "fields", 0, "path") == "raw_user_request",
        unchanged=folder.bytes == before,
    )
    answer = server.call("task_update", f"task_id={task_id}", 'updates={"stauts": "Running"}')
    near = member(answer.result, "error", "details", "near", 0)
    report.case(
        "8.2 misspelt field", "exit 5 InvalidArguments", answer, near=near == "status", unchanged=folder.bytes == before
    )
    answer = server.call("task_no_such_tool")
    report.case("8 unknown tool", "exit 5", answer, unchanged=folder.bytes == before)
    answer = server.call("task_update", f"task_id={task_id}", 'updates={"invalid_field": "value"}')
    report.case(
        "8.2 unknown field becomes an extra field",
        "exit 0",
        answer,
        kept=member(folder.stored.get(task_id), "extra_fields", "invalid_field") == "value",
    )


def confine(report: Report, folder: Folder) -> None:
    """Section 7: a path outside the workspace is refused."""
    before = folder.bytes
    confined = folder.server(WORKSPACE_PATH=str(folder.file.parent))
    answer = confined.call("task_create", "raw_user_request=x", "raw_reference=../outside.md")
    report.case(
        "sec. 7 path outside the workspace", "exit 5 PathOutsideWorkspace", answer, unchanged=folder.bytes == before
    )


def conformance(report: Report) -> None:
    """Run every case in folders of their own."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        folder = Folder(top / "one")
        connection(report, folder)
        server = folder.server()
        with server.connected():
            task_id = create(report, folder, server)
        with server.connected():
            update(report, folder, server, task_id)
            read(report, folder, server, task_id)
        clean(report, Folder(top / "two"))
        restart(report, Folder(top / "three"))
        folder = Folder(top / "four")
        server = folder.server()
        with server.connected():
            errors(report, folder, server)
        confine(report, folder)


PARTS: Final = [Part("heartbeat-mcp", conformance)]
"""All that this script runs."""


if __name__ == "__main__":
    sys.exit(run(PARTS))
