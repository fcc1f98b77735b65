"""Whoever watches sees every change, once, and what is wrong for as long as it is."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import TextIO

import pytest
from pydantic import JsonValue
from typing_extensions import override

from task_core.claims.claim import Claim
from task_core.cli.view.commands import look_repeatedly, watch_in_place, write_changes
from task_core.errors import InvalidArguments, StoreDamaged, TaskError
from task_core.text import address_people
from task_core.view import Line, match_statuses
from tests.core.notes import wait_until
from tests.core.screen import CODES, Screen, open_screen

DAMAGED = StoreDamaged("notes.json", "'\x1b'", "JSON", 1, 1)

A, B, C = (Line(name, "todo", f"Paint {name}") for name in "abc")


class Closing(Exception):
    """Whoever watches has seen all."""


class Tasks:
    """Tasks that change as ``scenes`` say, one at each pause; each is the tasks, or why they cannot be read."""

    statuses = ("todo", "done")
    finished = frozenset({"done"})

    def __init__(self, *scenes: Collection[Line] | TaskError, has_revision: bool = True) -> None:
        self._scenes = scenes
        self._has_revision = has_revision
        self.number = 0
        self.listed = 0
        self.pauses: list[float] = []
        self.before_pause: Callable[[], object] = lambda: None

    def lines(self, statuses: Collection[str] = ()) -> Iterator[Line]:
        wanted = match_statuses(statuses, self.statuses)
        self.listed += 1
        return (line for line in self._scene() if not wanted or line.status in wanted)

    def claims(self) -> Sequence[Claim]:
        return ()

    def revision(self) -> object:
        self._scene()
        return tuple(self._scene()) if self._has_revision else None

    def task(self, task_id: str) -> dict[str, JsonValue]:
        raise AssertionError(task_id)

    def next(self) -> str | None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError

    def pause(self, seconds: float) -> None:
        """Go on to the next scene; after the last, whoever watches leaves."""
        self.before_pause()
        self.pauses.append(seconds)
        self.number += 1
        if self.number == len(self._scenes):
            raise Closing

    def clock(self) -> datetime:
        """Return a time of this scene."""
        return datetime(2026, 1, 1, 9, 0, self.number).astimezone()

    def _scene(self) -> Collection[Line]:
        scene = self._scenes[self.number]
        if isinstance(scene, TaskError):
            raise scene
        return scene


def seen(tasks: Tasks, *statuses: str) -> list[list[Line] | str]:
    """Return what somebody sees who watches to the end."""
    found: list[list[Line] | str] = []
    with pytest.raises(Closing):
        found.extend(look_repeatedly(tasks, statuses, tasks.pause))
    return found


def look(tasks: Tasks) -> Iterator[list[Line] | str]:
    """Yield what somebody sees, until there is nothing more."""
    try:
        yield from look_repeatedly(tasks, (), tasks.pause)
    except Closing:
        return


@pytest.mark.parametrize("has_revision", [True, False])
def test_tasks_are_seen_at_first_and_after_every_change(*, has_revision: bool) -> None:
    tasks = Tasks([A], [A], [A, B], [A, B], [], [], [A], has_revision=has_revision)
    assert seen(tasks) == [[A], [A, B], [], [A]]


def test_tasks_that_have_not_changed_are_not_listed_again() -> None:
    tasks = Tasks([A], [A], [A], [B], [B])
    assert len(seen(tasks)) == 2
    assert tasks.listed == 2
    assert {*tasks.pauses} == {1.0}


def test_tasks_without_a_revision_are_listed_each_time_but_less_often() -> None:
    tasks = Tasks([A], [A], [B], has_revision=False)
    assert seen(tasks) == [[A], [B]]
    assert tasks.listed == 3
    assert {*tasks.pauses} == {5.0}


def test_a_status_that_is_gone_is_named_to_a_person() -> None:
    assert seen(Tasks([A], InvalidArguments([("status", "give one of a, b")]))) == [[A], "status: give one of a, b."]


def test_an_empty_list_is_seen_too() -> None:
    assert seen(Tasks([], [], [A])) == [[], [A]]


def test_only_changes_of_the_statuses_that_are_watched_are_seen() -> None:
    done = B._replace(status="done")
    assert seen(Tasks([A], [A, done], [A, B]), "todo") == [[A], [A, B]]


@pytest.mark.parametrize("has_revision", [True, False])
def test_a_fault_is_seen_once_and_so_is_its_end(*, has_revision: bool) -> None:
    tasks = Tasks([A], DAMAGED, DAMAGED, [A], [A], has_revision=has_revision)
    assert seen(tasks) == [[A], address_people(DAMAGED.message), [A]]


def test_a_fault_at_the_start_ends_the_watch() -> None:
    with pytest.raises(StoreDamaged):
        seen(Tasks(DAMAGED, [A]))
    with pytest.raises(InvalidArguments):
        seen(Tasks([A]), "doen")


def test_in_a_pipe_each_change_of_a_task_is_a_line() -> None:
    out, err = io.StringIO(), io.StringIO()
    moved = A._replace(status="done", text="Paint\nit")
    write_changes(look(Tasks([A, B], [moved, B, C], DAMAGED, [C], [])), out, err)
    assert out.getvalue().splitlines() == [
        "changed\ta\tdone\tPaint\\u{a}it\t\t0",
        "new\tc\ttodo\tPaint c\t\t0",
        "gone\ta\tdone\tPaint\\u{a}it\t\t0",
        "gone\tb\ttodo\tPaint b\t\t0",
        "gone\tc\ttodo\tPaint c\t\t0",
    ]
    (reason,) = err.getvalue().splitlines()
    assert reason.startswith("The store 'notes.json' is damaged")
    assert reason.isprintable()


def test_for_a_program_each_change_is_an_object() -> None:
    out = io.StringIO()
    write_changes(look(Tasks([A, B], [A._replace(status="done")], [C])), out, io.StringIO(), is_json=True)
    first, *others = map(json.loads, out.getvalue().splitlines())
    assert first == {"change": "changed", "id": "a", "status": "done", "text": "Paint a", "note": "", "depth": 0}
    assert [(it["change"], it["id"]) for it in others] == [("gone", "b"), ("new", "c"), ("gone", "a")]


class Pipe(io.StringIO):
    """A stream that counts how often it was flushed."""

    flushed = 0

    @override
    def flush(self) -> None:
        self.flushed += 1


def test_in_a_pipe_a_change_can_be_read_at_once() -> None:
    out = Pipe()
    write_changes(look(Tasks([A], [A, B], [A, B, C])), out, io.StringIO())
    assert out.flushed == 3


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Screen, TextIO]]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "10")
    disabled = logging.root.manager.disable
    with open_screen() as opened:
        yield opened
    logging.disable(disabled)


def watch(tasks: Tasks, screen: tuple[Screen, TextIO], *statuses: str) -> list[str]:
    """Return what was drawn at each time, before the cursor went back to its first line."""
    shown, out = screen
    with pytest.raises(Closing):
        watch_in_place(tasks, statuses, out, tasks.pause, tasks.clock)
    out.flush()
    end = "\x1b[?25h"
    wait_until(lambda: shown.written.endswith(end.encode()))
    drawn = shown.written.decode().removeprefix("\x1b[?25l").removesuffix(end)
    return [CODES.sub("", part) for part in re.split(r"(?:\r?\x1b\[2K(?:\x1b\[1A)?)+", drawn)]


@pytest.mark.requirement("PE-16")
def test_at_a_terminal_the_time_is_shown_and_what_has_changed_is_marked(screen: tuple[Screen, TextIO]) -> None:
    noted = A._replace(remark="nothing that is shown")
    started = B._replace(status="doing")
    drawn = watch(Tasks([A, B], [A, B], [A, started, C], [noted, started, C], DAMAGED, [C]), screen)
    first, second, third, fourth, fault, last, *_ = [shown.splitlines() for shown in drawn]
    table = ["  Id  Status  Task", "  a   todo    Paint a", "  b   todo    Paint b", "2 tasks: 2 todo"]
    assert first == ["09:00:00", *table]
    assert second == ["09:00:01", *table]
    assert third == [
        "09:00:02  1 changed, 1 new at 09:00:02",
        "  Id  Status  Task",
        "  a   todo    Paint a",
        "* b   doing   Paint b",
        "* c   todo    Paint c",
        "3 tasks: 2 todo, 1 doing",
    ]
    assert fourth == ["09:00:03  1 changed, 1 new at 09:00:02", *third[1:]]
    assert fault[0].startswith("09:00:04")
    assert fault[1].startswith("The store 'notes.json' is damaged at line 1, column 1 (found '\\u{1b}'")
    assert last == ["09:00:05  2 gone at 09:00:05", "  Id  Status  Task", "  c   todo    Paint c", "1 task: 1 todo"]


def test_a_watch_of_some_statuses_is_a_table_of_those(screen: tuple[Screen, TextIO]) -> None:
    below = Line("d", "done", "Done", depth=1)
    shown, *_ = watch(Tasks([A, below]), screen, "done")
    assert shown.splitlines()[1:] == ["  Id  Status  Task", "  d   done    Done", "1 task: 1 done"]


def test_tasks_that_do_not_fit_the_terminal_are_counted(screen: tuple[Screen, TextIO]) -> None:
    lines = [Line(str(number), "done" if number < 30 else "todo", "x") for number in range(40)]
    shown, *_ = watch(Tasks(lines), screen)
    rows = shown.splitlines()
    assert [row.split()[0] for row in rows[2:-1]] == ["30", "31", "32", "33", "34", "35"]
    assert rows[-1] == "40 tasks: 30 done, 10 todo; 34 of them not shown"


def test_a_terminal_that_gets_another_size_is_drawn_again(
    screen: tuple[Screen, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    monkeypatch.delenv("LINES")
    line = Line("a", "todo", "x" * 200)
    tasks = Tasks([line], [line], [line])
    tasks.before_pause = lambda: screen[0].resize(40, 24)
    with screen[0].as_stdin():
        wide, narrow, *_ = watch(tasks, screen)
    assert [len(shown.splitlines()[2]) for shown in (wide, narrow)] == [80, 40]


def test_nothing_that_is_logged_is_written_over_the_tasks(screen: tuple[Screen, TextIO]) -> None:
    tasks = Tasks([A])
    enabled: list[bool] = []
    tasks.before_pause = lambda: enabled.append(logging.getLogger("x").isEnabledFor(logging.CRITICAL))
    watch(tasks, screen)
    assert enabled == [False]
