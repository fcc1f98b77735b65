"""The program: its command line, its exit codes, and how it ends (CX-50, CX-51, CX-54)."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import runpy
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from threading import main_thread

import pytest

from cortex_cli import VERSION, errors
from cortex_cli import __main__ as program
from cortex_cli.__main__ import GROUPS, run
from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import Parser
from cortex_cli.errors import CortexError, cancelled
from cortex_cli.models import Settings
from tests.cortex_cli.conftest import Ctx
from tests.cortex_cli.stub_server import StubReply, StubRequest, StubServer
from tests.packaging.projects import PROJECTS

README = (PROJECTS["cortex-cli"].folder / "README.md").read_text("utf-8")

CODES = {int(code): what for code, what in re.findall(r"^\| (\d+) \| (.+) \|$", README, flags=re.MULTILINE)}
"""The table of exit codes in the README."""


def leaves(parser: ArgumentParser, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], ArgumentParser]:
    """Return every command below a parser."""
    groups = [action.choices for action in parser._actions if isinstance(action.choices, dict)]  # noqa: SLF001
    if not groups:
        return {path: parser}
    return {key: leaf for name, below in groups[0].items() for key, leaf in leaves(below, (*path, name)).items()}


@pytest.fixture(scope="module")
def commands() -> dict[tuple[str, ...], ArgumentParser]:
    found: dict[tuple[str, ...], ArgumentParser] = {}
    for name, (module, purpose) in GROUPS.items():
        parser = Parser(f"ctx {name}", purpose)
        importlib.import_module(f"cortex_cli.commands.{module}").add_to(parser)
        found |= leaves(parser, (name,))
    return found


@pytest.mark.requirement("CX-50")
def test_every_command_takes_json_and_help_and_is_in_the_readme(
    commands: dict[tuple[str, ...], ArgumentParser], capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(commands) == 34
    for path, parser in commands.items():
        with pytest.raises(SystemExit) as ended:
            run([*path, "--help"], {})
        assert ended.value.code == 0
        assert "--json" in capsys.readouterr().out
        assert f"`ctx {' '.join(path)}" in README
        options = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}  # noqa: SLF001
        assert [name for name in options - {"--json", "--help"} if f"`{name}" not in README] == []


@pytest.mark.requirement("CX-55")
def test_the_readme_names_every_setting_and_variable() -> None:
    variables = {f"CTX_{name}" for name in ("URL", "TOKEN", "CONFIG_DIR", "TIMEOUT", "NO_INPUT", "DEBUG")}
    assert [name for name in {*Settings._fields, *variables} if f"`{name}`" not in README] == []


@pytest.mark.requirement("CX-1")
def test_the_readme_sends_nobody_to_a_package_of_strangers() -> None:
    assert re.findall(r"(?:install|add) (?:cortex-cli|cortex-mcp|ctx)\b", README) == []
    assert PROJECTS["cortex-cli"].table.name == "cortex-tasks-cli"


@pytest.mark.requirement("CX-97")
def test_the_version_is_the_one_of_the_package() -> None:
    assert PROJECTS["cortex-cli"].table.version == VERSION


@pytest.mark.requirement("CX-54")
def test_the_readme_lists_every_exit_code() -> None:
    codes = {getattr(errors, name) for name in errors.__all__ if isinstance(getattr(errors, name), int)}
    assert CODES.keys() == {0, *codes, 130, 143}


@pytest.mark.requirement("CX-50", "CX-51", "CX-54")
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tasks"],
        ["nothing"],
        ["tasks", "list", "--stat=TODO"],
        ["tasks", "list", "--status=LATER"],
        ["tasks", "list", "--assignee=Bo"],
        ["tasks", "list", "--limit=0"],
        ["tasks", "show", "2147483648"],
        ["tasks", "show", "9" * 5000],
        ["tasks", "show", "-1"],
        ["tasks", "edit", "42", "--type=epic"],
        ["tasks", "start", "42", "--here", "--from=main"],
        ["tasks", "pr", "--message=x", "--message-file=-"],
        ["auth", "login", "extra\x1b[31m"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40] or "nothing at all",
)
def test_a_wrong_command_line_is_one_line_of_json_and_exit_code_2(arguments: list[str], ctx: Ctx) -> None:
    ran = ctx(*arguments, "--json")
    assert (ran.code, ran.answer["success"], ran.answer["code"]) == (2, False, "InvalidArguments")
    assert "--help" in ran.answer["error"]
    people = ctx(*arguments)
    assert (people.code, people.out) == (2, "")
    assert re.fullmatch(r"ctx: [^\n\x1b]+\n", people.err)


@pytest.mark.requirement("CX-15", "CX-51")
def test_an_argument_that_is_not_utf_8_is_refused(ctx: Ctx, server: StubServer) -> None:
    ran = ctx("tasks", "list", "--cursor=\udcff", "--json", CTX_TOKEN="t")
    assert (ran.code, ran.answer["code"], server.asked) == (2, "InvalidArguments", [])


@pytest.mark.requirement("CX-51")
def test_json_may_be_asked_for_at_any_place_but_not_in_a_value(ctx: Ctx, server: StubServer) -> None:
    server.say("GET /tasks/", {"tasks": [], "total": 0})
    server.say("POST /tasks/", StubReply(403, {"code": "Forbidden", "detail": "No."}))
    named = {"CTX_TOKEN": "t"}
    for arguments in (["--json", "tasks", "list"], ["tasks", "--json", "list"], ["tasks", "list", "--json"]):
        assert ctx(*arguments, **named).answer["success"] is True
    ran = ctx("tasks", "new", "--project=3", "--", "--json", **named)
    assert (ran.code, ran.out, ran.err) == (1, "", "ctx: No.\n")


@pytest.mark.requirement("CX-51", "CX-54")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_command_with_an_answer(
    number: signal.Signals, code: int, ctx: Ctx, server: StubServer
) -> None:
    def interrupt(_asked: StubRequest) -> StubReply:
        signal.pthread_kill(main_thread().ident or 0, number)
        return StubReply(200, {"tasks": [], "total": 0})

    server.answers["GET /tasks/"] = interrupt
    before = signal.signal(signal.SIGTERM, program._terminate)  # noqa: SLF001 - the handler of main
    try:
        ran = ctx("tasks", "list", "--json", CTX_TOKEN="t")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ran.code, ran.answer["code"], ran.answer["error"]) == (code, "Cancelled", "Cancelled.")


@pytest.mark.requirement("CX-54")
def test_a_person_who_says_no_ends_it_with_exit_code_3() -> None:
    assert cancelled().exit_code == 3


@pytest.mark.requirement("CX-51")
def test_warnings_come_with_an_error_too(ctx: Ctx, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(context: Context, _options: object) -> None:
        context.warnings.append("before")
        raise CortexError("No.", code="Forbidden")

    monkeypatch.setattr("cortex_cli.commands.version._version", fail)
    assert tmp_path.exists()
    assert ctx("version", "--json").answer == {
        "success": False,
        "error": "No.",
        "code": "Forbidden",
        "details": {},
        "warnings": ["before"],
    }
    assert ctx("version").err == "ctx: warning: before\nctx: No.\n"


@pytest.mark.requirement("CX-50")
def test_only_the_commands_that_are_called_are_loaded(ctx: Ctx, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cortex_cli.commands.projects", raising=False)
    assert ctx("version").code == 0
    assert "cortex_cli.commands.projects" not in sys.modules


def main_exit(monkeypatch: pytest.MonkeyPatch, *arguments: str, start: Callable[[], object] = program.main) -> object:
    """Return the exit code of the program in this process."""
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["ctx", *arguments])
    try:
        with pytest.raises(SystemExit) as ended:
            start()
    finally:
        signal.signal(signal.SIGTERM, handler)
    return ended.value.code


def test_whoever_stops_reading_gets_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main_exit(monkeypatch, "version", "--json") == 141
        out.write("goes nowhere")


@pytest.mark.requirement("CX-54")
def test_a_full_disk_is_named_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("/dev/full", "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main_exit(monkeypatch, "version", "--json") == 2
    assert capsys.readouterr().err == "ctx: The answer cannot be written: No space left on device.\n"


@pytest.mark.requirement("CX-51")
def test_closed_standard_input_is_empty(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CTX_CONFIG_DIR", str(folder))
    monkeypatch.setenv("CTX_URL", "http://localhost:1")
    monkeypatch.setattr(sys, "stdin", None)
    code = main_exit(monkeypatch, "auth", "login", "--email=a@b.c", "--json")
    sys.stdin.close()
    assert (code, json.loads(capsys.readouterr().out)["code"]) == (2, "InvalidArguments")


def test_the_module_is_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    file = str(program.__file__)
    code = main_exit(monkeypatch, "version", "--json", start=lambda: runpy.run_path(file, run_name="__main__"))
    assert (code, json.loads(written.getvalue())["program"]) == (0, "cortex")
