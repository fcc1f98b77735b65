"""Counts the bytes that an agent reads in a session of 20 calls, among more and more tasks: `docs/answers.md`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, cast

from tests.servers import record_of

__all__ = ["NAMES", "NUMBERS", "bytes_read", "document", "main", "session", "task", "tree"]

NUMBERS: Final = (13, 143, 403, 1_000, 5_000)
"""How many tasks the store holds when a session begins."""

NAMES: Final = ("heartbeat", "hierarchy", "tasks-v1")
"""The servers that were measured before answers had bounds."""

PACKAGES: Final = ("task-core", *(record_of(name).command for name in NAMES))
"""The folders of the packages."""

TEXT: Final = "Compare the three offers for the new roof, ask for what is missing, and write down what speaks for each."

START: Final[dict[str, Any]] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}
"""What a client introduces itself with."""


def document(server: str, number: int) -> object:
    """Return a store with so many open tasks; those of hierarchy are trees of 13."""
    if server == "hierarchy":
        return [tree(n // 13, min(13, number - n)) for n in range(0, number, 13)]
    moments = [f"2026-03-{1 + n // 1_440:02}T{n // 60 % 24:02}:{n % 60:02}:00.000000Z" for n in range(number)]
    text = "raw_user_request" if server == "heartbeat" else "description"
    tasks = [
        {"id": f"t{n}", text: TEXT, "created_at": moment, "updated_at": moment}
        | ({} if server == "heartbeat" else {"title": TEXT[:40]})
        for n, moment in enumerate(moments)
    ]
    return {"version": 1, "tasks": tasks}


def tree(number: int, size: int) -> dict[str, Any]:
    """Return a tree of ``size`` tasks, at most 13: a root, and parents of at most three leaves each."""
    parents = [task(f"t{number}-{n}") for n in range((size + 2) // 4)]
    for n in range(size - 1 - len(parents)):
        parents[n // 3]["tasks"].append(task(f"t{number}-{n // 3}-{n % 3}"))
    return task(f"t{number}", *parents)


def task(name: str, *below: dict[str, Any]) -> dict[str, Any]:
    """Return a task of hierarchy."""
    return {"id": name, "name": TEXT[:40], "description": TEXT, "status": "todo", "tasks": [*below]}


def session(server: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the 20 calls: list, look at a task, begin it, note something, finish it; four times."""
    for n in range(4):
        if server == "heartbeat":
            yield "task_list", {}
            yield "task_get", {"task_id": f"t{n}"}
            for updates in ({"status": "Running"}, {"ideas": ["Ask Ann."]}, {"status": "Complete", "result": "Done."}):
                yield "task_update", {"task_id": f"t{n}", "updates": updates}
        elif server == "hierarchy":
            task_id = f"t0-{n // 3}-{n % 3}"
            yield "listTasks", {}
            yield "startTask", {"id": "t0"}
            yield "getTask", {"id": task_id}
            yield "updateTask", {"id": task_id, "constraints": ["Ask Ann."]}
            yield "completeTask", {"id": task_id, "resolution": "Done."}
        else:
            yield "list_tasks", {}
            yield "get_task", {"id": f"t{n}"}
            yield "update_task_status", {"id": f"t{n}", "status": "in_progress"}
            yield "update_task", {"id": f"t{n}", "tags": ["Ann"]}
            yield "update_task_status", {"id": f"t{n}", "status": "done"}


def bytes_read(server: str, number: int, checkout: Path) -> int:
    """Return the bytes of the texts that a session reads from the server of a checkout, over stdio."""
    record = record_of(server)
    with TemporaryDirectory() as folder:
        Path(folder, record.store()).write_text(json.dumps(document(server, number)), "utf-8")
        paths = os.pathsep.join(str(checkout / "packages" / name / "src") for name in PACKAGES)
        environment = {**os.environ, **record.environment(Path(folder)), "PYTHONPATH": paths}
        with subprocess.Popen(record.module_command, stdin=-1, stdout=-1, env=environment, cwd=folder) as process:
            _ask(process, "initialize", START)
            calls = [_ask(process, "tools/call", {"name": tool, "arguments": given}) for tool, given in session(server)]
            process.communicate()
    if failed := [call for call in calls if call.get("isError")]:
        raise RuntimeError(f"a call failed: {failed[0]}")
    return sum(len(part["text"].encode()) for call in calls for part in call["content"])


def _ask(process: subprocess.Popen[bytes], method: str, params: dict[str, Any]) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    cast("IO[bytes]", process.stdin).write(json.dumps(request).encode() + b"\n")
    cast("IO[bytes]", process.stdin).flush()
    answer: dict[str, Any] = json.loads(cast("IO[bytes]", process.stdout).readline())["result"]
    return answer


def main() -> None:
    """Print a table for this checkout, and with ``--before`` for an older one too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    options = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    for server in NAMES:
        for when, checkout in (("before", options.before), ("now", here)):
            if checkout:
                counts = [f"{bytes_read(server, number, checkout.resolve()):,}" for number in NUMBERS]
                print(f"| {server} | {when} | {' | '.join(counts)} |")


if __name__ == "__main__":
    main()
