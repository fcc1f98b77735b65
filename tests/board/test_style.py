"""Each status has a hue and an icon of its own, and text that can be read, in light and in dark."""

from __future__ import annotations

import re
from typing import Final

import pytest

from task_board.web.layout import find_tone
from task_board.web.responses import STATIC
from task_core.server.app_view import read_view
from tests.board.board_client import Agent, BoardClient

CSS: Final = (STATIC / "board.css").read_text("utf-8")
ROOTS: Final = re.findall(r":root {(.*?)}", CSS, re.DOTALL)
VIEW: Final = read_view("list_tasks")

STATUSES: Final = {
    "waiting": ["Pending", "todo", "pending", "deferred", "anything else"],
    "running": ["Running", "in_progress", "in-progress", "review"],
    "blocked": ["blocked"],
    "done": ["Complete", "done"],
    "failed": ["Fail"],
    "canceled": ["Canceled", "cancelled", "canceled"],
}


def variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): ([^;]+);", text))


def tones(style: str = CSS) -> dict[str, dict[str, str]]:
    """Return the hue, the background and the icon of each tone."""
    rules = re.findall(r'^ *\[data-tone(?:="(\w+)")?\] {(.*?--.*?)}', style, re.MULTILINE)
    usual = variables(next(text for name, text in rules if not name))
    return {"waiting": usual, **{name: {**usual, **variables(text)} for name, text in rules if name}}


def luminance(color: str) -> float:
    """Return the relative luminance of ``#rrggbb``, as WCAG 2 defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.requirement("PE-8")
@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("tone", STATUSES)
def test_a_status_can_be_read(tone: str, *, is_dark: bool) -> None:
    colors = variables(ROOTS[0]) | (variables(ROOTS[1]) if is_dark else {})
    hue, back = (colors[tones()[tone][name][6:-1]] for name in ("tone", "tone-back"))
    assert contrast(hue, back) >= 4.5
    assert contrast(hue, colors["card"]) >= 4.5  # the heading of a column, and the edge of a card
    assert contrast(hue, colors["page"]) >= 4.5


@pytest.mark.requirement("PE-8")
def test_no_two_tones_look_alike() -> None:
    assert tones().keys() == STATUSES.keys()
    assert len({tone["icon"] for tone in tones().values()}) == len(STATUSES)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_view_within_a_client_has_the_tones_and_the_icons_of_the_board(scheme: int) -> None:
    pairs = re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\);", VIEW)
    colors = {name: pair[scheme] for name, *pair in pairs}
    for name, tone in tones(VIEW).items():
        assert tone["icon"] == tones()[name]["icon"]
        hue = colors[tone["tone"][6:-1]]
        assert contrast(hue, colors["card"]) >= 4.5
        assert contrast(hue, colors["page"]) >= 4.5


def test_the_view_within_a_client_gives_each_status_the_tone_of_the_board() -> None:
    found = dict(re.findall(r'^  (\w+): \["(\w+)", "', VIEW, re.MULTILINE))
    assert found == {status: find_tone(status) for status in found}
    assert {*found.values()} == STATUSES.keys()


@pytest.mark.requirement("PE-8")
@pytest.mark.parametrize(("tone", "status"), [(tone, status) for tone, found in STATUSES.items() for status in found])
def test_every_status_of_the_servers_has_its_tone(tone: str, status: str) -> None:
    assert find_tone(status) == tone


def test_the_page_names_the_tone_of_each_task(board: BoardClient) -> None:
    board.submit(board.form("create"), **{board.store.actions.create.fields[0]: "Buy milk"})
    assert 'data-tone="waiting"' in board.shown()
    task_id = board.store.tasks().lines[0].id
    assert '<span class="status" data-tone="waiting">' in board.get("/task", id=task_id).text


def test_a_column_knows_from_where_a_task_may_come(columns: BoardClient, lister: Agent) -> None:
    lister.create("Buy milk")
    found = dict(re.findall('data-status="(\\w+)"[^>]* data-sources="([^"]*)"', columns.shown()))
    assert found == {
        "pending": "[]",
        "in_progress": "[&#34;pending&#34;]",
        "done": "[&#34;in_progress&#34;]",
        "canceled": "[&#34;done&#34;, &#34;in_progress&#34;, &#34;pending&#34;]",
    }
