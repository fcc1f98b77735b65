"""Every server shows its tasks to people, on each engine, and nothing is changed by it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import pytest

from task_core.cli.main import run
from task_core.cli.settings import StoreServerSettings
from task_hosted.service.settings import HostedSettings
from tests.core.command_line import Ended, command_line
from tests.core.screen import open_screen
from tests.heartbeat.cleaning import clean_ups_ended
from tests.postgres import needs_postgres
from tests.servers import PROGRAMS, SERVERS, ProgramRecord, ServerRecord, record_of
from tests.tool_client import call_tool
from tests.untouched import untouched
from tests.wire.line_client import PATIENCE

SLOW: Final = frozenset({"mcp", "mcp_types", "starlette", "uvicorn", "anyio", "httpx2", "jwt", "prometheus_client"})
"""What no command that shows tasks imports: the SDK, and what serves over HTTP."""

TERMINAL: Final = frozenset({"rich"})
"""What only one at a terminal imports."""

FIRST: Final = ("install  ", "list  ", "watch  ", "doctor  ", "serve  ", "--transport")
"""Words of a help, in its order."""


class Place:
    """A server on one engine, with its files in a folder."""

    def __init__(self, record: ServerRecord, engine: str, folder: Path, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured
        self.record = record
        self.engine = engine
        self.folder = folder
        self.environment = record.environment(folder, engine)

    async def add(self) -> str:
        """Let the server create a task, and return its id."""
        record = self.record
        server = record.built(self.folder, self.engine)
        try:
            return record.task_id(await call_tool(server, record.create, record.call(record.create)))
        finally:
            await clean_ups_ended()
            server.close()
            server.end()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Run the block, in which no file may change."""
        if self.engine != "sqlite":
            with untouched(self.folder):
                yield
            return
        # For as long as it reads, SQLite has files of its own beside the database, so the time of the folder changes.
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        yield
        assert {path: path.read_bytes() for path in self.folder.iterdir()} == before

    @property
    def text(self) -> str:
        """What the task that was added is about."""
        return str(self.record.call(self.record.create)[self.record.text])

    def start(self, command: str, out: int | IO[bytes], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a command in a process of its own."""
        environment = {**os.environ, **self.environment, "TERM": "xterm"}
        words = [*self.record.module_command, command]
        return subprocess.Popen(words, env=environment, stdin=stdin, stdout=out)

    def run(self, *words: str) -> Ended:
        """Return how a command of the server ended, and what it said in a pipe."""
        with pytest.MonkeyPatch.context() as patched, command_line():
            for name, value in self.environment.items():
                patched.setenv(name, value)
            with pytest.raises(SystemExit) as caught:
                run(self.record.program(), words)
        return Ended(int(caught.value.code or 0), *self._captured.readouterr())


def places() -> Iterator[Any]:
    """Yield every server on its document, and one of them on the other engines."""
    for record in SERVERS:
        for engine in record.engines if record.name == "tasks-v1" else record.engines[:1]:
            marks = (needs_postgres,) if engine == "postgresql" else ()
            yield pytest.param((record, engine), id=f"{record.name}-{engine}", marks=marks)


@pytest.fixture(params=places())
def place(request: pytest.FixtureRequest, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Place:
    record, engine = request.param
    return Place(record, engine, tmp_path, capfd)


@pytest.mark.requirement("PE-16")
async def test_a_task_is_listed_shown_and_chosen_and_nothing_is_changed(place: Place) -> None:
    task_id = await place.add()
    with place.unchanged():
        code, out, err = place.run("list")
        assert (code, err) == (0, "")
        assert out.split("\t")[0::2][:2] == [task_id, place.text]
        (listed,) = json.loads(place.run("list", "--json").out)["tasks"]
        assert (listed["id"], listed["text"], listed["depth"]) == (task_id, place.text, 0)
        chosen = ("list", listed["status"], "--all", "--search", place.text.upper(), "--json")
        assert json.loads(place.run(*chosen).out) == {"tasks": [listed]}
        shown = json.loads(place.run("show", task_id, "--json").out)
        assert (shown["id"], shown[place.record.text]) == (task_id, place.text)
        assert json.loads(place.run("next", "--json").out) == shown
        code, _, reason = place.run("list", "no such status")
        assert code == 1
        assert f"{listed['status']}, " in reason


def test_where_there_are_no_tasks_yet_none_are_made(place: Place) -> None:
    with untouched(place.folder):
        code, out, err = place.run("list")
        assert (code, out) == (0, "")
        assert err.startswith("There are no tasks")
        assert place.run("next") == (0, "", "There is no task to work on now.\n")


@pytest.mark.parametrize("place", [it for it in places() if "postgresql" not in it.id], indirect=True)
def test_a_damaged_store_is_named_and_left_alone(place: Place) -> None:
    store = place.folder / place.record.store(place.engine)
    store.write_bytes(b'{"tasks": [\n{"id": ' if place.engine == "json" else b"not a database" * 100)
    with untouched(place.folder):
        code, out, err = place.run("list")
    assert (code, out) == (1, "")
    assert f"list: The store '{store.name}' is damaged" in err
    assert len(err.splitlines()) == 1


@pytest.mark.process
@pytest.mark.parametrize("record", PROGRAMS, ids=[record.name for record in PROGRAMS])
def test_a_command_in_a_pipe_imports_nothing_that_is_slow(record: ProgramRecord, tmp_path: Path) -> None:
    ended = subprocess.run(
        [*record.module_command, "list"],
        env={**os.environ, **record.environment(tmp_path), "PYTHONPROFILEIMPORTTIME": "1"},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    lines = ended.stderr.decode().splitlines()
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines if line.startswith("import time:")}
    assert {"pydantic", "task_core"} <= imported
    assert imported.isdisjoint(SLOW | TERMINAL)


@pytest.mark.parametrize("record", PROGRAMS, ids=[record.name for record in PROGRAMS])
def test_every_server_has_a_view(record: ProgramRecord) -> None:
    assert record.program().view


@pytest.mark.requirement("PE-16")
@pytest.mark.parametrize("record", PROGRAMS, ids=[record.name for record in PROGRAMS])
def test_the_help_begins_with_what_people_need_and_has_no_setting_of_a_hosted_service(
    record: ProgramRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    with command_line(), pytest.raises(SystemExit):
        run(record.program(), ["--help"])
    text = capsys.readouterr().out
    places = [text.index(f" {word}") for word in FIRST]
    assert places == sorted(places)
    shared = {*StoreServerSettings.model_fields}
    own = [name.upper() for name in record.settings_type.model_fields if name not in shared]
    assert max(text.index(f"\n  {name}\n") for name in own) < text.index("\n  LOG_LEVEL\n")
    assert [name for name in {*HostedSettings.model_fields} - shared if name.upper() in text] == []


@pytest.mark.process
@pytest.mark.parametrize("place", [it for it in places() if "tasks-v1" in it.id], indirect=True)
async def test_whoever_watches_sees_what_a_server_does_and_leaves_by_an_interrupt(place: Place) -> None:
    await place.add()
    with open_screen() as (screen, _):
        process = place.start("watch", screen.slave, screen.slave)
        screen.wait_for("1 task: ")
        await place.add()
        screen.wait_for("2 tasks: ")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert screen.written.endswith(b"\x1b[?25h")


@pytest.mark.process
async def test_a_watch_in_a_pipe_has_a_line_for_each_new_task(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server").mkdir()
    place = Place(record_of("tasks-v1"), "json", tmp_path / "server", capfd)
    out = tmp_path / "out"
    with out.open("wb") as stream:
        process = place.start("watch", stream)
    added: list[str] = []
    while not out.read_bytes():  # what is there at the first look is not written
        assert process.poll() is None
        added.append(await place.add())
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    kind, task_id, status, text, *_ = out.read_text("utf-8").splitlines()[0].split("\t")
    assert (kind, status, text) == ("new", "pending", place.text)
    assert task_id in added
