"""A folder with a program in place of ``ctx``, and servers that run it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from mcp.client import Client
from mcp_types import CallToolResult, TextContent

from cortex_mcp.server import build_server
from cortex_mcp.settings import CortexMcpSettings
from task_core.server.app import TaskServer
from tests.tool_client import Era

__all__ = ["TASK", "VERSION", "CtxFixture", "content_of", "is_running", "lay_out", "text_of"]

VERSION: Final[dict[str, Any]] = {"success": True, "program": "cortex", "protocol": 1, "version": "0.1.0"}

TASK: Final[dict[str, Any]] = {
    "id": 42,
    "project": {"id": 1, "name": "Cortex", "repository_url": None, "default_branch": "main"},
    "title": "Lies den Entwurf [/]",
    "type": "feature",
    "priority": "MEDIUM",
    "status": "TODO",
    "assignee": None,
    "branch_name": None,
    "version": 1,
}

BEHAVIORS: Final[dict[str, Any]] = {
    "version": {"answer": VERSION},
    "tasks list": {"answer": {"success": True, "tasks": [TASK], "total": 1, "next_cursor": None, "message": "1 tasks"}},
    "tasks show": {"answer": {"success": True, "task": {**TASK, "description": "Alles."}}},
    "tasks start": {
        "answer": {
            "success": True,
            "task_id": 42,
            "branch": "feature/task-42-lies-den-entwurf",
            "created": True,
            "status": "IN_PROGRESS",
            "base": "main",
            "directory": "/repository",
            "task": {**TASK, "status": "IN_PROGRESS"},
        }
    },
    "tasks pr": {
        "answer": {
            "success": True,
            "task_id": 42,
            "branch": "feature/task-42-lies-den-entwurf",
            "status": "REVIEW",
            "commit": "c0ffee",
            "commit_message": "Lies den Entwurf",
            "pushed": True,
            "pull_request": {"url": None, "number": None, "forge": "none", "state": "open", "created": True},
            "compare_url": None,
        }
    },
    "tasks done": {
        "answer": {
            "success": True,
            "task_id": 42,
            "status": "DONE",
            "merged_by": "ancestor",
            "base": "main",
            "deleted": {"local": True, "remote": False, "worktree": False},
        }
    },
    "tasks status": {
        "answer": {
            "success": True,
            "current_branch": "main",
            "is_task_branch": False,
            "task_id": None,
            "task": None,
            "git": {"head": "c0ffee", "dirty": False},
            "pull_request": None,
            "next": "start_task",
        }
    },
    "events": {"follow": True},
    "auth status": {
        "answer": {
            "success": True,
            "url": "http://127.0.0.1:8000",
            "user": {"id": 1, "name": "Ada"},
            "session_expires_at": "2026-03-01T00:00:00Z",
            "storage": "file",
        }
    },
}
"""What each command answers if a test says nothing else."""


class CtxFixture:
    """A program in ``folder`` in place of ``ctx``, and a repository beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / "repository"
        self.repository.mkdir(parents=True, exist_ok=True)
        self.path = folder / "ctx"
        code = Path(__file__).with_name("fake_ctx.py").read_text("utf-8")
        self.path.write_text(f"#!{sys.executable} -IS\n{code}", "utf-8")
        self.path.chmod(0o700)
        self._behaviors = {**BEHAVIORS}
        self.set_behaviors()

    def set_behaviors(self, **behaviors: dict[str, Any]) -> None:
        """Change what the commands do; their names have ``_`` in place of blanks."""
        self._behaviors |= {name.replace("_", " "): behavior for name, behavior in behaviors.items()}
        (self.folder / "behaviors.json").write_text(json.dumps(self._behaviors), "utf-8")

    def replies(self, command: str, content: dict[str, Any], code: int = 0) -> None:
        """Let a command answer with this object."""
        self.set_behaviors(**{command: {"answer": content, "exit": code}})

    def refuses(self, command: str, code: str, error: str, **details: object) -> dict[str, Any]:
        """Let a command refuse, and return what it answers."""
        content = {"success": False, "error": error, "code": code, "details": details}
        self.replies(command, content, 1)
        return content

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What the program noted, in order."""
        path = self.folder / "calls.jsonl"
        whole = path.read_text("utf-8").rpartition("\n")[0] if path.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """How the program was called, but for the question what it is."""
        return [it for it in self.notes if "argv" in it and it["argv"][0] != "version"]

    def pids(self) -> list[int]:
        """Return the processes that were ever started."""
        return [it.get("grandchild") or it["pid"] for it in self.notes if "argv" in it or "grandchild" in it]

    def is_quiet(self) -> bool:
        """Return whether none of them is left."""
        return not any(map(is_running, self.pids()))

    def settings(self, **values: object) -> CortexMcpSettings:
        """Return the settings of a server that runs the program."""
        usual: dict[str, object] = {"cortex_ctx": self.path, "cortex_repo": self.repository}
        usual |= {"cortex_list_timeout": 600, "cortex_git_timeout": 600}  # only a test of time ends a call
        return CortexMcpSettings.model_validate({**usual, **values})

    def server(self, **values: object) -> TaskServer:
        """Return such a server."""
        return build_server(self.settings(**values))

    async def call(self, tool: str, server: TaskServer | None = None, /, **arguments: object) -> CallToolResult:
        """Return the result of a call by a client of its own."""
        return await self.ask(tool, arguments, server)

    async def ask(
        self, tool: str, arguments: dict[str, Any], server: TaskServer | None = None, era: Era = "auto"
    ) -> CallToolResult:
        """Do the same with arguments from a table, in an era of the protocol."""
        async with Client((server or self.server()).sdk, mode=era) as client:
            return await client.call_tool(tool, arguments)

    def event(self, **event: object) -> None:
        """Append an event."""
        with (self.folder / "events").open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


def lay_out(folder: Path) -> dict[str, str]:
    """Put a fake ``ctx`` into ``folder``, and return the settings of a server that runs it."""
    made = CtxFixture(folder)
    return {"CORTEX_CTX": str(made.path), "CORTEX_REPO": str(made.repository)}


def is_running(pid: int) -> bool:
    """Return whether there is such a process, other than one that has ended and is only waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def content_of(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content."""
    content: dict[str, Any] = result.structured_content
    return content


def text_of(result: CallToolResult) -> str:
    """Return the text."""
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text
