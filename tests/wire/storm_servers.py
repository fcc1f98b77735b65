"""What a storm does with each of the servers, and how it reads what they stored."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Final

from pydantic import JsonValue
from typing_extensions import override

from tests.postgres import check_totals, store_url
from tests.servers import ServerRecord, record_of
from tests.wire.storm_ledger import Change, Kept, Seen, Start, check_active
from tests.wire.storm_process import Server, exported

__all__ = ["ALL_ENGINES", "ENGINES", "ROUTINE", "SERVERS", "Kind", "TasksV1", "entry_ids"]

ENGINES: Final = ("json", "sqlite")
"""What keeps a store in a file."""

ALL_ENGINES: Final = (*ENGINES, "postgresql")
"""What may keep the store of a storm."""

ROUTINE: Final = "# Agent\n\n## Routine\n- [ ] 每天检查邮件\n\n## TODO – list below\n\n## Notes\nkeep me\n"
"""A HEARTBEAT.md of which only the section may change."""

Document = Any
"""What JSON may hold."""

Word = Callable[[], str]
"""Makes up a word that nothing else holds."""


@dataclass(frozen=True)
class Kind(ABC):
    """One of the servers over one of the engines: its command, its files, its calls."""

    record: ClassVar[ServerRecord]

    engine: str = "json"

    @override
    def __str__(self) -> str:
        return f"{self.record.name} on {self.engine}"

    @property
    def store(self) -> str:
        """The name of the file that holds the tasks."""
        return self.record.store(self.engine)

    def prepare(self, folder: Path) -> None:
        """Make the folder, with the files that a person has there, and the database before clients share it."""
        folder.mkdir(exist_ok=True)
        self.environment(folder)

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the settings of a server over ``folder``; in a shared database its list is that of a tenant."""
        if self.engine != "postgresql":
            return self.record.environment(folder, self.engine)
        return {**self.record.environment(folder, "sqlite"), "TASK_STORE": store_url(), "TASK_TENANT": str(folder)}

    @property
    def kept(self) -> set[str]:
        """The names that may be in the folder at the end; a document has a generation for each day of saves."""
        if self.engine == "postgresql":
            return set()
        others = (".bak", ".bak.2", ".history.jsonl") if self.engine == "json" else ()
        return {self.store, f"{self.store}.lock", *(self.store + suffix for suffix in others)}

    def stored(self, folder: Path) -> list[Seen]:
        """Return the tasks in the store in order."""
        return [self.seen(task) for task in self.stored_tasks(folder)]

    def stored_tasks(self, folder: Path) -> list[dict[str, Any]]:
        """Return the tasks as another program reads the document, or as the server exports them from a database."""
        path = folder / self.store
        if self.engine != "postgresql" and not path.exists():
            return []
        is_document = self.engine == "json"
        return self.tasks(json.loads(path.read_bytes() if is_document else self.exported(folder)))

    def exported(self, folder: Path) -> bytes:
        """Return the document that the server's own command makes of the store."""
        return exported(self.record.package, self.environment(folder))

    def tasks(self, document: Document) -> list[dict[str, Any]]:
        """Return the tasks of the store's document."""
        tasks: list[dict[str, Any]] = document["tasks"]
        return tasks

    def check_end(self, folder: Path, starts: Sequence[Start]) -> None:
        """Check the store, and what must agree with it, once nothing is under way."""
        if self.engine == "sqlite":
            with closing(sqlite3.connect(folder / self.store)) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if self.engine == "postgresql":
            check_totals(str(folder))
        roots = self.stored_tasks(folder)
        leaves = [leaf for root in roots for leaf in root.get("tasks", ())]
        ids = [task["id"] for task in (*roots, *leaves)]
        assert len(ids) == len(set(ids))
        check_active(_with_status("in_progress", leaves), _with_status("done", leaves), starts)

    @abstractmethod
    def seen(self, task: Mapping[str, Any]) -> Seen:
        """Return what counts of one task of the document."""

    @abstractmethod
    def create(self, token: str, word: Word) -> Change:
        """Return the call that creates a task."""

    @abstractmethod
    def changes(self, token: str, kept: Kept, word: Word, rng: Random) -> list[Change]:
        """Return calls that change a task: one, or several whose order does not matter."""

    @abstractmethod
    def task_id(self, change: Change, content: Mapping[str, Any]) -> str:
        """Return the id of the task that the answer to a call speaks of."""

    @abstractmethod
    def listed(self, server: Server) -> list[str]:
        """Return the ids of all tasks that a server lists, the oldest first."""


