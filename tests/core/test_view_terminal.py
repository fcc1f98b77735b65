"""Tasks at a terminal: in its width, in readable colours, and never in command of it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from rich.cells import cell_len
from rich.color import Color
from rich.console import ConsoleDimensions, RenderableType
from rich.style import Style

from task_core.cli.view.terminal import STATUS_STYLES, TaskTable, keep_open, new_console, render_fields
from task_core.view import Line
from tests.core.hostile import HOSTILE

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""The only escape sequences that we write."""


def drawn(shown: RenderableType, *, width: int = 80, height: int = 24) -> str:
    data = io.BytesIO()
    out = io.TextIOWrapper(data, "utf-8", errors="backslashreplace", newline="")
    console = new_console(out)
    console.size = ConsoleDimensions(width, height)
    console.print(shown)
    out.flush()
    return data.getvalue().decode()


def plain(shown: RenderableType, *, width: int = 80, height: int = 24) -> list[str]:
    return [row.rstrip() for row in COLOUR.sub("", drawn(shown, width=width, height=height)).splitlines()]


def tree(*depths: int) -> list[Line]:
    return [Line(str(number), "todo", f"t{number}", depth=depth) for number, depth in enumerate(depths)]


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_tasks_are_a_table_with_a_head_and_a_sum() -> None:
    lines = [Line("a", "pending", "Paint it", "high"), Line("bbb", "in_progress", "Clean  up\nthen go")]
    assert plain(TaskTable(lines)) == [
        "Id   Status       Task              Note",
        "a    pending      Paint it          high",
        "bbb  in_progress  Clean up then go",
        "2 tasks: 1 pending, 1 in_progress",
    ]


def test_a_column_that_nothing_is_in_is_left_out() -> None:
    shown = plain(TaskTable([Line("a", "todo", "Paint it")]))
    assert shown == ["Id  Status  Task", "a   todo    Paint it", "1 task: 1 todo"]


def test_a_tree_is_drawn_with_its_branches() -> None:
    assert [row[12:] for row in plain(TaskTable(tree(0, 1, 2, 3, 1, 2, 0, 1)))[1:-1]] == [
        "t0",
        "├─ t1",
        "│  └─ t2",
        "│     └─ t3",
        "└─ t4",
        "   └─ t5",
        "t6",
        "└─ t7",
    ]


def test_without_parents_that_may_be_missing_there_are_no_branches() -> None:
    assert [row[12:] for row in plain(TaskTable(tree(1, 2), is_filtered=True))[1:-1]] == ["t0", "t1"]


def test_the_deepest_tasks_keep_room_for_their_text() -> None:
    rows = plain(TaskTable(tree(*range(90))), width=60)
    assert all(cell_len(row) <= 60 for row in rows)
    assert rows[-2].endswith("└─ t89")
    assert "…" in rows[-2]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_breaks_a_row_or_leaves_its_width(text: str) -> None:
    lines = [Line(text, text, text, text), Line("a", "todo", text), Line("b", "todo", "x", depth=1)]
    for width in (1, 2, 5, 10, 40, 300):
        rows = plain(TaskTable(lines, finished=("done",) if width == 40 else None), width=width)
        assert len(rows) == 5
        assert max(map(cell_len, rows[:4])) <= max(width, 9)
        assert all(row.replace("\u200d", "").isprintable() for row in rows)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(), st.text(), st.text(), st.text()), max_size=5), st.integers(10, 100))
def test_whatever_a_task_says_is_one_row(found: list[tuple[str, str, str, str]], width: int) -> None:
    rows = plain(TaskTable([Line(*parts) for parts in found]), width=width)
    assert len(rows) == len(found) + 1 + bool(found)
    assert "\x1b" not in "".join(rows)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_field_of_a_task_commands_the_terminal(text: str) -> None:
    task: dict[str, JsonValue] = {
        "id": text,
        "status": text,
        text or "x": text,
        "texts": [text, [text]],
        "below": [{"id": "1", "title": text, "status": text}, {"other": text}],
        "free": {text: text},
    }
    shown = COLOUR.sub("", drawn(render_fields(task))).replace("\n", "").replace("\u200d", "").replace("\u200c", "")
    assert shown.isprintable()
    for word in ("[bold red]", ":bomb:", "<script>"):
        assert (word in shown) == (word in text)


