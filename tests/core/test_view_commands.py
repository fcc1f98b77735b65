"""``list``, ``show`` and ``next`` for a person at a terminal, a program in a pipe, and a reader of JSON."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pytest
from pydantic import JsonValue

from task_core.claims.claim import Claim
from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.settings import ServerSettings, describe_settings
from task_core.errors import StoreUnreadable, TaskNotFound
from task_core.server.app import TaskServer
from task_core.store import ListCodec
from task_core.view import Line, View, match_statuses
from tests.core.command_line import Ended, NotesSettings, command_line
from tests.core.hostile import HOSTILE
from tests.core.notes import NOTES
from tests.core.screen import Screen, open_screen

RUDE = (
    "The store 'notes\\u{1b}.json' exists but cannot be read (be polite), so it was left untouched. "
    "Fix it; then try again."
)

LINES = [Line("a", "todo", "Paint it", "high"), Line("b", "done", "Two\nlines\tand a tab", depth=1)]


class NotesView:
    """Notes that are always the same; with the greeting ``rude`` they cannot be read."""

    statuses = ("todo", "done")
    finished = frozenset({"done"})

    def __init__(self, settings: NotesSettings) -> None:
        self.settings = settings
        self.shown = [] if settings.greeting == "none" else [*LINES]
        if settings.greeting in HOSTILE:
            text = HOSTILE[settings.greeting]
            self.shown = [Line(text, "todo", text, text)]
        if settings.greeting == "many":
            self.shown = [Line(str(number), "todo", "x" * 100) for number in range(5_000)]

    def lines(self, statuses: Collection[str] = ()) -> Iterator[Line]:
        if self.settings.greeting == "rude":
            raise StoreUnreadable("notes\x1b.json", "be polite")
        if self.settings.greeting == "slow":
            raise KeyboardInterrupt
        wanted = match_statuses(statuses, self.statuses)
        return (line for line in self.shown if not wanted or line.status in wanted)

    def archived(self, statuses: Collection[str] = ()) -> Iterator[Line]:
        return iter([] if "todo" in statuses else [Line("old", "done", "Buy paint", "archived", topic="home")])

    def task(self, task_id: str) -> dict[str, JsonValue]:
        for line in self.shown:
            if line.id == task_id:
                return {"id": line.id, "status": line.status, "text": line.text, "tags": ["ü"], "parent": None}
        raise TaskNotFound(task_id, ["a"])

    def next(self) -> str | None:
        return next((line.id for line in self.shown if line.status == "todo"), None)

    def claims(self) -> Sequence[Claim]:
        return ()

    def revision(self) -> object:
        return 1

    def close(self) -> None:
        Path(os.environ["CLOSED"]).touch()


def build(_: NotesSettings) -> TaskServer:
    raise AssertionError("nothing is served")


def open_view(settings: NotesSettings) -> View:
    return NotesView(settings)


PROGRAM = Program(
    "notes-mcp",
    settings_type=lambda: NotesSettings,
    build=build,
    checks=lambda _: [],
    codec=lambda: ListCodec(NOTES),
    view=open_view,
)


class Notes:
    """The commands, within this process."""

    def __init__(self, captured: pytest.CaptureFixture[str], patched: pytest.MonkeyPatch, folder: Path) -> None:
        self._captured = captured
        self._patched = patched
        self.closed = folder / "closed"
        patched.setenv("CLOSED", str(self.closed))
        patched.setenv("NOTES_PATH", str(folder / "notes.json"))

    def __call__(self, *words: str, greeting: str = "", program: Program = PROGRAM) -> Ended:
        self._patched.setenv("GREETING", greeting)
        with pytest.raises(SystemExit) as caught:
            run(program, words)
        return Ended(int(caught.value.code or 0), *self._captured.readouterr())

    def writing_to(self, stream: TextIO, *words: str, greeting: str = "") -> Ended:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "stdout", stream)
            return self(*words, greeting=greeting)

    def at_terminal(self, *words: str, greeting: str = "", width: int = 80) -> tuple[Ended, Screen]:
        with open_screen(width) as (screen, stream):
            ended = self.writing_to(stream, *words, greeting=greeting)
        return ended, screen


@pytest.fixture
def notes(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Notes]:
    for name, _, _ in describe_settings(NotesSettings):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    with command_line():
        yield Notes(capfd, monkeypatch, tmp_path)


def test_in_a_pipe_each_task_is_a_line_of_fields_with_tabs_between_them(notes: Notes) -> None:
    assert notes("list") == (0, "a\ttodo\tPaint it\thigh\t0\nb\tdone\tTwo\\u{a}lines\\u{9}and a tab\t\t1\n", "")
    assert notes.closed.exists()


@pytest.mark.parametrize("text", HOSTILE.keys())
def test_no_text_makes_a_line_or_a_field_more(notes: Notes, text: str) -> None:
    code, out, _ = notes("list", greeting=text)
    assert code == 0
    assert out.endswith("\n")
    (line,) = out.splitlines()
    assert len(line.split("\t")) == 5
    assert line.replace("\t", "").replace("\u200d", "").isprintable()


def test_json_is_one_document_with_every_text_as_it_is(notes: Notes) -> None:
    code, out, err = notes("list", "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert json.loads(out) == {"tasks": [line.fields() for line in LINES]}


@pytest.mark.parametrize("text", HOSTILE.keys())
@pytest.mark.parametrize("command", ["list", "next"])
def test_json_can_be_read_back_and_is_safe_on_a_terminal(notes: Notes, command: str, text: str) -> None:
    (code, _, err), screen = notes.at_terminal(command, "--json", greeting=text)
    assert (code, err) == (0, "")
    written = screen.written.decode().replace("\r\n", "")
    assert written.isascii()
    assert written.isprintable()
    found = json.loads(written)
    assert (found["tasks"][0] if command == "list" else found)["text"] == HOSTILE[text]


def test_at_a_terminal_tasks_are_a_table_in_colour(notes: Notes) -> None:
    (code, _, err), screen = notes.at_terminal("list")
    assert (code, err) == (0, "")
    assert "a   todo    Paint it                high\nb   done    └─ Two lines and a tab\n" in screen.text
    assert b"\x1b[38;5;28mdone" in screen.written


@pytest.mark.parametrize("words", [("list",), ("list", "todo"), ("next",)])
@pytest.mark.parametrize("text", HOSTILE.keys())
def test_no_text_commands_the_terminal(notes: Notes, words: tuple[str, ...], text: str) -> None:
    (code, _, _), screen = notes.at_terminal(*words, greeting=text)
    assert code == 0
    assert screen.text.replace("\n", "").replace("\u200d", "").isprintable()


def test_one_task_has_a_line_for_each_field(notes: Notes) -> None:
    expected = 'id\tb\nstatus\tdone\ntext\tTwo\\u{a}lines\\u{9}and a tab\ntags\t["ü"]\nparent\tnull\n'
    assert notes("show", "b") == (0, expected, "")
    code, out, _ = notes("show", "b", "--json")
    assert (code, json.loads(out)["text"]) == (0, "Two\nlines\tand a tab")
    (code, _, _), screen = notes.at_terminal("show", "b")
    assert [line.rstrip() for line in screen.text.splitlines()] == [
        "id      b",
        "status  done",
        "text    Two",
        "        lines   and a tab",
        "tags    - ü",
    ]


def test_the_next_task_is_shown_as_one_task_is(notes: Notes) -> None:
    assert notes("next") == notes("show", "a")
    assert notes("next", "--json") == notes("show", "a", "--json")


def test_if_there_is_no_next_task_that_is_said_beside_the_output(notes: Notes) -> None:
    reason = "There is no task to work on now.\n"
    assert notes("next", greeting="none") == (0, "", reason)
    assert notes("next", "--json", greeting="none") == (0, "null\n", reason)


@pytest.mark.parametrize(("words", "ids"), [(("DONE",), "b"), (("todo", "done"), "ab")])
def test_a_list_can_be_of_some_statuses(notes: Notes, words: tuple[str, ...], ids: str) -> None:
    assert "".join(line[0] for line in notes("list", *words).out.splitlines()) == ids


@pytest.mark.requirement("PE-16")
@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("--all",), ["a", "b", "old"]),
        (("todo", "--all"), ["a"]),
        (("--search", "PAINT"), ["a"]),
        (("--search", "paint home", "--all"), ["old"]),
        (("done", "--search", "two tab"), ["b"]),
    ],
)
def test_a_list_can_have_archived_tasks_and_be_of_those_with_some_words(
    notes: Notes, words: tuple[str, ...], ids: list[str]
) -> None:
    assert [line.split("\t")[0] for line in notes("list", *words).out.splitlines()] == ids
    assert [task["id"] for task in json.loads(notes("list", "--json", *words).out)["tasks"]] == ids


def test_a_search_that_finds_nothing_says_so(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "notes.json").touch()
    assert notes("list", "--search", "paint two") == (0, "", "No task has all these words.\n")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_an_empty_list_says_why_beside_the_output(notes: Notes, tmp_path: Path, *, is_terminal: bool) -> None:
    def ended(*words: str) -> Ended:
        if is_terminal:
            found, screen = notes.at_terminal("list", *words, greeting="none")
            assert screen.written == b""
            return found
        return notes("list", *words, greeting="none")

    missing = f"{tmp_path}/notes.json does not exist yet; the server's first call makes it"
    assert ended() == (0, "", f"There are no tasks: {missing}.\n")
    (tmp_path / "notes.json").touch()
    assert ended() == (0, "", "There are no tasks.\n")
    assert ended("done", "todo") == (0, "", "No task is done or todo.\n")


def test_an_empty_list_is_a_json_document_too(notes: Notes) -> None:
    code, out, err = notes("list", "--json", greeting="none")
    assert (code, out) == (0, '{"tasks": []}\n')
    assert "There are no tasks" in err


@pytest.mark.parametrize("command", ["list", "watch"])
def test_tasks_in_memory_are_in_no_other_process(notes: Notes, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.delenv("NOTES_PATH")
    code, out, err = notes(command, greeting="none")
    assert (code, out) == (0, "")
    assert err.endswith(
        "Run the command 'install' to add the server to your clients, or set NOTES_PATH to the path of a list.\n"
    )


class Elsewhere(ServerSettings):
    """The settings of a server whose tasks are elsewhere."""


def test_a_server_without_a_store_has_a_list_too(notes: Notes) -> None:
    program = Program(
        "else-mcp",
        settings_type=lambda: Elsewhere,
        build=lambda _: build(NotesSettings()),
        checks=lambda _: [],
        codec=None,
        view=lambda _: NotesView(NotesSettings(greeting="none")),
    )
    assert notes("list", program=program) == (0, "", "There are no tasks.\n")


@pytest.mark.parametrize(
    ("words", "greeting", "reason"),
    [
        (("list",), "rude", RUDE),
        (("list", "--json"), "rude", RUDE),
        (("list",), "slow", "interrupted"),
        (("list", "doen"), "", "status: give one of todo, done, not 'doen'."),
        (("show", "c"), "", "No task has the id 'c'. Did you mean 'a'?"),
        (("watch",), "rude", RUDE),
    ],
)
def test_what_cannot_be_shown_is_an_error(notes: Notes, words: tuple[str, ...], greeting: str, reason: str) -> None:
    assert notes(*words, greeting=greeting) == (1, "", f"notes-mcp {words[0]}: {reason}\n")
    assert notes.closed.exists()


def test_a_watch_ends_well_when_it_is_interrupted(notes: Notes) -> None:
    assert notes("watch", greeting="slow") == (0, "", "")
    assert notes("watch", "--json", greeting="slow") == (0, "", "")
    assert notes.at_terminal("watch", "--json", greeting="slow")[0] == (0, "", "")
    assert notes.at_terminal("watch", greeting="slow")[0] == (0, "", "")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("show",), "the following arguments are required: ID"),
        (("next", "a"), "unrecognized arguments: a"),
        (("--log-level", "DEBUG", "list"), "write list before its options: notes-mcp list …"),
    ],
)
def test_a_bad_option_is_refused(notes: Notes, words: tuple[str, ...], reason: str) -> None:
    code, out, err = notes(*words)
    assert (code, out) == (2, "")
    assert reason in err


def test_a_bad_setting_is_refused(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASK_LOCK_TIMEOUT", "soon")
    code, out, err = notes("list")
    assert (code, out) == (2, "")
    assert err.startswith("notes-mcp: TASK_LOCK_TIMEOUT is 'soon'")


@pytest.mark.parametrize("command", ["list", "show", "next", "watch"])
def test_each_command_has_its_own_help_and_is_in_that_of_all(notes: Notes, command: str) -> None:
    code, out, _ = notes(command, "--help")
    assert code == 0
    assert out.startswith(f"usage: notes-mcp {command}")
    assert f" {command} show" in " ".join(notes("--help").out.split())


def test_a_server_without_a_view_has_no_such_command(notes: Notes) -> None:
    code, _, err = notes("list", program=PROGRAM._replace(view=None))
    assert code == 2
    assert "invalid choice: 'list'" in err


@pytest.mark.parametrize("greeting", ["", "many"])
def test_a_reader_that_has_seen_enough_is_no_fault(notes: Notes, greeting: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        assert notes.writing_to(stream, "list", greeting=greeting) == (0, "", "")


@pytest.mark.parametrize("greeting", ["", "many"])
def test_a_disk_that_is_full_is_an_error(notes: Notes, greeting: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        code, _, err = notes.writing_to(stream, "list", greeting=greeting)
    assert (code, err) == (1, "notes-mcp list: stdout: No space left on device [ENOSPC]\n")


def test_a_character_that_the_output_cannot_hold_is_escaped(notes: Notes, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        assert notes.writing_to(stream, "show", "a") == (0, "", "")
    assert '["\\xfc"]' in (tmp_path / "out").read_text("ascii")


def test_the_output_may_be_any_stream(notes: Notes) -> None:
    stream = io.StringIO()
    assert notes.writing_to(stream, "list", "todo") == (0, "", "")
    assert stream.getvalue() == "a\ttodo\tPaint it\thigh\t0\n"


def test_a_signal_ends_a_command_as_an_interrupt_does(notes: Notes) -> None:
    notes("list")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
