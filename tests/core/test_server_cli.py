"""The command line that every server shares: what it answers by itself, and with which exit code (CLI-1 to CLI-3)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread

import pytest

from task_core.bootstrap import BadSettings
from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.settings import describe_settings
from task_core.doctor import Check, right
from task_core.server.app import TaskServer
from task_core.store import ListCodec
from task_core.warning_list import WarningList
from tests.core.command_line import Ended, NotesSettings, command_line
from tests.core.notes import NOTES, add, open_store
from tests.packaging.projects import ROOT
from tests.processes import ending
from tests.wire.line_client import PATIENCE, TOY


def build(settings: NotesSettings) -> TaskServer:
    raise BadSettings(f"GREETING is '{settings.greeting}': be polite")


def checks(settings: NotesSettings) -> Iterable[Check]:
    return [Check("notes", lambda: [right(f"they are at {settings.address}")])]


PROGRAM = Program(
    "mcp-task-core",
    settings_type=lambda: NotesSettings,
    build=build,
    checks=checks,
    codec=lambda: ListCodec(NOTES),
)


class CommandLine:
    """The command line of a server of notes, within this process."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *arguments: str) -> Ended:
        with pytest.raises(SystemExit) as caught:
            run(PROGRAM, arguments)
        return Ended(int(caught.value.code or 0), *self._captured.readouterr())


