"""Forms are made from the tools' own schemas."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from task_board.web.forms import Difference, Field, as_text, collect_arguments, compare, make_fields, merge
from task_core.view import Action

SCHEMA = {
    "properties": {
        "title": {"type": "string", "maxLength": 200},
        "text": {"anyOf": [{"type": "string", "maxLength": 4000}, {"type": "null"}]},
        "slug": {"type": "string", "pattern": "^a$"},
        "free": {"type": "string"},
        "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title"],
}
NAMES = ("title", "text", "slug", "free", "kind", "tags")
ACTION = Action("create", "make", fields=NAMES)
FIELDS = make_fields(ACTION, SCHEMA, ())


def test_each_kind_of_property_has_its_kind_of_field() -> None:
    assert [field.kind for field in FIELDS] == ["line", "text", "line", "text", "choice", "list"]
    assert FIELDS[0] == Field("title", "line", (), 200, is_required=True)
    assert [field.is_clearable for field in FIELDS] == [False, True, False, False, True, False]
    assert FIELDS[4].choices == ["a", "b"]


def test_a_server_says_which_fields_have_one_line_if_its_schema_does_not() -> None:
    assert make_fields(ACTION, SCHEMA, ("free",))[3].kind == "line"


def test_fields_may_be_inside_an_argument() -> None:
    nested = {"properties": {"updates": SCHEMA}}
    assert make_fields(ACTION._replace(inside="updates"), nested, ()) == FIELDS


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("a\r\nb\rc", "a\nb\nc"), (3, "3"), (["a", "b\nc"], "a\nb c"), ([], "")],
)
def test_values_are_shown_as_text(value: JsonValue, text: str) -> None:
    assert as_text(value) == text


def test_only_what_differs_becomes_an_argument() -> None:
    was = {"title": "a", "text": "b", "kind": "a", "tags": "x", "free": "c"}
    now = {"title": "a", "text": "", "kind": "", "tags": " y \n\n", "free": ""}
    assert collect_arguments(FIELDS, now, was, {}) == {"text": None, "kind": None, "tags": ["y"], "free": ""}


def test_an_item_that_the_user_left_alone_stays_as_it_is_stored() -> None:
    stored: list[JsonValue] = ["two\nlines", " led by a blank", "a\u2028b\x0bc", "", "two lines", 3]
    was = {"tags": as_text(stored)}
    for change, expected in (
        ("\nnew", [*stored, "new"]),
        ("\n\n \n new \n", [*stored, "new"]),
        ("\ntwo lines", [*stored, "two lines"]),
    ):
        now = {"tags": was["tags"] + change}
        assert collect_arguments(FIELDS, now, was, {"tags": stored}) == {"tags": expected}
    now = {"tags": was["tags"].replace("3", "4")}
    assert collect_arguments(FIELDS, now, was, {"tags": stored}) == {"tags": [*stored[:-1], "4"]}


def test_versions_are_compared_field_by_field() -> None:
    was = dict.fromkeys(NAMES, "") | {"title": "a", "text": "b", "free": "c"}
    now = was | {"title": "mine", "free": "same"}
    found = compare(FIELDS, now, was, {"title": "theirs", "text": "theirs", "free": "same"})
    title, text, _, free, _, _ = FIELDS
    assert found == [
        Difference(title, "theirs", "mine", is_disputed=True),
        Difference(text, "theirs", "b", is_disputed=False),
        Difference(free, "same", "same", is_disputed=False),
    ]
    assert merge(found, now) == now | {"text": "theirs"}
