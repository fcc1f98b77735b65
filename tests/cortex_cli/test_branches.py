"""The names of task branches (CX-41)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex_cli.branches import is_branch_name, make_branch_name, parse_branch, slugify
from cortex_cli.models import TASK_TYPES

GRAMMAR = r"^(feature|bug|docs|fix|chore|refactor)/task-([1-9][0-9]{0,9})-[a-z0-9]+(-[a-z0-9]+)*$"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix the Login", "fix-the-login"),
        ("  --Fix!! the   (Login)--  ", "fix-the-login"),
        ("Résumé für Łódź", "resume-fur-odz"),
        ("ﬁx ² K", "fix-2-k"),
        ("İstanbul", "istanbul"),
        ("修复 login", "login"),
        ("修复", "73475cb4"),
        ("", "73475cb4"),
        ("a" * 41, "a" * 40),
        ("a" * 40, "a" * 40),
        ("a" * 39 + " b", "a" * 39),
        ("a" * 38 + " b", "a" * 38 + "-b"),
        ("a" * 40 + " b", "a" * 40),
        ("one two " + "x" * 40, "one-two"),
        ("$(touch x); `y` ../z --exec=x\n", "touch-x-y-z-exec-x"),
    ],
)
@pytest.mark.requirement("CX-41", "CX-103")
def test_a_title_becomes_a_slug(title: str, slug: str) -> None:
    assert slugify(title, 42) == slug


@settings(max_examples=25)
@given(st.text(max_size=80), st.integers(1, 2**31 - 1), st.sampled_from(TASK_TYPES))
@pytest.mark.requirement("CX-41")
def test_every_name_that_is_made_fits_the_grammar_and_is_read_back(title: str, task_id: int, task_type: str) -> None:
    name = make_branch_name(task_type, task_id, title)
    assert re.fullmatch(GRAMMAR, name)
    assert len(name) <= 120
    assert parse_branch(name) == task_id
    assert is_branch_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(None, "", "main", "feature/task-0-x", "feature/task-01-x", "feature/task-1-", "feature/task-1-x-"),
        *("feature/task-1-X", "feature/task-1-x\n", "feature/task-2147483648-x", "feature/task-12345678901-x"),
        *("-x", "--upload-pack=x", "../x", "refs/heads/feature/task-1-x", "Feature/task-1-x", "epic/task-1-x"),
        *("feature/task-1-x--y", "feature/task-١-x", "feature/task-1-" + "x" * 106),
    ],
)
@pytest.mark.requirement("CX-41", "CX-103")
def test_other_names_are_of_no_task(name: str | None) -> None:
    assert parse_branch(name) is None


@pytest.mark.parametrize("name", ["main", "release/1.x", "ünïcode", "a@b", "x-", "{x}"])
@pytest.mark.requirement("CX-67")
def test_a_name_that_git_allows_is_one(name: str) -> None:
    assert is_branch_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "-x", "--exec=x", "a b", "a\nb", "a\0b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a@{b"),
        *("/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "@", "\ud800", "x" * 251, "a\x7fb"),
    ],
)
@pytest.mark.requirement("CX-65", "CX-103")
def test_a_name_that_git_does_not_allow_is_not_one(name: str) -> None:
    assert not is_branch_name(name)
