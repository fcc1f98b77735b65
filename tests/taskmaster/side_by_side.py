"""Makes the same calls on Task Master and on this server, each on its own copy of a project, and shows what differs.

    PYTHONPATH=. python tests/taskmaster/side_by_side.py node /path/to/task-master-ai

The command starts Task Master's own server, without a network if it is started so, and with an empty home. Differences
are listed once, not judged: many are deliberate (spec: taskmaster). Afterwards the other server reads what this one
wrote.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from tests.taskmaster.conftest import Object, ServedProject, item, tag

START: Final[Object] = {
    "master": tag(
        item(1, status="done", details="", testStrategy="", subtasks=[]),
        item(
            2,
            1,
            status="in-progress",
            details="",
            testStrategy="",
            subtasks=[item(1, details=""), item(2, 1, details="")],
        ),
        item(3, 2, priority="high", details="", testStrategy="", subtasks=[]),
        item(4, "3", status="deferred", details="", testStrategy="", subtasks=[]),
    ),
    "beta": tag(item(1, details="", testStrategy="", subtasks=[])),
}

CALLS: Final[list[tuple[str, Object]]] = [
    ("get_tasks", {"withSubtasks": True}),
    ("get_task", {"id": "2"}),
    ("next_task", {}),
    ("set_task_status", {"id": "2.1", "status": "done"}),
    ("set_task_status", {"id": "2.2", "status": "in-progress"}),
    ("next_task", {}),
    ("add_task", {"title": "New", "description": "d", "dependencies": "1,3", "priority": "high"}),
    ("add_subtask", {"id": "3", "title": "Sub", "description": "d", "dependencies": "2.1"}),
    ("add_dependency", {"id": "4", "dependsOn": "1"}),
    ("remove_dependency", {"id": "4", "dependsOn": "1"}),
    ("move_task", {"from": "5", "to": "9"}),
    ("remove_subtask", {"id": "3.1", "convert": True}),
    ("clear_subtasks", {"id": "2"}),
    ("remove_task", {"id": "9", "confirm": True}),
    ("validate_dependencies", {}),
    ("fix_dependencies", {}),
    ("add_tag", {"name": "gamma", "copyFromTag": "beta"}),
    ("use_tag", {"name": "gamma"}),
    ("list_tags", {}),
    ("rename_tag", {"oldName": "gamma", "newName": "delta"}),
    ("copy_tag", {"sourceName": "delta", "targetName": "copy"}),
    ("delete_tag", {"name": "delta", "yes": True}),
    ("get_task", {"id": "99"}),
    ("set_task_status", {"id": "3", "status": "done"}),
]
"""All that need no model."""

TIMES: Final = {"updated", "updatedAt", "created", "lastModified", "lastSwitched", "date", "description"}


class Side:
    """One server on its own copy of the project."""

    def __init__(self, folder: Path, command: tuple[str, ...], home: Path) -> None:
        self.served = ServedProject(folder)
        self.served.write(START)
        self.served.put(".taskmaster/config.json", {"models": {}, "global": {"projectName": "P"}})
        self.served.put(".taskmaster/state.json", {"currentTag": "master"})
        project = {"TASK_MASTER_TOOLS": "all", "TASK_MASTER_PROJECT_ROOT": str(folder)}
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), **project}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        hello: Object = {"protocolVersion": "2025-06-18", "capabilities": {}}
        hello["clientInfo"] = {"name": "side", "version": "1"}
        self._ask("initialize", hello)
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: Object) -> tuple[bool, str]:
        """Return whether the call succeeded, and the text of its answer."""
        given = {"projectRoot": str(self.served.root), **arguments}
        result = self._ask("tools/call", {"name": tool, "arguments": given})
        return not result.get("isError", False), result["content"][0]["text"][:100]

    def _ask(self, method: str, params: Object) -> Object:
        self._send({"id": 1, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            message: Object = json.loads(line) if line.startswith(b"{") else {}
            if message.get("id") == 1 and "result" in message:
                found: Object = message["result"]
                return found
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": {"roots": []}})
        raise EOFError(f"the server ended at {method} {params}")

    def _send(self, message: Object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


def plain(value: JsonValue) -> JsonValue:
    """Return a document without times, and with every id and dependency as text."""
    if isinstance(value, dict):
        kept = {name: it for name, it in value.items() if name not in TIMES}
        return {name: str(it) if name in {"id", "parentTaskId"} else plain(it) for name, it in kept.items()}
    if isinstance(value, list):
        return [str(it) if isinstance(it, int | str) else plain(it) for it in value]
    return value


def differences(one: JsonValue, other: JsonValue, path: str = "") -> list[str]:
    """Return where two values differ, a line each."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = dict.fromkeys([*one, *other])
        return [line for it in names for line in differences(one.get(it, "-"), other.get(it, "-"), f"{path}.{it}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [line for n, (a, b) in pairs for line in differences(a, b, f"{path}[{n}]")]
    return [] if one == other else [f"{path}: {json.dumps(one)[:70]} | {json.dumps(other)[:70]}"]


def main(command: list[str]) -> None:
    """Make the calls on both, and print for each whether the answers and the documents agree."""
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, side) for side in ("theirs", "ours")]
        for folder in folders:
            folder.mkdir()
        home = Path(name)
        theirs = Side(folders[0], tuple(command), home)
        ours = Side(folders[1], (sys.executable, "-m", "taskmaster_mcp"), home)
        seen: set[str] = set()
        for tool, arguments in CALLS:
            results = [side.call(tool, arguments) for side in (theirs, ours)]
            found = differences(plain(theirs.served.document), plain(ours.served.document))
            answers = ["ok" if succeeded else f"error ({data})" for succeeded, data in results]
            print(f"{tool} {json.dumps(arguments)}: theirs {answers[0]}, ours {answers[1]}")
            print("".join(f"    {line}\n" for line in found if line not in seen), end="", flush=True)
            seen.update(found)
        theirs.process.kill()
        reader = Side(folders[0], tuple(command), home)
        reader.served.path.write_bytes(ours.served.path.read_bytes())
        before = json.loads(ours.served.path.read_bytes())
        calls: list[tuple[str, Object]] = [
            ("get_tasks", {}),
            ("get_task", {"id": "3"}),
            ("set_task_status", {"id": "4", "status": "review"}),
        ]
        for tool, arguments in calls:
            succeeded, data = reader.call(tool, arguments)
            print(f"on what we wrote: {tool}: {'ok' if succeeded else data}")
        print("\n".join(differences(plain(before), plain(reader.served.document))))
        reader.process.kill()
        ours.process.kill()


if __name__ == "__main__":
    os.environ.pop("TASK_MASTER_PROJECT_ROOT", None)
    main(sys.argv[1:])
