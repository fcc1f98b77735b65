"""Measure the servers of other projects beside ours: ``hatch run bench:peers FOLDER [--write]``.

FOLDER is where npm has installed them (``npm install --prefix FOLDER PACKAGE …``); one that is not there is left out.
Each runs without a network, in an empty home. With ``--write`` the table goes into ``docs/why.md``.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from typing_extensions import override

from benchmarks.pages import fill, table
from benchmarks.wire import Call, CallFailed, Client
from tests.servers import SERVERS

PAGE: Final = Path(__file__).parents[1] / "docs" / "why.md"

ROUNDS: Final = 5
"""Starts of each server; the fastest counts, since the machine may have other work."""

CREATES: Final = 50
"""Tasks that each of two processes creates on one store at the same time."""

_NAME: Final = "Part {writer}-{number}."

_EDGE: Final = 100
"""Bytes at each end of an answer among which its id is; searching all of it would be measured too."""


class ForeignClient(Client):
    """A server process of another project; notifications, and lines that are not of the protocol, are passed over."""

    @override
    def exchange(self, line: bytes) -> bytes:
        self.write(line)
        return self.answer_to(line)

    def answer_to(self, line: bytes) -> bytes:
        """Return the answer to a line that was written before."""
        wanted = f'"id":{json.loads(line.splitlines()[-1])["id"]}'.encode()
        while wanted not in (answer := self._next_line())[:_EDGE] + b"\n" + answer[-_EDGE:]:
            pass
        return answer

    def _next_line(self) -> bytes:
        chunks = [self._received]
        while b"\n" not in chunks[-1]:
            chunks.append(self._more())
        line, _, self._received = b"".join(chunks).partition(b"\n")
        return line


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A server that keeps tasks in files; ``{folder}`` stands for where they are."""

    name: str
    command: tuple[str, ...]
    create: str
    arguments: Callable[[str, str], dict[str, Any]]
    """Returns the arguments of a create, for a text and the folder."""
    store: str
    """The file or folder that has the tasks."""
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[str, ...] = ()
    """A command that makes the project in its folder."""


class Finding(NamedTuple):
    """The results of one server; the seconds are those from its start to its list of tools."""

    name: str
    seconds: float
    tools: int
    tool_bytes: int
    acknowledged: int
    kept: int


