"""Check each package from its wheel alone: that it installs, starts, answers, keeps a task, and leaves nothing behind.

The backend keeps a user instead, ``ctx`` says what it is, cortex-mcp finds it, a server finds the hosted service,
and mcp-client-install adds a server to a client.
With ``installed heartbeat-mcp`` or ``removed heartbeat-mcp`` it runs in the clean environment itself, so it imports
nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.cookiejar import CookieJar
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

from tests.servers import SERVERS, ServerRecord, program_of, record_of

BACKEND = "cortex-tasks-backend"
CTX = "cortex-tasks-cli"
CORTEX = "cortex-tasks-mcp"
BOARD = "mcp-task-board"
HOSTED = "mcp-task-hosted"
INSTALL = "mcp-client-install"
FORMATS = "mcp-task-formats"
COMMANDS = {BACKEND: "cortex-backend", CTX: "ctx", CORTEX: "cortex-mcp", BOARD: "task-board"}
"""The commands that are not called as their distribution."""
MODULES = {CTX: "cortex_cli", HOSTED: "task_hosted", INSTALL: "mcp_client_install"}
"""The modules that are not called as the command."""

TOGETHER = [
    *(("mcp-task-core", INSTALL, FORMATS, record.command) for record in SERVERS),
    (BACKEND,),
    (CTX,),
    (INSTALL,),
    (FORMATS,),
    ("mcp-task-core", INSTALL, CTX, CORTEX),
    ("mcp-task-core", INSTALL, FORMATS, "tasks-v1-mcp", BOARD),
    ("mcp-task-core", INSTALL, FORMATS, "tasks-v1-mcp", HOSTED),
]
"""What is installed together: a package and what it requires of ours before it."""

OURS = {name for names in TOGETHER for name in names}
SECONDS = 60
MODULE = "tests.packaging.check_wheel"
ROOT = Path(__file__).resolve().parents[2]
UV = os.environ.get("HATCH_UV", "uv")


def request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def opening() -> str:
    """Return the first messages of a client."""
    client = {"name": "check", "version": "1"}
    messages = [
        request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/list"),
    ]
    return "".join(json.dumps(message) + "\n" for message in messages)


def conversation(record: ServerRecord) -> str:
    """Return the messages of a client that creates a task."""
    call = request(3, "tools/call", name=record.create, arguments={record.text: "buy milk"})
    return opening() + json.dumps(call) + "\n"


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


def check_installed(name: str) -> None:
    """Check the package ``name``, as a command and as a module, and say that it held."""
    check_neighbours(*next(names for names in TOGETHER if names[-1] == name))
    if name == FORMATS:
        check_formats()
        print(f"{name}: installed from its wheel alone, it reads what it writes")
        return
    command = COMMANDS.get(name, name)
    module = MODULES.get(name, command.replace("-", "_"))
    checks = {BACKEND: check_backend, CORTEX: check_tools, BOARD: check_board, HOSTED: check_hosted}
    checks[INSTALL] = check_client
    for started in ([str(Path(sys.executable).with_name(command))], [sys.executable, "-m", module]):
        if name == CTX:
            check_json([*started, "version", "--json"], program="cortex", protocol=1)
        elif name in checks:
            checks[name](started)
        else:
            check_answers(name, started)
    print(f"{name}: installed from its wheel alone, it starts, answers and keeps what it is there to keep")


def check_formats() -> None:
    """A list that is written is read back."""
    from task_formats.formats import FORMATS as KNOWN  # noqa: PLC0415 - only where it is installed
    from task_formats.formats import WRITABLE  # noqa: PLC0415 - as above
    from task_formats.record import ForeignTask  # noqa: PLC0415 - as above

    for name in WRITABLE:
        written = KNOWN[name].write([ForeignTask("task-1", "buy milk")])
        assert [task.title for task in KNOWN[name].read(written.files).tasks] == ["buy milk"], name


def check_json(command: list[str], **expected: object) -> None:
    """The command prints one object, with these members."""
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=SECONDS)
    assert json.loads(done.stdout).items() >= expected.items(), done.stdout


def check_tools(command: list[str]) -> None:
    """The server finds ctx beside it, and its tools answer that nobody is logged in."""
    with tempfile.TemporaryDirectory() as home:
        call = request(3, "tools/call", name="list_tasks", arguments={})
        done = subprocess.run(
            command,
            input=opening() + json.dumps(call) + "\n",
            env=os.environ | {"CTX_CONFIG_DIR": home},
            cwd=home,
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=SECONDS,
        )
    assert done.returncode == 0, done.stderr
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
    assert len(answers[2]["tools"]) == len(program_of("cortex").calls), answers[2]
    assert answers[3]["structuredContent"]["code"] == "NotLoggedIn", answers[3]


def check_backend(command: list[str]) -> None:
    """The backend migrates a database, and keeps a user."""
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


def check_board(command: list[str]) -> None:
    """The board finds the server beside it, and shows its tasks with everything that the page needs."""
    with tempfile.TemporaryDirectory() as folder:
        started = [*command, "--no-browser", f"tasks-v1={folder}/tasks.json"]
        with subprocess.Popen(started, stdout=subprocess.PIPE, encoding="utf-8") as process, ExitStack() as stack:
            stack.callback(process.terminate)
            assert process.stdout
            link = process.stdout.readline().split()[-1]
            cookies = CookieJar()
            browser = build_opener(HTTPCookieProcessor(cookies))
            browser.open(link, timeout=SECONDS).close()
            base = link.partition("/?")[0]
            (secret,) = (cookie.path for cookie in cookies)
            for path in (
                f"{secret}/b/tasks-v1",
                "/static/board.css",
                "/static/board.js",
                "/static/htmx.min.js",
                "/static/icon.svg",
            ):
                with browser.open(base + path, timeout=SECONDS) as page:
                    assert page.read(), path


def check_hosted(command: list[str]) -> None:
    """The command prints the settings, and the server beside it asks for the one that is missing."""
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=SECONDS)
    assert "TASK_PUBLIC_URL" in done.stdout, done.stdout
    done = subprocess.run(
        [Path(sys.executable).with_name("tasks-v1-mcp"), "--transport", "http", "--port", "0"],
        env=os.environ | {"TASK_AUTH_ISSUER": "https://issuer.example.com", "TASK_STORE": "memory:"},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert (done.returncode, "Set TASK_PUBLIC_URL" in done.stderr) == (2, True), done.stderr


def check_client(command: list[str]) -> None:
    """The command adds a server to a client, and removes it."""
    with tempfile.TemporaryDirectory() as home:
        file = Path(home, ".cursor", "mcp.json")
        for words in (["add", "weather", "--", sys.executable, "-m", "weather"], ["remove", "weather"]):
            started = [*command, *words[:2], "--client", "cursor", "--yes", *words[2:]]
            environment = os.environ | {"HOME": home}
            subprocess.run(started, env=environment, cwd=home, check=True, capture_output=True, timeout=SECONDS)
            assert file.exists() == (words[0] == "add")


def check_removed(name: str) -> None:
    """Check that nothing of the package and of what came with it is left, and say so."""
    assert not [item for item in distributions() if item.metadata["Name"] in OURS]
    command = COMMANDS.get(name, name)
    assert not Path(sys.executable).with_name(command).exists()
    modules = {"task_core", "task_formats", *MODULES.values(), command.replace("-", "_")}
    assert [module for module in modules if find_spec(module)] == []
    print(f"{name}: removed, it leaves nothing")


def check_alone(names: tuple[str, ...]) -> None:
    """Install a package from its wheel into an environment of its own, check it there, and remove it."""
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


def check_all() -> None:
    """Check every package, as many at a time as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        list(workers.map(check_alone, TOGETHER))


def run(*command: str | Path) -> None:
    """Run a command in the root of the workspace, and fail if it fails."""
    subprocess.run(command, check=True, cwd=ROOT)


CHECKS = {"installed": check_installed, "removed": check_removed}

if __name__ == "__main__":
    if sys.argv[1:]:
        CHECKS[sys.argv[1]](sys.argv[2])
    else:
        check_all()