@pytest.fixture
def notes(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    for name, _, _ in describe_settings(NotesSettings):
        monkeypatch.delenv(name, raising=False)
    with command_line():
        yield CommandLine(capfd)


@pytest.mark.requirement("CLI-1")
def test_the_version_is_shown(notes: CommandLine) -> None:
    assert notes("--version") == (0, f"mcp-task-core {version('mcp-task-core')}\n", "")


@pytest.mark.requirement("CLI-1")
def test_the_help_names_every_command_every_option_and_every_variable_with_its_default(notes: CommandLine) -> None:
    code, text, _ = notes("--help")
    assert code == 0
    for word in ("serve", "doctor", "export", "import", "restore", "FILE", "--transport", "--host", "--port"):
        assert word in text
    assert "The core of dependable MCP task servers" in text
    for name, description, default in describe_settings(NotesSettings):
        assert f"  {name}\n      {description} ({default})" in text
    assert "Seconds to wait while another process holds the store. (default 10)" in text


@pytest.mark.requirement("CLI-1")
def test_a_program_that_is_not_installed_has_its_help_too() -> None:
    assert PROGRAM._replace(name="not-installed-mcp").description() == ""


@pytest.mark.requirement("CLI-1")
def test_a_server_can_be_run_by_the_path_of_its_folder() -> None:
    folder = ROOT / "packages" / "tasks-v1-mcp" / "src" / "tasks_v1_mcp"
    ended = subprocess.run([sys.executable, folder, "--version"], check=True, capture_output=True, timeout=PATIENCE)
    assert ended.stdout.decode() == f"tasks-v1-mcp {version('tasks-v1-mcp')}\n"


@pytest.mark.requirement("CLI-1", "DOC-1")
def test_doctor_reports_on_the_set_up(notes: CommandLine) -> None:
    code, text, errors = notes("doctor")
    assert (code, errors) == (0, "")
    assert "they are at memory:" in text


@pytest.mark.requirement("CLI-2")
@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", ""])  # noqa: S104 - it is refused
def test_another_host_is_refused_and_the_reason_given(notes: CommandLine, host: str) -> None:
    code, text, errors = notes("--transport", "http", "--host", host)
    assert (code, text) == (2, "")
    assert "without authentication HTTP serves this machine only; use 127.0.0.1, ::1, localhost" in errors


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize(
    "options",
    [
        ("--transport", "pigeon"),
        ("--port", "x"),
        ("--port", "65536"),
        ("--port", "-1"),
        ("--log-level", "x"),
        ("x",),
        ("serve", "notes.json"),
        ("serve", "--client", "cursor"),
        ("export", "notes.json", "more.json"),
    ],
    ids=" ".join,
)
def test_a_bad_option_ends_with_exit_code_2(notes: CommandLine, options: tuple[str, ...]) -> None:
    code, text, errors = notes(*options)
    assert (code, text) == (2, "")
    assert "usage: mcp-task-core" in errors


@pytest.mark.requirement("CLI-3")
@pytest.mark.parametrize("command", ["serve", "export", "import", "restore"])
def test_a_bad_setting_ends_with_exit_code_2_and_one_message(
    notes: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    assert notes(command) == (
        2,
        "",
        "mcp-task-core: LOG_LEVEL is 'loud': Input should be the name of a level. "
        "Expected: Lowest level to log: DEBUG, INFO, WARNING, ERROR, CRITICAL.\n",
    )


@pytest.mark.requirement("CLI-3")
def test_a_setting_that_the_server_refuses_ends_the_same_way(notes: CommandLine) -> None:
    assert notes() == (2, "", "mcp-task-core: GREETING is '': be polite\n")


@pytest.mark.requirement("CLI-1")
def test_without_the_installer_the_command_says_which_package_it_needs(
    notes: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_client_install", None)  # as if it were not installed
    said = "install needs the package mcp-client-install: pip install mcp-client-install"
    assert notes("install") == (2, "", f"mcp-task-core: {said}\n")


@pytest.mark.requirement("EN-18")
def test_tasks_go_out_of_a_store_and_into_another(
    notes: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(open_store(tmp_path / "notes.json"), "walls", "roof")
    document = (tmp_path / "notes.json").read_bytes()
    monkeypatch.setenv("NOTES_PATH", str(tmp_path / "notes.json"))
    assert notes("export") == (0, document.decode(), f"Exported 2 tasks from json:{tmp_path}/notes.json.\n")
    monkeypatch.delenv("NOTES_PATH")
    monkeypatch.setenv("TASK_STORE", f"sqlite:{tmp_path}/notes.db")
    moved = notes("import", str(tmp_path / "notes.json"))
    assert moved == (0, "", f"Imported 2 tasks into sqlite:{tmp_path}/notes.db.\n")
    assert notes("export")[:2] == (0, document.decode())


@pytest.mark.requirement("EN-18")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import",), "import: name the document to import"),
        (("import", "/no/such/notes.json"), "import: /no/such/notes.json: No such file or directory"),
        (("restore",), "restore: memory: keeps no older documents: there is nothing to restore"),
        (("export", "/no/such/notes.json"), "export: /no/such: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_that_did_nothing_says_why_and_ends_with_exit_code_1(
    notes: CommandLine, arguments: tuple[str, ...], said: str
) -> None:
    code, text, errors = notes(*arguments)
    assert (code, text) == (1, "")
    assert errors.startswith(f"mcp-task-core {said}")
    assert errors.count("\n") == 1


@pytest.mark.process
@pytest.mark.requirement("CLI-5")
def test_a_server_that_is_interrupted_before_it_serves_ends_without_a_trace() -> None:
    with ending(
        subprocess.Popen(TOY, env={**os.environ, "TOY_GREETING": "slow"}, stderr=subprocess.PIPE, text=True)
    ) as starting:
        assert starting.stderr
        assert starting.stderr.readline() == "building\n"
        starting.send_signal(signal.SIGINT)
        assert (starting.stderr.read(), starting.wait(PATIENCE)) == ("", 0)


@pytest.mark.requirement("CLI-5")
@pytest.mark.usefixtures("notes")
def test_a_signal_that_is_dropped_while_a_server_starts_ends_it_once_it_serves(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drop_signal(_: NotesSettings) -> TaskServer:
        with suppress(KeyboardInterrupt):  # as Python does in a callback, such as those of imports
            signal.raise_signal(signal.SIGTERM)
        return TaskServer("notes", title="Notes", version="1", instructions="", warnings=WarningList())

    monkeypatch.setattr(os, "_exit", lambda _: None)  # other tests may have left threads behind
    run(PROGRAM._replace(build=drop_signal), ["--transport", "http", "--port", "0"])
    assert capfd.readouterr().err.startswith("Serving at ")


@pytest.mark.requirement("P3")
@pytest.mark.usefixtures("notes")
def test_the_process_ends_with_exit_code_0_even_if_an_abandoned_call_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = Event()
    hanging = Thread(target=is_over.wait)

    def abandon(_: NotesSettings) -> TaskServer:
        hanging.start()
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "_exit", sys.exit)  # else the process of the tests would end
    try:
        with pytest.raises(SystemExit) as ended:
            run(PROGRAM._replace(build=abandon), [])
        assert (ended.value.code, hanging.is_alive()) == (0, True)
    finally:
        is_over.set()
        hanging.join()


@pytest.mark.process
@pytest.mark.requirement("CLI-1", "CLI-4")
@pytest.mark.parametrize(("option", "variable", "is_loud"), [("debug", "ERROR", True), ("error", "DEBUG", False)])
def test_the_option_for_the_log_goes_before_the_variable(option: str, variable: str, *, is_loud: bool) -> None:
    ended = subprocess.run(
        [*TOY, "--log-level", option],
        env={**os.environ, "LOG_LEVEL": variable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    assert bool(ended.stderr) is is_loud
