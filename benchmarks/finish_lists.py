"""Adapters for the lists of the finish rates: the calls that list, start, finish and claim, and the reading of answers.

An adapter knows what a model reads in the descriptions of the tools, and nothing of the units.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

from benchmarks.peers import OURS, PEERS, Peer
from benchmarks.wire import Call


class Task(NamedTuple):
    """A task as an answer shows it."""

    id: str
    text: str
    is_started: bool = False
    is_done: bool = False


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """Calls of one list."""

    create: Callable[[int, str, list[int]], Call]
    """Adds a unit, given its number, its text and the numbers that it needs."""
    list: Call
    parse: Callable[[str], list[Task]]
    """Reads the answer to ``list``, or one page of it."""
    finish: Callable[[str, str], list[Call]]
    """Finishes the task with an id; the second argument is the last listing, which an edit of a file replaces."""
    start: Callable[[str, str], list[Call]] = lambda _task, _listing: []
    more: Callable[[str], Mapping[str, Any]] = lambda _answer: {}
    """Returns the arguments for the next page after this one, none if it is the last."""
    is_newest_first: bool = False
    checks_needs: bool = False
    """True if what it offers next can always be started."""
    rereads: bool = False
    """True if each change replaces the whole list, so that it has to be read first."""
    shows_next_only: bool = False
    """True if no call that agents use lists everything open."""
    brief: str = ""
    claim: str = ""
    release: str = ""


@dataclass(frozen=True)
class Condition:
    """A list that agents have, or none."""

    name: str
    adapter: Adapter | None = None
    server: Peer | None = None
    group: str = "other"


def unit_of(text: str) -> str:
    """Return the unit that a task names, or nothing."""
    found = re.search(r"\bU\d\d\b", text)
    return found[0] if found else ""


def needs_of(text: str) -> set[str]:
    """Return the units that a task says it needs."""
    return {*re.findall(r"U\d\d", text.partition("(needs ")[2].partition(")")[0])}


def _json_tasks(answer: str, *, path: tuple[str, ...], text: str, started: str, closed: frozenset[str]) -> list[Task]:
    try:
        found: Any = json.loads(answer)
        for name in path:
            found = found[name]
        return [Task(str(t["id"]), t[text], t["status"] == started, t["status"] in closed) for t in found]
    except (ValueError, KeyError, TypeError):
        return []


def _next_page(argument: str, *path: str) -> Callable[[str], dict[str, Any]]:
    """Return what reads the argument for the next page from an answer, where it is at ``path``."""

    def read(answer: str) -> dict[str, Any]:
        found = json.loads(answer)
        for name in path:
            found = found.get(name) or {}
        return {argument: found} if found else {}

    return read


_CLOSED: Final = frozenset({"done", "Complete", "Fail", "canceled", "cancelled"})

_TASKS_V1: Final = Adapter(
    create=lambda _number, text, _needs: Call("create_task", {"title": text}),
    list=Call("list_tasks", {"status": "open", "limit": 100}),
    parse=partial(_json_tasks, path=("tasks",), text="title", started="in_progress", closed=_CLOSED),
    more=_next_page("cursor", "next_cursor"),
    start=lambda task, _: [Call("update_task_status", {"id": task, "status": "in_progress"})],
    finish=lambda task, _: [Call("update_task_status", {"id": task, "status": "done"})],
    is_newest_first=True,
)
_HEARTBEAT: Final = Adapter(
    create=lambda _number, text, _needs: Call("task_create", {"raw_user_request": text}),
    list=Call("task_list"),
    parse=partial(_json_tasks, path=("tasks",), text="raw_user_request", started="Running", closed=_CLOSED),
    more=_next_page("after", "next_after"),
    start=lambda task, _: [Call("task_update", {"task_id": task, "updates": {"status": "Running"}})],
    finish=lambda task, _: [Call("task_update", {"task_id": task, "updates": {"status": "Complete"}})],
)
_HIERARCHY: Final = Adapter(
    create=lambda _number, text, _needs: Call("createTask", {"name": text}),
    list=Call("listTasks", {"depth": 0}),
    parse=partial(_json_tasks, path=("tasks",), text="name", started="in_progress", closed=_CLOSED),
    more=_next_page("after", "next_after"),
    start=lambda task, _: [Call("startTask", {"id": task})],
    finish=lambda task, _: [Call("completeTask", {"id": task, "resolution": "The line is written."})],
)
_TASKMASTER: Final = Adapter(
    create=lambda _number, text, needs: Call("add_task", {"title": text, "dependencies": [str(one) for one in needs]}),
    list=Call("get_tasks", {"status": "pending,in-progress"}),
    parse=partial(_json_tasks, path=("data", "tasks"), text="title", started="in-progress", closed=_CLOSED),
    more=_next_page("after", "data", "nextAfter"),
    start=lambda task, _: [Call("set_task_status", {"id": task, "status": "in-progress"})],
    finish=lambda task, _: [Call("set_task_status", {"id": task, "status": "done"})],
    checks_needs=True,
)

_ROOT: Final = {"projectRoot": "{folder}"}
_TASK_MASTER_AI: Final = replace(
    _TASKMASTER,
    create=lambda _number, text, needs: Call(
        "add_task",
        {"title": text, "description": text, "dependencies": ",".join(map(str, needs)), "projectRoot": "{folder}"},
    ),
    list=Call("get_tasks", {"status": "pending,in-progress", **_ROOT}),
    more=lambda _: {},
    start=lambda task, _: [Call("set_task_status", {"id": task, "status": "in-progress", **_ROOT})],
    finish=lambda task, _: [Call("set_task_status", {"id": task, "status": "done", **_ROOT})],
)


def _backlog_tasks(answer: str) -> list[Task]:
    state, tasks = "", list[Task]()
    for line in answer.splitlines():
        if found := re.search(r"\b(TASK-\d+)\b\W+(.*U\d\d.*)", line, re.IGNORECASE):
            tasks.append(Task(found[1], found[2], state == "In Progress", state == "Done"))
        elif line.rstrip().endswith(":"):
            state = line.strip().rstrip(":")
    return tasks


_BACKLOG: Final = Adapter(
    create=lambda _number, text, _needs: Call("task_create", {"title": text}),
    list=Call("task_list", {"limit": 200}),
    parse=_backlog_tasks,
    start=lambda task, _: [Call("task_edit", {"id": task, "status": "In Progress"})],
    finish=lambda task, _: [Call("task_edit", {"id": task, "status": "Done"})],
)


def _next_of_manager(answer: str) -> list[Task]:
    found = json.loads(answer)
    task = found.get("task")
    return [Task(task["id"], task["title"])] if task and found.get("status") == "next_task" else []


_REQUEST: Final = {"requestId": "req-1"}
_TASKMANAGER: Final = Adapter(
    create=lambda number, text, _needs: Call(
        *(
            ("add_tasks_to_request", {**_REQUEST, "tasks": [{"title": text, "description": text}]})
            if number > 1
            else ("request_planning", {"originalRequest": "All", "tasks": [{"title": text, "description": text}]})
        )
    ),
    list=Call("get_next_task", _REQUEST),
    parse=_next_of_manager,
    finish=lambda task, _: [
        Call("mark_task_done", {**_REQUEST, "taskId": task}),
        Call("approve_task_completion", {**_REQUEST, "taskId": task}),
    ],
    checks_needs=True,
    shows_next_only=True,
)


def _memory_tasks(answer: str) -> list[Task]:
    return [
        Task(it["name"], it["observations"][0], "started" in it["observations"], "done" in it["observations"])
        for it in json.loads(answer)["entities"]
    ]


def _observe(word: str) -> Callable[[str, str], list[Call]]:
    return lambda task, _: [Call("add_observations", {"observations": [{"entityName": task, "contents": [word]}]})]


_MEMORY: Final = Adapter(
    create=lambda _number, text, _needs: Call(
        "create_entities", {"entities": [{"name": unit_of(text), "entityType": "task", "observations": [text]}]}
    ),
    list=Call("read_graph"),
    parse=_memory_tasks,
    start=_observe("started"),
    finish=_observe("done"),
)

_LINE: Final = re.compile(r"(?m)^- \[(.)\] (U\d\d.*)$")


def _todo_tasks(text: str) -> list[Task]:
    return [Task(unit_of(text), text, mark == "~", mark == "x") for mark, text in _LINE.findall(text)]


def _mark(mark: str) -> Callable[[str, str], list[Call]]:
    return lambda task, text: [
        Call("write_file", {"text": re.sub(rf"(?m)^- \[.\] (?={task}\b)", f"- [{mark}] ", text)})
    ]


TODO: Final = Adapter(
    create=lambda _number, text, _needs: Call("append_line", {"text": f"- [ ] {text}"}),
    list=Call("read_file"),
    parse=_todo_tasks,
    start=_mark("~"),
    finish=_mark("x"),
    rereads=True,
)
"""A TODO.md: every edit reads the whole file, and then replaces it."""

_ADAPTERS: Final = {
    "heartbeat-mcp": _HEARTBEAT,
    "hierarchy-mcp": _HIERARCHY,
    "taskmaster-mcp": _TASKMASTER,
    "tasks-v1-mcp": _TASKS_V1,
    "task-master-ai": _TASK_MASTER_AI,
    "backlog.md": _BACKLOG,
    "@kazuph/mcp-taskmanager": _TASKMANAGER,
    "@modelcontextprotocol/server-memory": _MEMORY,
}


def _ours(peer: Peer, *, with_extras: bool) -> Condition:
    adapter, name = _ADAPTERS[peer.name], peer.name.removesuffix("-mcp")
    if not with_extras:
        return Condition(name, adapter, peer, "ours")
    names = ("brief", "claimTask", "releaseTask") if name == "hierarchy" else ("brief", "claim_task", "release_task")
    brief, claim, release = names
    environment = {**peer.environment, "TASK_EXTRA_TOOLS": "all"}
    extended = replace(adapter, brief=brief, claim=claim, release=release)
    return Condition(f"{name} + extras", extended, replace(peer, environment=environment), "ours")


CONDITIONS: Final = (
    *(_ours(peer, with_extras=extras) for peer in OURS for extras in (False, True)),
    Condition("no list"),
    Condition("TODO.md", TODO),
    *(Condition(peer.name, _ADAPTERS[peer.name], peer) for peer in PEERS),
)
"""All lists, in the order of the page: ours, none, a file, those of other projects."""
