"""Problems: each code has one entry in the table, with a sentence that says what to do next (CX-23, CX-95)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_backend import problems
from cortex_backend.problems import ECHO_LIMIT, PROBLEMS, Problem, echo_input

MADE = [
    Problem("AssignedToOther"),
    problems.forbidden("an owner of the project"),
    problems.limit_reached("200 projects a user", "Leave one that you do not need"),
    Problem("IdempotencyKeyReused"),
    Problem("InternalError"),
    problems.invalid_arguments([("body.title", "Field required")]),
    Problem("InvalidCredentials"),
    Problem("InvalidCursor"),
    problems.invalid_transition("TODO", "DONE", ["IN_PROGRESS"]),
    problems.invalid_transition("TODO", "REVIEW", ["IN_PROGRESS"], missing="branch_name"),
    Problem("LastOwner"),
    problems.method_not_allowed(["PUT", "GET"]),
    problems.not_authenticated(was_given=False),
    problems.not_authenticated(was_given=True),
    Problem("NotFound", kind="task"),
    problems.precondition_failed(3),
    Problem("RequestInProgress"),
    Problem("TooLarge", limit=262_144),
    problems.too_many_requests(7),
    Problem("Unavailable"),
    Problem("UnsupportedMediaType", expected="application/json"),
    Problem("WrongPassword"),
    Problem("RequestTimeout"),
]


@pytest.mark.requirement("CX-23")
def test_every_problem_of_the_table_is_tried_here() -> None:
    assert {problem.code for problem in MADE} == PROBLEMS.keys()


def words(code: str) -> str:
    first, *others = re.findall("[A-Z][a-z]+", code)
    return " ".join([first, *map(str.lower, others)])


@pytest.mark.requirement("CX-23", "CX-95")
@pytest.mark.parametrize("problem", MADE, ids=lambda problem: problem.detail[:40])
def test_a_problem_has_a_status_a_title_and_a_sentence_that_goes_on(problem: Problem) -> None:
    assert 400 <= problem.status <= 503
    assert problem.title == ("Assigned to somebody else" if problem.code == "AssignedToOther" else words(problem.code))
    assert problem.detail.endswith(".")
    assert len(problem.detail.split(". ")) <= 2
    assert str(problem) == problem.detail


@pytest.mark.requirement("CX-23")
@pytest.mark.parametrize(
    ("problem", "headers", "members"),
    [
        (problems.method_not_allowed(["PUT", "GET"]), {"Allow": "GET, PUT"}, {}),
        (problems.precondition_failed(3), {"ETag": '"3"'}, {"current_version": 3}),
        (problems.too_many_requests(7), {"Retry-After": "7"}, {}),
        (problems.not_authenticated(was_given=False), {"WWW-Authenticate": "Bearer"}, {}),
        (
            problems.not_authenticated(was_given=True),
            {"WWW-Authenticate": 'Bearer error="invalid_token"'},
            {},
        ),
        (
            problems.invalid_transition("TODO", "DONE", ("CANCELED",)),
            {},
            {"from": "TODO", "to": "DONE", "allowed": ["CANCELED"]},
        ),
    ],
)
def test_a_problem_brings_its_headers_and_members(
    problem: Problem, headers: dict[str, str], members: dict[str, object]
) -> None:
    assert (problem.headers, problem.members) == (headers, members)


def test_a_limit_is_not_a_matter_of_who_asks() -> None:
    shown = problems.limit_reached("200 projects a user", "Leave one").detail
    assert shown == "The limit of 200 projects a user is reached. Leave one."


@pytest.mark.requirement("CX-23")
@settings(max_examples=15)
@given(st.lists(st.tuples(st.text(min_size=1), st.just("Field required")), min_size=1, max_size=25))
def test_a_problem_repeats_little_of_the_request_and_nothing_invisible(errors: list[tuple[str, str]]) -> None:
    problem = problems.invalid_arguments(errors)
    listed = problem.members["errors"]
    assert isinstance(listed, list)
    shown = "".join(entry["path"] for entry in listed if isinstance(entry, Mapping))
    assert len(shown) + 60 <= ECHO_LIMIT
    assert problem.detail.isprintable()
    assert shown.isprintable()


@pytest.mark.requirement("CX-23")
def test_what_is_repeated_is_cut() -> None:
    assert echo_input("x" * 300) == "x" * 199 + "…"
    assert echo_input("a\u202eb\x00") == r"a\u{202e}b\u{0}"
