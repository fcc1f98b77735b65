"""Each promise has a test and each test that names a promise names a known one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.requirements import LATER, REQUIREMENTS

TESTS = Path(__file__).parent


class Claim(NamedTuple):
    """One argument of a ``requirement`` marker and where it is."""

    place: str
    value: object


def claims_in(source: str, name: str) -> Iterator[Claim]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            for argument in node.args:
                value = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                yield Claim(f"{name}:{argument.lineno}", value)


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    files = sorted(TESTS.rglob("test_*.py"))
    return [claim for file in files for claim in claims_in(file.read_text("utf-8"), file.relative_to(TESTS).as_posix())]


def test_a_marker_is_found_wherever_it_stands() -> None:
    source = (
        "pytestmark = pytest.mark.requirement('A')\n"
        "@pytest.mark.requirement('B', name)\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.requirement('C'))])\n"
        "def test_it(x): ...\n"
    )
    assert sorted(claims_in(source, "t.py")) == [
        Claim("t.py:1", "A"),
        Claim("t.py:2", "B"),
        Claim("t.py:2", "name"),
        Claim("t.py:3", "C"),
    ]


def test_every_marker_names_a_requirement_that_holds_now(claims: list[Claim]) -> None:
    assert [claim for claim in claims if claim.value not in REQUIREMENTS] == []


def test_every_requirement_is_shown_by_a_test(claims: list[Claim]) -> None:
    assert sorted(REQUIREMENTS.keys() - {claim.value for claim in claims}) == []


def test_what_comes_later_is_not_promised_now() -> None:
    assert LATER.keys().isdisjoint(REQUIREMENTS)
