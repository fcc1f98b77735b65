"""Check each package from its wheel alone: that it installs, starts, answers, keeps a task, and leaves nothing behind.

The backend keeps a user instead. With ``installed heartbeat-mcp`` or ``removed heartbeat-mcp`` it runs in the clean
environment itself, so it imports nothing but the standard library.
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

from tests.servers import SERVERS, ServerRecord, record_of

BACKEND = "cortex-tasks-backend"
OURS = {"mcp-task-core", BACKEND, *(record.command for record in SERVERS)}
SECONDS = 60
MODULE = "tests.packaging.check_wheel"
ROOT = Path(__file__).resolve().parents[2]
UV = os.environ.get("HATCH_UV", "uv")


def request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def conversation(record: ServerRecord) -> str:
    client = {"name": "check", "version": "1"}
    messages = [
        request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/list"),
        request(3, "tools/call", name=record.create, arguments={record.text: "buy milk"}),
    ]
    return "".join(json.dumps(message) + "\n" for message in messages)


def check_neighbours(*expected: str) -> None:
    """Of our packages only these are here, and all from wheels."""
    found = {item.metadata["Name"]: item for item in distributions() if item.metadata["Name"] in OURS}
    assert found.keys() == {*expected}, sorted(found)
    for item in found.values():
        assert "editable" not in (item.read_text("direct_url.json") or ""), item.metadata["Name"]
        assert [path for path in item.files or [] if path.name == "LICENSE"], item.metadata["Name"]


def check_answers(server: str, command: list[str]) -> None:
    """The server starts, answers each request, keeps the task, and ends with its input."""
    record = record_of(server)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        done = subprocess.run(
            command,
            input=conversation(record),
            env=os.environ | record.environment(home),
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
        assert answers[1]["serverInfo"]["name"] == server, answers[1]
        assert len(answers[2]["tools"]) == len(record.calls), answers[2]
        assert not answers[3].get("isError"), answers[3]
        assert "buy milk" in (home / record.store()).read_text("utf-8")


def check_installed(server: str) -> None:
    """Check ``server``, as a command and as a module, and say that it held."""
    if server == BACKEND:
        check_backend()
        return
    check_neighbours("mcp-task-core", server)
    check_answers(server, [str(Path(sys.executable).with_name(server))])
    check_answers(server, [sys.executable, "-m", server.replace("-", "_")])
    print(f"{server}: installed from its wheel alone, it starts, answers and keeps a task")


def check_backend() -> None:
    """Check that the backend is here alone, migrates a database, and keeps a user, as a command and as a module."""
    check_neighbours(BACKEND)
    for command in ([str(Path(sys.executable).with_name("cortex-backend"))], [sys.executable, "-m", "cortex_backend"]):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [*command, "user", "add", "ada@example.com", "--password-stdin"],
                input="correct horse battery\n",
                env=os.environ | {"CORTEX_DATABASE_URL": f"sqlite:///{folder}/cortex.db"},
                capture_output=True,
                check=False,
                encoding="utf-8",
                timeout=SECONDS,
            )
            assert (done.returncode, done.stdout) == (0, "Added user 1.\n"), done.stderr
    print(f"{BACKEND}: installed from its wheel alone, it starts, migrates a database and keeps a user")


def check_removed(server: str) -> None:
    """Check that nothing of ``server`` and the core is left, and say so."""
    assert not [item for item in distributions() if item.metadata["Name"] in OURS]
    command = server.replace("-tasks", "")
    assert not Path(sys.executable).with_name(command).exists()
    assert [name for name in ("task_core", command.replace("-", "_")) if find_spec(name)] == []
    print(f"{server}: removed, it leaves nothing")


def check_all() -> None:
    """Install each package from its wheel into an environment of its own, check it there, and remove it."""
    for names in (*(("mcp-task-core", record.command) for record in SERVERS), (BACKEND,)):
        with tempfile.TemporaryDirectory() as folder:
            run(UV, "venv", "--quiet", "--python", sys.executable, folder)
            python = Path(folder, "bin", "python")
            # All by path: a name alone would also be looked up in the index, where it may be somebody else's.
            wheels = [next(ROOT.glob(f"dist/{name.replace('-', '_')}-*.whl")) for name in names]
            run(UV, "pip", "install", "--quiet", "--python", python, *wheels)
            run(UV, "pip", "check", "--quiet", "--python", python)
            run(python, "-m", MODULE, "installed", names[-1])
            run(UV, "pip", "uninstall", "--quiet", "--python", python, *names)
            run(python, "-m", MODULE, "removed", names[-1])


def run(*command: str | Path) -> None:
    """Run a command in the root of the workspace, and fail if it fails."""
    subprocess.run(command, check=True, cwd=ROOT)


CHECKS = {"installed": check_installed, "removed": check_removed}

if __name__ == "__main__":
    if sys.argv[1:]:
        CHECKS[sys.argv[1]](sys.argv[2])
    else:
        check_all()
