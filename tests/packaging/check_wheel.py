"""Check a server that was installed from its wheel alone: ``python check_wheel.py heartbeat-mcp``.

Runs in the clean environment itself, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

OURS = {"mcp-task-core", "heartbeat-mcp", "hierarchy-mcp", "tasks-v1-mcp"}
SECONDS = 60


def request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


CONVERSATION: list[dict[str, object]] = [
    request(
        1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "check", "version": "1"}
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    request(2, "tools/list"),
    request(3, "tools/call", name="task_create", arguments={"raw_user_request": "buy milk"}),
    request(4, "tools/call", name="task_list", arguments={}),
]


def check_neighbours(server: str) -> None:
    """Only the server and the core are here, and both from wheels."""
    found = {item.metadata["Name"]: item for item in distributions() if item.metadata["Name"] in OURS}
    assert found.keys() == {"mcp-task-core", server}, sorted(found)
    for item in found.values():
        assert "editable" not in (item.read_text("direct_url.json") or ""), item.metadata["Name"]
        assert [path for path in item.files or [] if path.name == "LICENSE"], item.metadata["Name"]


def check_answers(command: list[str]) -> None:
    """The server starts, answers each request, keeps the task, and ends with its input."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder).resolve() / "HEARTBEAT.md"
        done = subprocess.run(
            command,
            input="".join(json.dumps(message) + "\n" for message in CONVERSATION),
            env=os.environ | {"HEARTBEAT_FILE_PATH": str(file)},
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
        assert answers[1]["serverInfo"]["name"] == "heartbeat-mcp", answers[1]
        assert len(answers[2]["tools"]) == 4, answers[2]
        assert "buy milk" in file.read_text("utf-8")
        assert answers[3]["structuredContent"] in answers[4]["structuredContent"]["tasks"], answers


def check_absence(command: list[str], server: str) -> None:
    """A server that is not there yet says so and ends with exit code 2."""
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", timeout=SECONDS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{server}: this server is not there yet"), done.stderr


def main(server: str) -> None:
    """Check ``server`` and say that it held."""
    check_neighbours(server)
    module = server.replace("-", "_")
    for command in ([str(Path(sys.executable).with_name(server))], [sys.executable, "-m", module]):
        if server == "heartbeat-mcp":
            check_answers(command)
        else:
            check_absence(command, server)
    print(f"{server}: installed from its wheel alone, it does what it should")


if __name__ == "__main__":
    main(*sys.argv[1:])
