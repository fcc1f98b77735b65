"""What bodies and queries may hold, at its bounds (CX-10 to CX-15, CX-41)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from cortex_backend.schemas.common import BranchName, Deadline, EmailAddress, Id, RefName, RepositoryUrl, WebUrl
from cortex_backend.schemas.projects import ProjectDraft, ProjectPatch
from cortex_backend.schemas.tasks import CommentDraft, PullRequestPatch, TaskDraft, TaskPatch, TaskQuery

TASK = {"project_id": 1, "title": "Sweep"}


def accepts(kind: Any, value: object) -> bool:  # noqa: ANN401
    """Return whether a type or model takes a value; if the schema of a text has a pattern, Python agrees with it."""
    adapter = TypeAdapter(kind)
    try:
        adapter.validate_python(value)
    except ValidationError:
        is_accepted = False
    else:
        is_accepted = True
    schema = adapter.json_schema()
    if isinstance(value, str) and "pattern" in schema:
        within = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        assert is_accepted == (within and bool(re.search(schema["pattern"].removesuffix("$") + r"\Z", value)))
    return is_accepted


@pytest.mark.requirement("CX-10")
@pytest.mark.parametrize(
    ("url", "is_accepted"),
    [
        ("https://github.com/a/b.git", True),
        ("http://localhost:3000/a/b", True),
        ("https://[::1]:8443/a", True),
        ("https://example.org", True),
        ("ssh://git@example.org:22/a/b.git", True),
        ("ssh://example.org/a/b", True),
        ("git@github.com:a/b.git", True),
        ("example.org:a/b", True),
        ("https://user@example.org/a", False),
        ("https://user:word@example.org/a", False),
        ("ssh://git:word@example.org/a", False),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("ftp://example.org/a", False),
        ("/srv/git/a", False),
        ("../a", False),
        ("--upload-pack=x", False),
        ("-oProxyCommand=x:a", False),
        ("ext::sh -c x", False),
        ("https://example.org/a b", False),
        ("https://example.org/a\n", False),
        ("https://example.org/?token=x", False),
        ("", False),
        ("https://example.org/" + "x" * 2029, False),
    ],
)
def test_a_repository_is_at_a_url_without_a_password(url: str, *, is_accepted: bool) -> None:
    assert accepts(RepositoryUrl, url) is is_accepted


@pytest.mark.requirement("CX-14")
@pytest.mark.parametrize(
    ("url", "is_accepted"),
    [
        ("https://forge.example/a/b/pulls/1#top", True),
        ("http://127.0.0.1:8080?x=1", True),
        ("https://user@forge.example/1", False),
        ("https://forge.example\\@evil.example/", False),
        ("HTTPS://forge.example/", False),
        ("https:///x", False),
    ],
)
def test_a_pull_request_is_at_a_web_page(url: str, *, is_accepted: bool) -> None:
    assert accepts(WebUrl, url) is is_accepted


@pytest.mark.requirement("CX-10")
@pytest.mark.parametrize(
    ("name", "is_accepted"),
    [
        *((name, True) for name in ("main", "release/1.2", "v1.2-rc", "a_b", "主", "x" * 255)),
        *((name, False) for name in ("", "-x", "a..b", "a//b", "/a", "a/", ".a", "a.", "a b", "a~1", "a^", "a:b")),
        *((name, False) for name in ("a?", "a*", "a[", "a\\", "a@{1}", "a\n", "a\x00", "a/.b", "x" * 256)),
    ],
)
def test_a_default_branch_is_a_name_that_git_takes(name: str, *, is_accepted: bool) -> None:
    assert accepts(RefName, name) is is_accepted


@pytest.mark.requirement("CX-41")
@pytest.mark.parametrize(
    ("name", "is_accepted"),
    [
        ("feature/task-42-xxx", True),
        ("refactor/task-1234567890-a-1-b", True),
        ("feature/task-1-" + "x" * 105, True),
        ("feature/task-1-" + "x" * 106, False),
        ("Feature/task-42-x", False),
        ("wip/task-42-x", False),
        ("feature/task-042-x", False),
        ("feature/task-12345678901-x", False),
        ("feature/task-42", False),
        ("feature/task-42-x-", False),
        ("feature/task-42-é", False),
        ("refs/heads/feature/task-42-x", False),
        ("feature/task-42-x\n", False),
    ],
)
def test_the_branch_of_a_task_follows_the_grammar(name: str, *, is_accepted: bool) -> None:
    assert accepts(BranchName, name) is is_accepted


@pytest.mark.requirement("CX-11")
@pytest.mark.parametrize(
    "value", ["0", "-1", "+1", "01", "1.0", " 1", "1_0", "", "x", "2147483648", "9" * 30, 1], ids=repr
)
def test_an_id_in_a_path_is_written_in_one_way(value: object) -> None:
    assert not accepts(Id, value)
    assert accepts(Id, "2147483647")


@pytest.mark.requirement("CX-11")
@pytest.mark.parametrize(
    "value", ["2026-2-1", "2026-02-30", "2026-02-01T00:00:00", "1", 1, 0.5, True, "٢٠٢٦-٠٢-٠١"], ids=repr
)
def test_a_deadline_is_a_day(value: object) -> None:
    assert not accepts(Deadline, value)
    assert accepts(Deadline, "2024-02-29")


@pytest.mark.requirement("CX-11", "CX-15")
@pytest.mark.parametrize(
    ("fields", "is_accepted"),
    [
        ({}, True),
        ({"title": "𝒳" * 200, "description": "\t\n" * 10_000}, True),
        ({"title": "𝒳" * 201}, False),
        ({"title": ""}, False),
        *(({"title": f"a{char}b"}, False) for char in "\x00\n\r\t\x1b\x7f\x85\u2028\u2029\ud800"),
        ({"description": "x" * 20_001}, False),
        ({"description": "a\x00b"}, False),
        ({"description": "\udfff"}, False),
        *(({name: None}, False) for name in ("title", "description", "type", "priority", "project_id")),
        *(({"project_id": value}, False) for value in (0, -1, 2**31, "1", 1.5, True)),
        ({"type": "epic"}, False),
        ({"priority": "medium"}, False),
        ({"status": "TODO"}, False),
        ({"assignee_id": None, "deadline": None}, True),
    ],
)
def test_a_new_task_keeps_its_bounds(fields: dict[str, object], *, is_accepted: bool) -> None:
    assert accepts(TaskDraft, {**TASK, **fields}) is is_accepted


@pytest.mark.requirement("CX-11")
@pytest.mark.parametrize("model", [TaskPatch, ProjectPatch])
def test_what_a_change_leaves_out_is_not_set_and_what_cannot_be_null_is_refused(
    model: type[TaskPatch | ProjectPatch],
) -> None:
    assert model().model_fields_set == set()
    nullable = {name for name in model.model_fields if accepts(model, {name: None})}
    expected = {"assignee_id", "branch_name", "pull_request", "deadline"} if model is TaskPatch else {"repository_url"}
    assert nullable == expected


@pytest.mark.requirement("CX-14")
@pytest.mark.parametrize(
    ("fields", "is_accepted"),
    [
        ({"head_sha": "a" * 40}, True),
        ({"head_sha": "a" * 64, "number": 1, "base": "main", "forge": "github", "state": "closed"}, True),
        ({"head_sha": "A" * 40}, False),
        ({"head_sha": "a" * 41}, False),
        ({"number": 0}, False),
        ({"forge": "bitbucket"}, False),
        ({"state": "draft"}, False),
        ({"submitted_at": "2026-11-23T09:00:00Z"}, False),
    ],
)
def test_a_pull_request_keeps_its_bounds(fields: dict[str, object], *, is_accepted: bool) -> None:
    assert accepts(PullRequestPatch, fields) is is_accepted


@pytest.mark.requirement("CX-10", "CX-15")
def test_names_comments_and_addresses_keep_their_bounds() -> None:
    assert accepts(ProjectDraft, {"name": "x" * 100})
    assert not accepts(ProjectDraft, {"name": "x" * 101})
    assert not accepts(ProjectDraft, {"name": "a\nb"})
    assert accepts(CommentDraft, {"text": "x\n" * 5_000})
    assert not accepts(CommentDraft, {"text": "x" * 10_001})
    assert not accepts(CommentDraft, {"text": ""})
    for address in ("a\x00@b", " @", "@b", "a@ ", "ab", f"{'a' * 253}@b"):
        assert not accepts(EmailAddress, address)
    assert accepts(EmailAddress, "a@b")


@pytest.mark.requirement("CX-11", "CX-15")
@pytest.mark.parametrize(
    "blank",
    [
        " ",
        "\u3000",
        "\u200b\u2060",
        "\ufeff",
        "\xad \xa0",
        "\u202e",
        "\u2800",
        "\u034f\u061c",
        "\u115f\u1160\uffa0\ufe0f",
    ],
)
def test_text_in_which_nothing_can_be_seen_is_blank(blank: str) -> None:
    assert not accepts(TaskDraft, {**TASK, "title": blank})
    assert not accepts(TaskPatch, {"title": blank})
    assert not accepts(ProjectDraft, {"name": blank})
    assert not accepts(CommentDraft, {"text": f"\n{blank}\t\n"})
    assert accepts(TaskDraft, {**TASK, "title": f"{blank}x{blank}", "description": blank})


@pytest.mark.requirement("CX-22")
@pytest.mark.parametrize("who", ["me", "any", "none", "7"])
def test_a_list_asks_for_one_assignee(who: str) -> None:
    expected: int | str = 7 if who == "7" else who
    assert TaskQuery.model_validate({"assignee": who}).assignee == expected
    assert not accepts(TaskQuery, {"assignee": f"{who}x"})
