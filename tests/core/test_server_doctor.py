"""The report of ``doctor``: versions, settings, findings, and an exit code (DOC-1, DOC-2)."""

from __future__ import annotations

import io
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from pydantic import Field, field_validator

from task_core.cli.doctor import run_doctor
from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.settings import StoreServerSettings, describe_settings
from task_core.doctor import Check, Finding, note, right, wrong
from task_core.server.app import TaskServer
from task_core.store import ListCodec
from tests.core.command_line import command_line
from tests.core.notes import NOTES
from tests.wire.line_client import PATIENCE, TOY

NAME = "mcp-task-core"

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Settings(StoreServerSettings):
    """Settings with a path, a text and nothing."""

    store_variable = "where"

    where: Path = Field(description="Where it is.")
    colour: str = Field(default="red", description="A colour.")
    size: int | None = Field(default=None, description="A size.")

    @field_validator("where")
    @classmethod
    def _reachable(cls, path: Path) -> Path:
        if path == Path("/forbidden"):
            raise PermissionError(13, "Permission denied")
        return path


@pytest.fixture(autouse=True)
def _command_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, _, _ in describe_settings(Settings):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WHERE", "/tmp/a b")  # noqa: S108 - nothing is made there
    with command_line():
        yield


def program_with(*checks: Check, name: str = NAME) -> Program:
    return Program(name, lambda: Settings, build=never, checks=lambda _: checks, codec=lambda: ListCodec(NOTES))


def never(settings: Settings) -> TaskServer:
    raise AssertionError(f"doctor builds no server, as it would with {settings}")


def report(capsys: pytest.CaptureFixture[str], *checks: Check, name: str = NAME) -> tuple[int, list[str]]:
    code = run_doctor(program_with(*checks, name=name), "1.2.3")
    said = capsys.readouterr()
    assert said.err == ""
    return code, said.out.splitlines()


@pytest.mark.requirement("DOC-1")
def test_the_report_has_versions_settings_and_what_the_server_looks_at(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = report(capsys, Check("store", lambda: [right("fine"), note("odd"), note("so", "do that")]))
    assert code == 0
    assert lines == [
        "mcp-task-core 1.2.3",
        f"  ok     versions     Python {platform.python_version()} on {platform.system()}",
        *(
            f"  ok     versions     {package} {version(package)}"
            for package in (NAME, "mcp-task-core", "mcp", "pydantic", "filelock")
        ),
        "  ok     settings     TASK_STORE is not set (default)",
        "  ok     settings     TASK_TENANT is '' (default)",
        "  ok     settings     TASK_FSYNC is true (default)",
        "  ok     settings     TASK_HISTORY_DAYS is 90 (default)",
        "  ok     settings     TASK_CLAIM_SECONDS is 900 (default)",
        "  ok     settings     TASK_LOCK_TIMEOUT is 10 (default)",
        "  ok     settings     LOG_LEVEL is 'WARNING' (default)",
        "  ok     settings     TASK_EXTRA_TOOLS is not set (default)",
        "  ok     settings     WHERE is '/tmp/a b'",
        "  ok     settings     COLOUR is 'red' (default)",
        "  ok     settings     SIZE is not set (default)",
        "  ok     store        fine",
        "  note   store        odd",
        "  note   store        so",
        "                      -> do that",
        "Nothing is wrong.",
    ]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("faults", "end"), [(1, "1 fault found."), (2, "2 faults found.")])
def test_a_fault_makes_the_exit_code_1(capsys: pytest.CaptureFixture[str], faults: int, end: str) -> None:
    code, lines = report(capsys, Check("lock", lambda: [wrong("bad", "mend it")] * faults))
    assert (code, lines[-1]) == (1, end)
    assert lines[-3:-1] == ["  WRONG  lock         bad", "                      -> mend it"]


@pytest.mark.requirement("DOC-2")
def test_a_bad_setting_is_a_finding_and_the_files_are_not_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHERE")
    monkeypatch.setenv("SIZE", "much")
    code, lines = report(capsys, Check("store", lambda: [right("fine")]))
    assert code == 1
    assert [line for line in lines if " settings " in line] == [
        "  WRONG  settings     Set WHERE: Where it is.",
        "  WRONG  settings     SIZE is 'much': Input should be a valid integer, unable to parse string as an integer. "
        "Expected: A size.",
        "  note   settings     the files were not checked: correct the settings first",
    ]
    assert "  ok     store        fine" not in lines


@pytest.mark.requirement("DOC-2")
def test_a_path_that_cannot_be_looked_at_is_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", "/forbidden")
    code, lines = report(capsys)
    assert code == 1
    assert "  WRONG  settings     a path cannot be accessed: Permission denied. Fix its folder's permissions." in lines


@pytest.mark.requirement("DOC-2")
def test_what_the_system_refuses_to_show_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    def look() -> list[Finding]:
        raise PermissionError(13, "Permission denied")

    code, lines = report(capsys, Check("lock", look))
    assert code == 1
    assert "  WRONG  lock         it cannot be checked (Permission denied [EACCES])" in lines


@pytest.mark.requirement("DOC-2")
def test_an_installation_without_its_package_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = report(capsys, name="no-such-server")
    assert code == 1
    assert "  WRONG  versions     no-such-server is not installed as a package" in lines


@pytest.mark.requirement("DOC-2")
@pytest.mark.parametrize(("faults", "code"), [(0, 0), (1, 1)])
def test_a_report_that_cannot_be_written_leaves_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, faults: int, code: int
) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert run_doctor(program_with(Check("lock", lambda: [wrong("bad", "mend it")] * faults)), "1") == code
        full.write("x")


@pytest.mark.process
@pytest.mark.requirement("DOC-2")
@pytest.mark.parametrize(
    ("redirection", "level", "code"), [("| true", "ERROR", 0), (">/dev/full", "loud", 1), (">&- 2>&- <&-", "ERROR", 0)]
)
def test_a_stdout_that_takes_nothing_does_not_crash_the_server(redirection: str, level: str, code: int) -> None:
    ended = subprocess.run(
        ["/bin/bash", "-c", f'set -o pipefail; "$@" doctor {redirection}', "bash", *TOY],
        env={**os.environ, "LOG_LEVEL": level},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")


@pytest.mark.requirement("DOC-2")
def test_a_signal_that_ends_the_report_ends_it_without_a_trace() -> None:
    """As it ends any program: doctor leaves the handling of signals as it is."""
    found: list[object] = []

    def look() -> list[Finding]:
        found.extend(map(signal.getsignal, ENDING))
        return []

    program = program_with(Check("x", look))
    before = list(map(signal.getsignal, ENDING))
    with pytest.raises(SystemExit) as caught:
        run(program, ["doctor"])
    assert caught.value.code == 0
    assert found == before


@pytest.mark.requirement("DOC-2")
def test_what_a_terminal_cannot_show_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLOUR", "röt\u202e\udcff")
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    assert run_doctor(program_with(), "1") == 0
    assert b"COLOUR is 'r\\xf6t\\u{202e}\\u{dcff}'" in output.getvalue()
