"""Each promise has a test and each test that names a promise names a known one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.requirements import LATER, REQUIREMENTS
from tests.tiers import TIERS, tiers_of

TESTS = Path(__file__).parent


class Claim(NamedTuple):
    """One argument of a ``requirement`` marker, where it is, and the tiers that its test or its module names."""

    place: str
    value: object
    tiers: frozenset[str] = frozenset()

    @property
    def is_shown_by_default(self) -> bool:
        """True if the default run has the test; of a table it may leave out some cases."""
        return not self.tiers & {"long", "by_hand", "browser"} and (
            "process" not in self.tiers or "sample" in self.tiers
        )


def claims_in(source: str, name: str) -> Iterator[Claim]:
    module = ast.parse(source)
    shared = [part for part in module.body if is_named(part, "pytestmark")]
    common = tiers_named(shared)
    for part in module.body:
        marks = getattr(part, "decorator_list", ())
        tiers = common | tiers_named([mark for mark in marks if not isinstance(mark, ast.Call)])
        for node in ast.walk(part):
            # Whatever the marker is an attribute of: to write out every call would take most of the time.
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
                for argument in node.args:
                    value = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                    yield Claim(f"{name}:{argument.lineno}", value, tiers)


def is_named(part: ast.stmt, name: str) -> bool:
    return isinstance(part, ast.Assign) and [ast.unparse(target) for target in part.targets] == [name]


def tiers_named(parts: Sequence[ast.AST]) -> frozenset[str]:
    found = (node.attr for part in parts for node in ast.walk(part) if isinstance(node, ast.Attribute))
    return frozenset(TIERS.keys() & {*found})


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    files = sorted(TESTS.rglob("test_*.py"))
    return [
        claim._replace(tiers=claim.tiers | tiers_of(file))
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
        Claim("t.py:6", "D", frozenset({"long"})),
    ]
    assert not any(claim.is_shown_by_default for claim in claims_in("pytestmark = [pytest.mark.long]\n" + source, ""))


@pytest.mark.parametrize(
    ("tiers", "is_shown"),
    [
        ("", True),
        ("process", False),
        ("process sample", True),
        ("browser", False),
        ("long sample", False),
        ("by_hand", False),
    ],
)
def test_the_default_run_shows_what_its_tests_claim(tiers: str, *, is_shown: bool) -> None:
    assert Claim("", "A", frozenset(tiers.split())).is_shown_by_default is is_shown


def test_every_marker_names_a_requirement_that_holds_now(claims: list[Claim]) -> None:
    assert [claim for claim in claims if claim.value not in REQUIREMENTS] == []


def test_every_requirement_is_shown_by_a_test_of_the_default_run(claims: list[Claim]) -> None:
    assert sorted(REQUIREMENTS.keys() - {claim.value for claim in claims if claim.is_shown_by_default}) == []


def test_what_comes_later_is_not_promised_now() -> None:
    assert LATER.keys().isdisjoint(REQUIREMENTS)
