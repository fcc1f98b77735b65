"""What people and programs see: one line of JSON, plain tables in a pipe, and no tricks of a text (CX-53)."""

from __future__ import annotations

import io
import json
import sys

import pytest
from typing_extensions import override

from cortex_cli.errors import CortexError, echo, escape_invisible
from cortex_cli.output import Outcome, Table, write_failure, write_json, write_outcome
from task_core import text


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


HOSTILE = "[red]x[/red] [/] \x1b[31m\u202e\u2028\n" + "ü" * 200


@pytest.mark.requirement("CX-51")
def test_json_is_one_line_of_ascii_that_reads_back_as_it_was() -> None:
    out = io.StringIO()
    write_json({"title": HOSTILE}, out)
    assert out.getvalue().isascii()
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == {"title": HOSTILE}


@pytest.mark.requirement("CX-53")
def test_in_a_pipe_a_table_is_tabs_without_a_header_and_shows_what_is_invisible() -> None:
    out, err = io.StringIO(), io.StringIO()
    write_outcome(
        Outcome({}, "Two\nlines.", Table(("A", "B"), [("1", "[b]x[/b]\x1b[2J\t\u202e")])), ["w\x07"], out, err
    )
    assert out.getvalue() == "1\t[b]x[/b]\\u{1b}[2J\\u{9}\\u{202e}\nTwo\nlines.\n"
    assert err.getvalue() == "ctx: warning: w\\u{7}\n"


@pytest.mark.requirement("CX-53")
@pytest.mark.parametrize(
    ("name", "value", "has_color"),
    [("NO_COLOR", "1", False), ("CLICOLOR", "0", False), ("TERM", "dumb", False), ("TERM", "xterm-256color", True)],
)
def test_a_terminal_gets_a_table_in_colour_unless_that_is_unwanted(
    name: str, value: str, has_color: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("NO_COLOR", "CLICOLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv(name, value)
    out = Terminal()
    write_outcome(Outcome({}, "", Table(("ID", "Title"), [("42", HOSTILE[:24])])), [], out, io.StringIO())
    shown = out.getvalue()
    assert ("\x1b[1m" in shown) == has_color
    assert "[red]x[/red] [/] \\u{1b}[31m\\u{202e}" in shown
    assert "\x1b[31m" not in shown


@pytest.mark.requirement("CX-53")
def test_a_failure_is_a_sentence_with_what_helps_to_fix_it() -> None:
    err = io.StringIO()
    details: dict[str, object] = {"near": [41, 43], "git": "fatal: \x1b[0m", "other": "not for people", "files": []}
    write_failure(CortexError("It failed.\x1b[0m", details), ["w"], err)
    assert err.getvalue().splitlines() == [
        "ctx: warning: w",
        "ctx: It failed.\\u{1b}[0m",
        "  near: 41, 43",
        "  git: fatal: \\u{1b}[0m",
    ]


@pytest.mark.requirement("CX-53")
def test_the_same_characters_are_escaped_as_in_the_servers() -> None:
    for first in range(0, sys.maxunicode + 1, 256):
        block = "".join(map(chr, range(first, first + 256)))
        assert escape_invisible(block) == text.escape_invisible(block), hex(first)


@pytest.mark.requirement("CX-64")
def test_the_user_of_a_url_is_not_repeated() -> None:
    assert echo("see https://ada:secret@forge.test/x") == "see https://forge.test/x"