class Heartbeat(Kind):
    """heartbeat-mcp: the mirror must agree at the end."""

    record = record_of("heartbeat")

    @property
    @override
    def kept(self) -> set[str]:
        # A server that waits for HEARTBEAT.md in vain changes tasks without a receipt. What another one writes of them
        # may later be taken for an edit by a person, and is kept.
        return super().kept | {self.record.file, f"{self.record.file}.lock", f"{self.record.file}.bak"}

    @override
    def prepare(self, folder: Path) -> None:
        super().prepare(folder)
        (folder / self.record.file).write_text(ROUTINE, "utf-8")

    @override
    def seen(self, task: Mapping[str, Any]) -> Seen:
        fields = {name: task[name] for name in ("status", "result")} | {"serial": task["extra_fields"].get("serial")}
        return Seen(task["raw_user_request"], task["id"], fields, task["ideas"])

    @override
    def create(self, token: str, word: Word) -> Change:
        idea = word()
        return Change(
            token,
            "task_create",
            {"raw_user_request": token, "ideas": [idea]},
            {"status": "Pending", "result": None, "serial": None},
            frozenset({idea}),
        )

    @override
    def changes(self, token: str, kept: Kept, word: Word, rng: Random) -> list[Change]:
        if rng.random() < 0.3:
            return [self._append(token, kept, word()) for _ in range(rng.randint(1, 3))]
        updates = rng.choice(
            [{"status": "Running"}, {"status": "Complete", "result": word()}, {"status": "Pending"}, {"serial": word()}]
        )
        return [Change(token, "task_update", {"task_id": kept.id, "updates": {**updates}}, updates)]

    def _append(self, token: str, kept: Kept, idea: str) -> Change:
        arguments: dict[str, JsonValue] = {"task_id": kept.id, "updates": {"ideas": [idea]}, "append_ideas": True}
        return Change(token, "task_update", arguments, marks=frozenset({idea}))

    @override
    def task_id(self, change: Change, content: Mapping[str, Any]) -> str:
        return str(content["id"])

    @override
    def listed(self, server: Server) -> list[str]:
        return _paged(server, "task_list", include_completed=True)

    @override
    def check_end(self, folder: Path, starts: Sequence[Start]) -> None:
        super().check_end(folder, starts)
        active = [task.id for task in self.stored(folder) if task.fields["status"] != "Complete"]
        assert entry_ids(folder) == active
        text = (folder / self.record.file).read_text("utf-8")
        before, after = ROUTINE.split("\n\n## Notes", 1)
        assert text.startswith(before + "\n")
        assert text.endswith("\n## Notes" + after)


class TasksV1(Kind):
    """tasks-v1-mcp."""

    record = record_of("tasks-v1")

    _NEXT: Final = {"pending": "in_progress", "in_progress": "done", "done": "canceled", "canceled": "canceled"}

    @override
    def seen(self, task: Mapping[str, Any]) -> Seen:
        fields = {name: task.get(name) for name in ("status", "description", "priority")}
        return Seen(task["title"], task["id"], fields, ())

    @override
    def create(self, token: str, word: Word) -> Change:
        fields = {"description": word(), "priority": "low"}
        return Change(token, "create_task", {"title": token, **fields}, {"status": "pending", **fields})

    @override
    def changes(self, token: str, kept: Kept, word: Word, rng: Random) -> list[Change]:
        if rng.random() < 0.5:
            fields = {"description": word(), "priority": rng.choice(["low", "medium", "high"])}
            return [Change(token, "update_task", {"id": kept.id, **fields}, fields)]
        status = self._NEXT[str(kept.fields["status"])]
        return [Change(token, "update_task_status", {"id": kept.id, "status": status}, {"status": status})]

    @override
    def task_id(self, change: Change, content: Mapping[str, Any]) -> str:
        return str(content["task"]["id"])

    @override
    def listed(self, server: Server) -> list[str]:
        page = server.call("list_tasks", limit=100)
        ids = [task["id"] for task in page["tasks"]]
        while "next_cursor" in page:
            page = server.call("list_tasks", limit=100, cursor=page["next_cursor"])
            ids += [task["id"] for task in page["tasks"]]
        assert len(ids) == page["total"]
        return ids[::-1]


