"""Pull requests on GitHub and GitLab: one each, whatever fails, and no answer is trusted (CX-80 to CX-84)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex_cli.errors import CortexError
from cortex_cli.forge import ForgeClient, Proposal, find_forge
from cortex_cli.remotes import choose_remote
from cortex_cli.repository import read_config
from tests.cortex_cli.forge_stub import StubForge
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, raises_code
from tests.cortex_cli.stub_server import StubReply, running

on_github = pytest.mark.parametrize("forge", ["github"], indirect=True)

by_every_way = pytest.mark.parametrize("forge", ["github", "gh", "glab"], indirect=True)
"""GitHub by a token and by ``gh``, GitLab by ``glab``; most tests leave out ``gh``, whose answers are the same."""

PROGRAM = Path(__file__).with_name("fake_forge_program.py")


def install_program(sandbox: GitSandbox, name: str, origin: str) -> None:
    """Put a fake ``gh`` or ``glab`` on the path, which is logged in to the forge at ``origin``."""
    folder = sandbox.here.with_name("bin")
    folder.mkdir()
    (folder / name).write_text(f"#!{sys.executable} -IS\n{PROGRAM.read_text('utf-8')}", "utf-8")
    (folder / name).chmod(0o700)
    sandbox.environment |= {"PATH": f"{folder}:{sandbox.environment['PATH']}", "FAKE_FORGE": origin}


@pytest.fixture
def hosted(worked: GitSandbox) -> GitSandbox:
    """Return a repository with a started task whose remote is ``team/web`` on a host of its own, reached as by ssh."""
    team = worked.there.with_name("team")
    team.mkdir()
    (team / "web.git").symlink_to(worked.there)
    worked.git("remote", "set-url", "origin", "git@127.0.0.1:team/web.git")
    worked.git("config", "core.sshCommand", f"there() {{ cd '{team.parent}' && eval \"$2\"; }}; there")
    worked.git("config", "ssh.variant", "simple")
    return worked


@pytest.fixture(params=["github", "glab"])
def forge(request: pytest.FixtureRequest, hosted: GitSandbox) -> Iterator[StubForge]:
    """Return the forge of the hosted sandbox, with a token for GitHub, or a program that is logged in."""
    kind = "gitlab" if request.param == "glab" else "github"
    with running() as server:
        hosted.git("config", "cortex.forge", kind)
        if request.param == "github":
            hosted.git("config", "cortex.forgeUrl", server.origin)
            hosted.environment["GH_ENTERPRISE_TOKEN"] = "secret"
        else:
            install_program(hosted, request.param, server.origin)
        stub = StubForge(server, kind, BRANCH)
        yield stub
        assert stub.faults == []


def client_of(sandbox: GitSandbox) -> ForgeClient:
    """Return the client with which the flows speak to the forge."""
    git = sandbox.make_flow().git
    config = read_config(git)
    remote = choose_remote(config)
    assert remote is not None
    client = find_forge(sandbox.environment, config, remote, git).client
    assert client is not None
    return client


PROPOSAL = Proposal(BRANCH, "main", "Fix the login", "Cortex task 42")


@by_every_way
@pytest.mark.requirement("CX-72", "CX-80", "CX-83", "CX-101")
def test_a_pull_request_is_created_once(hosted: GitSandbox, forge: StubForge) -> None:
    first = hosted.pr()["pull_request"]
    again = hosted.pr()["pull_request"]
    assert (first["number"], first["state"], first["created"]) == (1, "open", True)
    assert {**first, "created": False} == again
    assert len(forge.pulls) == 1
    sent = forge.pulls[0]["sent"]
    assert "Fix the login" in sent["title"]
    text = str(sent.get("body", sent.get("description")))
    assert text == "Cortex task 42\n\n- Work"
    assert hosted.backend.task["pull_request"]["url"] == first["url"]


@pytest.mark.requirement("CX-80")
def test_a_draft_with_words_of_the_user_is_created(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr(title="Mine", body="My text", is_draft=True)
    sent = forge.pulls[0]["sent"]
    assert sent.get("draft") is True or sent["title"] in {"Draft: Mine", "WIP: Mine"}
    assert "My text" in sent.values()


@pytest.mark.requirement("CX-80")
def test_a_pull_request_that_appears_meanwhile_is_found(hosted: GitSandbox, forge: StubForge) -> None:
    find, usual = next(item for item in forge.server.answers.items() if getattr(item[1], "__name__", "") == "_find")

    def answer_too_early(_asked: object) -> StubReply:
        forge.server.answers[find] = usual
        forge.pulls.append({"number": 1, "state": "open", "sent": {}})
        return StubReply(body=[])

    forge.server.answers[find] = answer_too_early
    answer = hosted.pr()["pull_request"]
    assert (answer["number"], len(forge.pulls)) == (1, 1)


@by_every_way
@pytest.mark.requirement("CX-80")
def test_a_refusal_of_the_forge_is_quoted_and_the_task_stays(hosted: GitSandbox, forge: StubForge) -> None:
    forge.say("create", forge.refusal("No commits between"))
    with pytest.raises(CortexError) as caught:
        hosted.pr()
    assert (caught.value.code, caught.value.exit_code) == ("ForgeFailed", 5)
    assert "No commits between" in caught.value.message
    assert hosted.backend.task["status"] == "IN_PROGRESS"


@on_github
@pytest.mark.requirement("CX-81")
def test_a_token_that_the_forge_refuses_is_an_error(hosted: GitSandbox, forge: StubForge) -> None:
    client = client_of(hosted)
    for status, reason, code in (
        (401, "Bad credentials", "ForgeAuthFailed"),
        (403, "Resource not accessible by integration", "ForgeAuthFailed"),
        (403, "API rate limit exceeded for user ID 7.", "ForgeFailed"),
    ):
        forge.say("find", StubReply(status, {"message": reason}))
        with raises_code(code, match=f"{status}: {reason}") as caught:
            client.find(BRANCH, "main")
        assert "secret" not in str(caught.value.details) + caught.value.message


HOSTILE: dict[str, object] = {
    "not JSON": b"<html>",
    "deep": b"[" * 100_000,
    "huge": b'"' + b"x" * (1024 * 1024) + b'"',
    "null": None,
    "text": "x",
    "number": 3,
    "list of text": ["x"],
    "url script": {"html_url": "javascript:alert(1)", "web_url": "javascript:alert(1)"},
    "url elsewhere": {"html_url": "https://evil.example/1", "web_url": "https://evil.example/1"},
    "url with a login": {"html_url": "http://a:b@127.0.0.1/1", "web_url": "http://a:b@127.0.0.1/1"},
    "url broken": {"html_url": "http://[/", "web_url": "http://[/"},
    "url with ANSI": {"html_url": "http://127.0.0.1/\x1b[31m", "web_url": "http://127.0.0.1/\u202e"},
    "url long": {"html_url": "http://127.0.0.1/" + "x" * 2048, "web_url": "http://127.0.0.1/" + "x" * 2048},
    "number negative": {"number": -1, "iid": -1},
    "number boolean": {"number": True, "iid": True},
    "number huge": {"number": 2**31, "iid": 2**31},
}


@by_every_way
@pytest.mark.requirement("CX-84", "CX-102")
def test_a_hostile_answer_is_an_error(hosted: GitSandbox, forge: StubForge) -> None:
    forge.pulls.append({"number": 1, "state": "open", "sent": {}})
    right = forge._shown(forge.pulls.pop())  # noqa: SLF001 - the rest of the answer is right
    client = client_of(hosted)
    has_token = "GH_ENTERPRISE_TOKEN" in hosted.environment
    for name in HOSTILE if has_token else ("not JSON", "huge", "null", "url elsewhere", "number negative"):
        value = HOSTILE[name]
        forge.say("create", StubReply(201, {**right, **value} if isinstance(value, dict) else value))
        with raises_code("ForgeFailed"):
            client.create(PROPOSAL)
    with raises_code("ForgeFailed"):
        hosted.pr()
    assert hosted.backend.task["pull_request"] is None


@pytest.mark.requirement("CX-84")
def test_a_list_that_is_not_one_is_an_error(hosted: GitSandbox, forge: StubForge) -> None:
    forge.pulls.append({"number": 1, "state": "closed", "sent": {}})
    client = client_of(hosted)
    for body in (dict[str, str](), "x"):
        forge.say("find", StubReply(body=body))
        with raises_code("ForgeFailed"):
            client.find(BRANCH, "main")


LOST = [StubReply(0), StubReply(302, None, {"Location": "http://127.0.0.1:1/"}), StubReply(500, {"message": 5})]


@on_github
@pytest.mark.requirement("CX-84")
def test_a_forge_that_does_not_answer_is_an_error(hosted: GitSandbox, forge: StubForge) -> None:
    client = client_of(hosted)
    for said in LOST:
        forge.say("find", said)
        with raises_code("ForgeFailed"):
            client.find(BRANCH, "main")


@pytest.mark.requirement("CX-76")
def test_the_forge_shows_that_work_is_merged(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr()
    forge.merge(hosted.git("rev-parse", "HEAD"))
    assert hosted.done()["merged_by"] == "forge"


@pytest.mark.requirement("CX-76")
def test_a_merge_of_another_commit_does_not_count(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr()
    forge.merge("f" * 40)
    with pytest.raises(CortexError) as caught:
        hosted.done()
    assert caught.value.code == "NotMerged"
    assert caught.value.details["state"] == "merged"


@on_github
@pytest.mark.requirement("CX-76")
def test_without_the_forge_git_shows_the_merge(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr()
    hosted.merge_at_remote()
    forge.say("state", StubReply(500, {}))
    answer = hosted.done()
    assert answer["merged_by"] == "ancestor"
    assert "forge was not asked" in answer["warnings"][0]


@pytest.mark.requirement("CX-78")
def test_status_stores_what_the_forge_says(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr()
    assert hosted.status()["next"] == "wait_for_review"
    changes = hosted.backend.changes
    forge.merge(hosted.git("rev-parse", "HEAD"))
    for _ in range(2):
        answer = hosted.status()
        assert (answer["pull_request"]["state"], answer["next"]) == ("merged", "complete_task")
    assert hosted.backend.changes == changes + 1


@on_github
@pytest.mark.requirement("CX-78")
def test_status_goes_on_when_the_forge_fails(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr()
    forge.say("state", StubReply(body=[]))
    answer = hosted.status()
    assert answer["task"]["status"] == "REVIEW"
    assert "as it was last seen" in answer["warnings"][0]


@pytest.mark.requirement("CX-80")
def test_a_closed_pull_request_is_not_the_open_one(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.pr()
    for state in ("closed", "locked"):
        forge.pulls[0]["state"] = state
        is_open = forge.is_gitlab and state == "locked"
        answer = hosted.status()
        assert answer["pull_request"]["state"] == ("open" if is_open else "closed")
        assert answer["next"] == ("wait_for_review" if is_open else "submit_pr")


@pytest.mark.requirement("CX-72", "CX-80")
def test_old_pull_requests_of_the_branch_do_not_hide_the_open_one(hosted: GitSandbox, forge: StubForge) -> None:
    forge.pulls += [{"number": number, "state": state, "sent": {}} for number, state in ((1, "closed"), (2, "merged"))]
    found = [hosted.pr()["pull_request"] for _ in range(2)]
    assert [(pull["number"], pull["created"]) for pull in found] == [(3, True), (3, False)]


@pytest.mark.parametrize("forge", ["gh", "glab"], indirect=True)
@pytest.mark.requirement("CX-84")
def test_a_program_that_gives_no_answer_is_an_error(hosted: GitSandbox, forge: StubForge) -> None:
    hosted.environment["FAKE_FORGE"] = "broken"
    with raises_code("ForgeFailed", match="gh: no such host|glab: no such host"):
        hosted.pr()
    assert forge.pulls == []


@pytest.mark.parametrize("forge", ["glab"], indirect=True)
@pytest.mark.requirement("CX-82")
def test_where_nobody_is_logged_in_to_the_program_the_page_is_offered(hosted: GitSandbox, forge: StubForge) -> None:
    del hosted.environment["FAKE_FORGE"]
    answer = hosted.pr()
    assert "/team/web/-/merge_requests/new?" in answer["compare_url"]
    assert forge.pulls == []


REFUSALS: list[tuple[object, str]] = [
    ({"message": {"title": ["is too long"]}}, "422: is too long"),
    ({"error": "title is missing"}, "422: title is missing"),
    ({"message": "Failed", "errors": [{"field": "base", "code": "invalid"}]}, "422: Failed; base; invalid"),
    ({"message": 5}, "422: no reason"),
    ([[[[["deep"]]]]], "422: no reason"),
    (None, "422: no reason"),
]


@on_github
@pytest.mark.requirement("CX-80", "CX-95")
def test_the_reason_of_a_refusal_is_found(hosted: GitSandbox, forge: StubForge) -> None:
    client = client_of(hosted)
    for body, reason in REFUSALS:
        forge.say("create", StubReply(422, body))
        with raises_code("ForgeFailed") as caught:
            client.create(PROPOSAL)
        assert caught.value.details["reason"] == reason