PEERS: Final = (
    Peer(
        name="task-master-ai",
        command=("task-master-ai",),
        create="add_task",
        arguments=lambda text, folder: {"title": text, "description": text, "projectRoot": folder},
        store=".taskmaster/tasks/tasks.json",
        environment={"TASK_MASTER_TOOLS": "standard"},
    ),
    Peer(
        name="backlog.md",
        command=("backlog", "mcp", "start"),
        create="task_create",
        arguments=lambda text, _: {"title": text},
        store="backlog/tasks",
        environment={"BACKLOG_CWD": "{folder}"},
        prepare=("backlog", "init", "parts", "--defaults", "--no-git"),
    ),
    Peer(
        name="@kazuph/mcp-taskmanager",
        command=("mcp-taskmanager",),
        create="request_planning",
        arguments=lambda text, _: {"originalRequest": text, "tasks": [{"title": text, "description": text}]},
        store="tasks.json",
        environment={"TASK_MANAGER_FILE_PATH": "{folder}/tasks.json"},
    ),
    Peer(
        name="@modelcontextprotocol/server-memory",
        command=("mcp-server-memory",),
        create="create_entities",
        arguments=lambda text, _: {"entities": [{"name": text, "entityType": "task", "observations": []}]},
        store="memory.jsonl",
        environment={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
    ),
)
"""Servers of other projects that need no model to create a task."""

OURS: Final = tuple(
    Peer(
        name=record.command,
        command=record.module_command,
        create=record.create,
        arguments=lambda text, _, record=record: {record.text: text},
        store=record.store(),
        environment=record.usual_environment(Path("{folder}")),
    )
    for record in SERVERS
)


def main() -> None:
    """Measure those that are installed, print the table, and write it down if asked to."""
    folder, *more = sys.argv[1:]
    programs = Path(folder).resolve() / "node_modules" / ".bin"
    there = [peer for peer in PEERS if (programs / peer.command[0]).exists()]
    text = render_table([measure(peer, programs) for peer in (*OURS, *there)])
    print(text)
    if "--write" in more:
        fill(PAGE, peers=text)


def measure(peer: Peer, programs: Path) -> Finding:
    """Return what a server does; its programs are in a folder that comes first on ``PATH``."""
    seconds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as name, open_peer(peer, programs, Path(name), is_new=True) as client:
            seconds.append(client.greeting["tools/list"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_peer(peer, programs, folder, is_new=True) as client, open_peer(peer, programs, folder) as other:
            tools = json.loads(client.exchange(client.line("tools/list")))["result"]["tools"]
            with ThreadPoolExecutor(2) as pool:
                sent = [pool.submit(_create, peer, one, folder, number) for number, one in enumerate((client, other))]
                acknowledged = sum(future.result() for future in sent)
        size = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode())
        return Finding(peer.name, min(seconds), len(tools), size, acknowledged, _count(peer, folder))


def open_peer(peer: Peer, programs: Path, folder: Path, *, is_new: bool = False) -> ForeignClient:
    """Start a server over its store in ``folder``, and make that first if it is new; the caller greets it."""
    environment = {"HOME": str(folder), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment |= {name: value.replace("{folder}", str(folder)) for name, value in peer.environment.items()}
    if is_new:
        lay_out(peer, folder, environment)
    return ForeignClient((*_apart(), *peer.command), environment)


def lay_out(peer: Peer, folder: Path, environment: Mapping[str, str] = MappingProxyType({})) -> None:
    """Make the project in ``folder`` that a server works on, if it needs one; some need their command for that."""
    (folder / peer.store).parent.mkdir(parents=True, exist_ok=True)
    if peer.prepare:
        whole = {**os.environ, **environment}
        subprocess.run([*_apart(), *peer.prepare], cwd=folder, env=whole, check=True, stdout=subprocess.DEVNULL)
    if "taskmaster" in peer.store:
        # Without it Task Master writes a warning at each call.
        config = (folder / peer.store).parents[1] / "config.json"
        config.write_text('{"models": {}, "global": {"projectName": "Parts"}}')
        (folder / peer.store).write_text('{"master": {"tasks": [], "metadata": {}}}')


@cache
def _apart() -> tuple[str, ...]:
    """Return what runs a command without a network, if this machine lets its user do so."""
    command = ("unshare", "--map-root-user", "--net")
    is_allowed = shutil.which("unshare") and not subprocess.run([*command, "true"], check=False).returncode
    return command if is_allowed else ()


def _create(peer: Peer, client: ForeignClient, folder: Path, writer: int) -> int:
    """Create the tasks of one writer, one after the other; return how many were acknowledged."""
    done = 0
    for number in range(CREATES):
        arguments = peer.arguments(_NAME.format(writer=writer, number=number), str(folder))
        with suppress(CallFailed):
            client.time(Call(peer.create, arguments))
            done += 1
    return done


def _count(peer: Peer, folder: Path) -> int:
    """Return how many of the tasks the store holds."""
    store = folder / peer.store
    files = sorted(store.rglob("*")) if store.is_dir() else [store]
    text = "\n".join(path.read_text("utf-8") for path in files if path.is_file())
    names = [_NAME.format(writer=writer, number=number) for writer in range(2) for number in range(CREATES)]
    return sum(name in text for name in names)


def render_table(found: Sequence[Finding]) -> str:
    """Return what was found as Markdown."""
    head = ("server", "first list of tools", "tools", "their bytes", "acknowledged", "lost")
    rows = [
        (
            *(one.name, f"{one.seconds:.2f} s", str(one.tools), f"{one.tool_bytes:,}"),
            *(str(one.acknowledged), f"**{max(0, one.acknowledged - one.kept)}**"),
        )
        for one in found
    ]
    return table(head, rows, "---:")


if __name__ == "__main__":
    main()