class Hierarchy(Kind):
    """hierarchy-mcp: a root with two leaves, ``a`` before ``b``, and further leaves that are appended."""

    record = record_of("hierarchy")

    @override
    def tasks(self, document: Document) -> list[dict[str, Any]]:
        roots: list[dict[str, Any]] = document
        return roots

    @override
    def seen(self, task: Mapping[str, Any]) -> Seen:
        fields = {"description": task.get("description")}
        fields |= {leaf["id"][-1]: leaf.get("resolution") for leaf in task["tasks"][:2]}
        return Seen(task["name"], task["id"], fields, [leaf["name"] for leaf in task["tasks"][2:]])

    @override
    def create(self, token: str, word: Word) -> Change:
        description = word()
        leaves: list[JsonValue] = [{"name": name, "id": f"{token}.{name}"} for name in "ab"]
        tree: dict[str, JsonValue] = {"name": token, "id": token, "description": description, "tasks": leaves}
        return Change(token, "createTask", tree, {"description": description, "a": None, "b": None})

    @override
    def changes(self, token: str, kept: Kept, word: Word, rng: Random) -> list[Change]:
        open_leaf = next((name for name in "ab" if kept.fields[name] is None), None)
        what = rng.choice(["append", "update", "start", "complete"] if open_leaf else ["append", "update"])
        if what == "append":
            return [self._append(token, word()) for _ in range(rng.randint(1, 2))]
        if what == "start":
            return [Change(token, "startTask", {"id": token}, starts=f"{token}.{open_leaf}")]
        text = word()
        if what == "update" or not open_leaf:
            return [Change(token, "updateTask", {"id": token, "description": text}, {"description": text})]
        return [
            Change(token, "completeTask", {"id": f"{token}.{open_leaf}", "resolution": text}, {open_leaf: text}),
        ]

    def _append(self, token: str, name: str) -> Change:
        return Change(token, "createTask", {"parentId": token, "name": name}, marks=frozenset({name}))

    @override
    def task_id(self, change: Change, content: Mapping[str, Any]) -> str:
        return change.token

    @override
    def listed(self, server: Server) -> list[str]:
        return _paged(server, "listTasks", depth=0)


def _paged(server: Server, tool: str, **arguments: JsonValue) -> list[str]:
    """Return the ids on all pages of a list that is continued after an id."""
    page = server.call(tool, **arguments)
    ids = [task["id"] for task in page["tasks"]]
    while "left_out" in page:
        page = server.call(tool, **arguments, after=ids[-1])
        ids += [task["id"] for task in page["tasks"]]
    return ids


def _with_status(status: str, tasks: Iterable[Mapping[str, Any]]) -> list[str]:
    return [task["id"] for task in tasks if task["status"] == status]


def entry_ids(folder: Path) -> list[str]:
    """Return the ids of the entries in HEARTBEAT.md, in order."""
    lines = (folder / "HEARTBEAT.md").read_text("utf-8").splitlines()
    start = "  <!-- task_id: "
    return [line.removeprefix(start).removesuffix(" -->") for line in lines if line.startswith(start)]


SERVERS: Final[Mapping[str, type[Kind]]] = {kind.record.name: kind for kind in (Heartbeat, Hierarchy, TasksV1)}
"""The servers by the names that the command line takes."""
