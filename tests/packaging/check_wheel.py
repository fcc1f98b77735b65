"""Check a server that was installed from its wheel alone, or was removed: ``check_wheel.py installed heartbeat_mcp``.

Runs in the clean environment itself, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

OURS = {"mcp-task-core", "heartbeat-mcp", "hierarchy-mcp", "tasks-v1-mcp"}
SECONDS = 60


def request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Case(NamedTuple):
    """How to see that a server works: the setting of its file, a call that makes a task, and what answers then."""

    variable: str
    tools: int
    create: str
    arguments: dict[str, object]


CASES = {
    "heartbeat-mcp": Case("HEARTBEAT_FILE_PATH", 4, "task_create", {"raw_user_request": "buy milk"}),
    "hierarchy-mcp": Case("FILE_PATH", 7, "createTask", {"name": "buy milk"}),
    "tasks-v1-mcp": Case("TASKS_FILE_PATH", 5, "create_task", {"title": "buy milk"}),
}


def conversation(case: Case) -> str:
    client = {"name": "check", "version": "1"}
    messages = [
        request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/list"),
        request(3, "tools/call", name=case.create, arguments=case.arguments),
    ]
    return "".join(json.dumps(message) + "\n" for message in messages)


def check_neighbours(server: str) -> None:
    """Only the server and the core are here, and both from wheels."""
    found = {item.metadata["Name"]: item for item in distributions() if item.metadata["Name"] in OURS}
    assert found.keys() == {"mcp-task-core", server}, sorted(found)
    for item in found.values():
        assert "editable" not in (item.read_text("direct_url.json") or ""), item.metadata["Name"]
        assert [path for path in item.files or [] if path.name == "LICENSE"], item.metadata["Name"]


def check_answers(server: str, command: list[str]) -> None:
    """The server starts, answers each request, keeps the task, and ends with its input."""
    case = CASES[server]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder).resolve() / "tasks.file"
        done = subprocess.run(
            command,
            input=conversation(case),
            env=os.environ | {case.variable: str(file)},
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
        assert answers[1]["serverInfo"]["name"] == server, answers[1]
        assert len(answers[2]["tools"]) == case.tools, answers[2]
        assert not answers[3].get("isError"), answers[3]
        assert "buy milk" in file.read_text("utf-8")


def check_installed(server: str) -> None:
    """Check ``server``, as a command and as a module, and say that it held."""
    check_neighbours(server)
    check_answers(server, [str(Path(sys.executable).with_name(server))])
    check_answers(server, [sys.executable, "-m", server.replace("-", "_")])
    print(f"{server}: installed from its wheel alone, it starts, answers and keeps a task")


def check_removed(server: str) -> None:
    """Check that nothing of ``server`` and the core is left, and say so."""
    assert not [item for item in distributions() if item.metadata["Name"] in OURS]
    assert not Path(sys.executable).with_name(server).exists()
    assert [name for name in ("task_core", server.replace("-", "_")) if find_spec(name)] == []
    print(f"{server}: removed, it leaves nothing")


if __name__ == "__main__":
    {"installed": check_installed, "removed": check_removed}[sys.argv[1]](sys.argv[2].replace("_", "-"))
