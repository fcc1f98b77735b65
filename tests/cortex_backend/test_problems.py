"""The problems: one class for each code, with a sentence that says what to do next (CX-23, CX-95)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex_backend import problems
from cortex_backend.problems import ECHO_LIMIT, ForbiddenProblem, InvalidArgumentsProblem, Problem, echo_input

CODES = [
    "InvalidCredentials",
    "NotAuthenticated",
    "Forbidden",
    "NotFound",
    "InvalidArguments",
    "InvalidCursor",
    "InvalidTransition",
    "AssignedToOther",
    "LastOwner",
    "WrongPassword",
    "PreconditionFailed",
    "IdempotencyKeyReused",
    "RequestInProgress",
    "TooManyRequests",
    "TooLarge",
    "UnsupportedMediaType",
    "MethodNotAllowed",
    "Unavailable",
    "InternalError",
]

MADE = [
    problems.AssignedToOtherProblem(),
    problems.ForbiddenProblem("an owner of the project"),
    problems.ForbiddenProblem(limit="200 projects a user"),
    problems.IdempotencyKeyReusedProblem(),
    problems.InternalErrorProblem(),
    problems.InvalidArgumentsProblem([("body.title", "Field required")]),
    problems.InvalidCredentialsProblem(),
    problems.InvalidCursorProblem(),
    problems.InvalidTransitionProblem("TODO", "DONE", ["IN_PROGRESS"]),
    problems.InvalidTransitionProblem("TODO", "REVIEW", ["IN_PROGRESS"], missing="branch_name"),
    problems.LastOwnerProblem(),
    problems.MethodNotAllowedProblem(["PUT", "GET"]),
    problems.NotAuthenticatedProblem(),
    problems.NotAuthenticatedProblem(was_given=True),
    problems.NotFoundProblem("task"),
    problems.PreconditionFailedProblem(3),
    problems.RequestInProgressProblem(),
    problems.TooLargeProblem(262_144),
    problems.TooManyRequestsProblem(7),
    problems.UnavailableProblem(),
    problems.UnsupportedMediaTypeProblem(),
    problems.WrongPasswordProblem(),
]


@pytest.mark.requirement("CX-23")
def test_there_is_a_class_for_each_code() -> None:
    codes = {kind.__name__.removesuffix("Problem") for kind in Problem.__subclasses__()}
    assert {*CODES} <= codes
    assert {problem.code for problem in MADE} >= {*CODES}


@pytest.mark.requirement("CX-23", "CX-95")
@pytest.mark.parametrize("problem", MADE, ids=lambda problem: problem.detail[:40])
def test_a_problem_has_a_status_a_title_and_a_sentence_that_goes_on(problem: Problem) -> None:
    assert 400 <= problem.status <= 503
    assert problem.title
    assert problem.detail.endswith(".")
    assert len(problem.detail.split(". ")) <= 2
    assert str(problem) == problem.detail


@pytest.mark.requirement("CX-23")
@pytest.mark.parametrize(
    ("problem", "headers", "members"),
    [
        (problems.MethodNotAllowedProblem(["PUT", "GET"]), {"Allow": "GET, PUT"}, {}),
        (problems.PreconditionFailedProblem(3), {"ETag": '"3"'}, {"current_version": 3}),
        (problems.TooManyRequestsProblem(7), {"Retry-After": "7"}, {}),
        (problems.NotAuthenticatedProblem(), {"WWW-Authenticate": "Bearer"}, {}),
        (
            problems.NotAuthenticatedProblem(was_given=True),
            {"WWW-Authenticate": 'Bearer error="invalid_token"'},
            {},
        ),
        (
            problems.InvalidTransitionProblem("TODO", "DONE", ("CANCELED",)),
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
    assert ForbiddenProblem(limit="200 projects a user").detail.startswith("The limit of 200 projects a user")


@pytest.mark.requirement("CX-23")
@given(st.lists(st.tuples(st.text(min_size=1), st.just("Field required")), min_size=1, max_size=40))
def test_a_problem_repeats_little_of_the_request_and_nothing_invisible(errors: list[tuple[str, str]]) -> None:
    problem = InvalidArgumentsProblem(errors)
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