def test_a_task_is_shown_with_every_field_that_has_a_value() -> None:
    below: list[JsonValue] = [
        {"id": "1.1", "title": "Sand", "status": "done", "subtasks": [{"id": "1.1.1", "name": "Fine"}]},
        {"odd": 1},
    ]
    task: dict[str, JsonValue] = {
        "id": "1",
        "title": "Paint",
        "status": "in-progress",
        "nothing": None,
        "empty": "",
        "none": [],
        "no": {},
        "zero": 0,
        "false": False,
        "text": "# Head\n\n- a\tb",
        "list": ["x", "y\nz", 1, []],
        "subtasks": below,
        "free": {"a": ["ü"]},
    }
    assert plain(render_fields(task)) == [
        "id        1",
        "title     Paint",
        "status    in-progress",
        "zero      0",
        "false     false",
        "text      # Head",
        "",
        "          - a b",
        "list      - x",
        "          - y",
        "            z",
        "          - 1",
        "          -",
        "subtasks  - 1.1 (done): Sand",
        "            - 1.1.1: Fine",
        '          - {"odd": 1}',
        'free      {"a": ["ü"]}',
    ]


def test_long_text_of_one_task_is_folded_and_not_cut() -> None:
    shown = "".join("".join(plain(render_fields({"text": "漢" * 100}), width=40)).split())
    assert shown == "text" + "漢" * 100


def luminance(colour: Color) -> float:
    red, green, blue = (
        part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour.get_truecolor()
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("style", sorted({*STATUS_STYLES.values()}))
def test_every_colour_is_readable_on_black_and_on_white(style: str) -> None:
    colour = Style.parse(style).color
    assert colour
    light = luminance(colour)
    assert min((light + 0.05) / 0.05, 1.05 / (light + 0.05)) >= 3.5


@pytest.mark.parametrize("status", ["Running", "in_progress", "in-progress", "IN_PROGRESS", "done", "DONE", "Fail"])
def test_a_status_has_its_colour_however_a_server_writes_it(status: str) -> None:
    for shown in (TaskTable([Line("a", status, "x")]), render_fields({"status": status})):
        assert re.search(rf"\x1b\[[0-9;]*38;5;[0-9]+m{status}", drawn(shown))


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_who_wants_no_colour_gets_none(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for shown in (TaskTable([Line("a", "done", "x", "y")]), render_fields({"status": "done"})):
        assert ";5;" not in drawn(shown)


FINISHED = ("done",)


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ([("a", "todo", 0), ("b", "done", 0), ("c", "todo", 0)], "ac"),
        ([("a", "done", 0), ("b", "done", 1), ("c", "todo", 2), ("d", "done", 1), ("e", "done", 0)], "abc"),
        ([("a", "done", 0), ("b", "done", 1), ("c", "todo", 0), ("d", "done", 1)], "c"),
        ([("a", "done", 0), ("b", "done", 1), ("c", "todo", 2), ("d", "todo", 1)], "abcd"),
    ],
)
def test_open_tasks_keep_those_that_they_are_below(found: Iterable[tuple[str, str, int]], kept: str) -> None:
    lines = [Line(name, status, "", depth=depth) for name, status, depth in found]
    assert "".join(line.id for line in keep_open(lines, FINISHED)) == kept


def fitted(lines: Sequence[Line], height: int) -> list[str]:
    return plain(TaskTable(lines, finished=FINISHED), height=height)


def test_what_fits_the_screen_is_shown_whole() -> None:
    lines = [Line(str(number), "done", "x") for number in range(5)]
    assert len(fitted(lines, 9)) == 7


def test_what_does_not_fit_the_screen_loses_what_is_finished_first() -> None:
    lines = [Line(str(number), "done" if number % 2 else "todo", "x") for number in range(20)]
    rows = fitted(lines, 9)
    assert [row.split()[0] for row in rows[1:-1]] == ["0", "2", "4", "6", "8"]
    assert rows[-1] == "20 tasks: 10 todo, 10 done; 15 of them not shown"


def test_a_tree_that_is_cut_at_the_end_of_the_screen_shows_that_it_goes_on() -> None:
    assert [row[12:] for row in fitted(tree(0, 1, 1, 1), 6)[1:-1]] == ["t0", "├─ t1"]


@pytest.mark.parametrize("height", [0, 1, 2, 3, 4, 5])
def test_the_lowest_screen_shows_one_task(height: int) -> None:
    assert len(fitted(tree(0, 0, 0), height)) == 3
