"""Each promise has a test and each test that names a promise names a known one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.requirements import LATER, REQUIREMENTS
from tests.tiers import tiers_of

TESTS = Path(__file__).parent


class Claim(NamedTuple):
    """One argument of a ``requirement`` marker and where it is."""

    place: str
    value: object
    by_default: bool = True
    """False for a test that the default run leaves out as a whole; a single case of a table may be left out too."""


def claims_in(source: str, name: str) -> Iterator[Claim]:
    module = ast.parse(source)
    left_out = {call for part in module.body if is_long(part) for call in ast.walk(part)}
    marks = [part for part in module.body if ast.unparse(part).startswith("pytestmark =")]
    everything = any("pytest.mark.long" in ast.unparse(part) for part in marks)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            for argument in node.args:
                value = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                yield Claim(f"{name}:{argument.lineno}", value, not everything and node not in left_out)


def is_long(part: ast.stmt) -> bool:
    decorators = part.decorator_list if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return "pytest.mark.long" in map(ast.unparse, decorators)


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    files = sorted(TESTS.rglob("test_*.py"))
    return [
        claim._replace(by_default=claim.by_default and "browser" not in tiers_of(file))
        for file in files
        for claim in claims_in(file.read_text("utf-8"), file.relative_to(TESTS).as_posix())
    ]


def test_a_marker_is_found_wherever_it_stands() -> None:
    source = (
        "pytestmark = pytest.mark.requirement('A')\n"
        "@pytest.mark.requirement('B', name)\n"
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.requirement('C'))])\n"
        "def test_it(x): ...\n"
        "@pytest.mark.long\n"
        "@pytest.mark.requirement('D')\n"
        "def test_more(): ...\n"
    )
    assert sorted(claims_in(source, "t.py")) == [
        Claim("t.py:1", "A"),
        Claim("t.py:2", "B"),
        Claim("t.py:2", "name"),
        Claim("t.py:3", "C"),
        Claim("t.py:6", "D", by_default=False),
    ]
    assert not any(claim.by_default for claim in claims_in("pytestmark = [pytest.mark.long]\n" + source, "t.py"))


def test_every_marker_names_a_requirement_that_holds_now(claims: list[Claim]) -> None:
    assert [claim for claim in claims if claim.value not in REQUIREMENTS] == []


def test_every_requirement_is_shown_by_a_test_of_the_default_run(claims: list[Claim]) -> None:
    assert sorted(REQUIREMENTS.keys() - {claim.value for claim in claims if claim.by_default}) == []


def test_what_comes_later_is_not_promised_now() -> None:
    assert LATER.keys().isdisjoint(REQUIREMENTS)
