"""The page speaks the language of the browser, and every language says everything."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest

from task_board.language import LANGUAGES, choose_language
from task_core.view import BoardActions
from tasks_v1_mcp.models import Category
from tests.board.board_client import Agent, open_board
from tests.servers import SERVERS, ServerRecord


def messages(code: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((files("task_board") / "messages" / f"{code}.toml").read_text("utf-8"))


def keys(code: str) -> set[str]:
    return {f"{group}.{name}" for group, found in messages(code).items() for name in found}


@pytest.mark.requirement("PE-14")
@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_every_message(code: str) -> None:
    assert keys(code) == keys("en")


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_names_the_same_values(code: str) -> None:
    english = messages("en")
    for group, found in messages(code).items():
        for name, text in found.items():
            assert {*re.findall(r"{\w*}", text)} == {*re.findall(r"{\w*}", english[group][name])}, name


@pytest.mark.parametrize(("place", "code"), [*enumerate(LANGUAGES)])
def test_the_view_within_a_client_names_each_status_as_the_board_does(place: int, code: str) -> None:
    page = (files("task_core") / "server" / "app_view.html").read_text("utf-8")
    rows = re.findall(r'^  (\w+): \["\w+", "(.+)", "(.+)", "(.+)"\],$', page, re.MULTILINE)
    assert {name: texts[place] for name, *texts in rows} == messages(code)["status"]


def test_every_message_is_used() -> None:
    package = files("task_board")
    sources = [path.read_text("utf-8") for path in (package / "web").iterdir() if path.name.endswith(".py")]
    sources += [path.read_text("utf-8") for path in (package / "web" / "templates").iterdir()]
    used = set(re.findall(r"page\.(\w+)", " ".join(sources)))
    assert {*messages("en")["page"]} - used == set()


@pytest.mark.requirement("PE-14")
@pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)
def test_every_action_and_field_of_a_server_has_a_name_in_every_language(record: ServerRecord) -> None:
    actions: BoardActions = import_module(f"{record.package}.view").ACTIONS
    others = [it for it in (actions.create_below, actions.place_below, actions.place_on_top) if it]
    offered = [actions.create, actions.edit, *others, *actions.steps]
    names = {f"{group}.{action.name}" for action in offered for group in ("action", "done")}
    names |= {f"field.{field.lower()}" for action in offered for field in action.fields}
    names |= {f"hint.{field.lower()}" for action in offered for field in action.fields}
    names |= {f"word.{priority.lower()}" for priority in actions.priorities}
    names |= {f"status.{re.sub('-', '_', step.status).lower()}" for step in actions.steps if step.status}
    assert names <= keys("en")


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("ja", "ja"),
        ("JA-jp", "ja"),
        ("fr-FR, fr;q=0.9, ja;q=0.5, en;q=0.4", "ja"),
        ("en;q=0.2, zh;q=0.7", "zh"),
        ("ja;q=0", "en"),
        ("fr, *;q=0.5", "en"),
        ("zh;q=high, ;;;, ja;q=0.1", "ja"),
        ("zh-Hant-TW", "zh"),
    ],
)
def test_the_language_is_the_one_that_the_browser_prefers(accepted: str, code: str) -> None:
    assert choose_language(accepted).code == code


@pytest.mark.parametrize(("code", "word"), [("en", "Pending"), ("zh", "待办"), ("ja", "未着手")])
def test_the_page_is_in_the_language_of_the_browser(tmp_path: Path, lister: Agent, code: str, word: str) -> None:
    lister.create("Buy milk")
    with open_board(tmp_path, "tasks-v1", language=code) as board:
        page = board.get().text
        assert f'<html lang="{code}">' in page
        assert word in page
        board.client.cookies.clear()
        assert board.client.get("/").text == choose_language(code).say("page.link_needed")


def test_the_details_and_the_form_name_a_priority_and_a_category_in_the_language(tmp_path: Path, lister: Agent) -> None:
    task_id = lister.create("Buy milk", priority="high", category="parenting")
    with open_board(tmp_path, "tasks-v1", language="zh") as board:
        details = re.findall(r"<dd>\s*(\S+)\s*</dd>", board.get("/task", id=task_id).text)
        assert details == ["育儿", "高"]
        form = board.get("/form", action="edit", id=task_id).text
    shown = re.findall(r'<option value="(\w+)"[^>]*>([^<]+)<', form)
    assert [*dict(shown)] == [*Category, "low", "medium", "high"]
    assert not re.search("[a-z]", "".join(text for _, text in shown))


def test_a_word_that_no_message_knows_is_shown_as_it_is() -> None:
    english = choose_language("en")
    assert english.name("field", "fooBar_baz") == "Foo bar baz"
    assert english.name("status", "in-progress") == "In progress"
    assert english.find("hint", "fooBar_baz") == ""
    assert english.confirm("start", "{x}") == "Started '{x}'"
    assert english.confirm("hand_over", "{x}") == "Hand over: {x}"
