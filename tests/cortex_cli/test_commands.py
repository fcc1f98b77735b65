"""The commands that need no repository: what each asks the backend for, and what it answers (CX-50, CX-52)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from cortex_cli.credentials import CredentialsFile
from tests.cortex_cli.conftest import Ctx, Ran
from tests.cortex_cli.stub_server import TASK, USER, StubReply, StubRequest, StubServer, problem

pytestmark = pytest.mark.usefixtures("logged_in")

PAGE = {"tasks": [TASK, {**TASK, "id": 41, "title": "Old\x1b[0m", "branch_name": "bug/task-41-old"}], "total": 2}


@pytest.mark.requirement("CX-52", "CX-98")
def test_a_list_is_one_request_and_leaves_the_descriptions_out(ctx: Ctx, server: StubServer) -> None:
    server.say("GET /tasks/", {**PAGE, "next_cursor": "c2"})
    ran = ctx("tasks", "list", "--json")
    assert ran.code == 0
    assert list(ran.answer) == ["success", "tasks", "total", "next_cursor", "message"]
    assert (ran.answer["success"], ran.answer["total"], ran.answer["message"]) == (True, 2, "2 tasks")
    assert ran.answer["next_cursor"] == "c2"
    assert ran.answer["tasks"][0] == {name: value for name, value in TASK.items() if name != "description"}
    (asked,) = server.asked
    mine = [("assignee", "me"), ("status", "TODO"), ("status", "IN_PROGRESS"), ("status", "REVIEW")]
    assert asked.query == mine


@pytest.mark.requirement("CX-50", "CX-52")
@pytest.mark.parametrize(
    ("options", "query"),
    [
        (["--all"], [("assignee", "me")]),
        (["--status=done,canceled"], [("assignee", "me"), ("status", "DONE"), ("status", "CANCELED")]),
        (["--all", "--assignee=none"], [("assignee", "none")]),
        (["--all", "--assignee=9"], [("assignee", "9")]),
        (["--all", "--project=3"], [("assignee", "me"), ("project_id", "3")]),
        (["--all", "--limit=5", "--cursor=c"], [("assignee", "me"), ("limit", "5"), ("cursor", "c")]),
    ],
    ids=str,
)
def test_a_list_is_filtered_by_the_backend(
    options: list[str], query: list[tuple[str, str]], ctx: Ctx, server: StubServer
) -> None:
    server.say("GET /tasks/", {"tasks": [], "total": 0})
    ran = ctx("tasks", "list", *options, "--json")
    assert (ran.code, ran.answer["message"], ran.answer["tasks"]) == (0, "No assigned tasks", [])
    assert server.asked[0].query == query


@pytest.mark.requirement("CX-53")
def test_people_see_a_table_of_their_tasks(ctx: Ctx, server: StubServer) -> None:
    server.say("GET /tasks/", {**PAGE, "next_cursor": "c2"}, {**PAGE, "total": 1}, {"tasks": [], "total": 0})
    assert ctx("tasks", "list").out.splitlines() == [
        "42\tFix the login\tHIGH\tTODO\t",
        "41\tOld\\u{1b}[0m\tHIGH\tTODO\tbug/task-41-old",
        "There are more: add --cursor c2",
    ]
    assert len(ctx("tasks", "list").out.splitlines()) == 2
    hint = "'ctx tasks list --unassigned' lists those that nobody has."
    assert ctx("tasks", "list").out == f"No assigned tasks. {hint}\n"
    assert ctx("tasks", "list", "--unassigned").out == "No assigned tasks.\n"


@pytest.mark.requirement("CX-52", "CX-53")
def test_a_task_is_shown(ctx: Ctx, server: StubServer) -> None:
    server.say("GET /tasks/42", TASK)
    assert ctx("tasks", "show", "42", "--json").answer == {"success": True, "task": TASK}
    request = {"url": "https://forge.test/1", "state": "open"}
    whole = {**TASK, "assignee": {"id": 7, "name": "Ada"}, "pull_request": request, "title": "a\nb"}
    server.say("GET /tasks/42", whole, {**TASK, "pull_request": {"state": "merged"}, "description": ""})
    assert ctx("tasks", "show", "42").out.splitlines() == [
        "#42 a\\u{a}b",
        "Project: Web",
        "Status: TODO",
        "Type: bug",
        "Priority: HIGH",
        "Assignee: Ada",
        "Pull request: https://forge.test/1",
        "",
        "It fails.",
    ]
    assert ctx("tasks", "show", "42").out.splitlines()[-1] == "Pull request: merged"


@pytest.mark.requirement("CX-50")
def test_a_task_is_created_with_its_fields(ctx: Ctx, server: StubServer, tmp_path: Path) -> None:
    server.say("POST /tasks/", StubReply(201, TASK))
    server.say("GET /projects/", {"projects": [{"id": 3, "name": "Web"}, {"id": 4, "name": "App"}]})
    text = tmp_path / "text"
    text.write_text("It fails.\r\nOften.\r\n", encoding="utf-8", newline="")
    options = ["--type=bug", "--priority=high", f"--description-file={text}", "--deadline=2027-01-01", "--assignee=me"]
    ran = ctx("tasks", "new", "Fix the login", "--project=web", *options, "--json")
    assert (ran.code, ran.answer["task"]["id"]) == (0, 42)
    assert server.asked[-1].json == {
        "project_id": 3,
        "title": "Fix the login",
        "type": "bug",
        "priority": "HIGH",
        "description": "It fails.\r\nOften.",
        "deadline": "2027-01-01",
        "assignee_id": 7,
    }


@pytest.mark.requirement("CX-50", "CX-55")
def test_a_new_task_is_in_the_project_of_the_settings(ctx: Ctx, server: StubServer) -> None:
    server.say("POST /tasks/", StubReply(201, TASK))
    several = [{"id": 3, "name": "Web"}, {"id": 4, "name": "App"}]
    for count, hint in ((0, "ctx projects new NAME"), (2, "--project")):
        server.say("GET /projects/", {"projects": several[:count]})
        assert hint in ctx("tasks", "new", "x", "--json").answer["error"]
    assert ctx("config", "set", "default_project", "3").code == 0
    assert ctx("tasks", "new", "x").out == "Created task #42. Start it with 'ctx tasks start 42'.\n"
    assert server.asked[-1].json == {"project_id": 3, "title": "x"}


@pytest.mark.parametrize(
    ("name", "error"),
    [("wep", "No project has the name 'wep'"), ("App", "More than one project"), ("0", "--project")],
)
def test_a_project_that_is_not_clear_is_refused(name: str, error: str, ctx: Ctx, server: StubServer) -> None:
    named = [{"id": 3, "name": "Web"}, {"id": 4, "name": "App"}, {"id": 5, "name": "app"}]
    server.say("GET /projects/", {"projects": named})
    ran = ctx("tasks", "list", "--project", name, "--json")
    assert ran.code == 2
    assert ran.answer["error"].startswith(error)


@pytest.mark.requirement("CX-50")
def test_a_task_is_changed(ctx: Ctx, server: StubServer) -> None:
    server.say("PATCH /tasks/42", TASK)
    options = ["--title=New", "--status=IN_PROGRESS", "--deadline=none", "--assignee=none", "--description-file=-"]
    ran = ctx("tasks", "edit", "42", *options, "--json", stdin="Täxt\n")
    assert (ran.code, ran.answer["task"]) == (0, TASK)
    assert server.asked[0].json == {
        "title": "New",
        "status": "IN_PROGRESS",
        "deadline": None,
        "assignee_id": None,
        "description": "Täxt",
    }
    assert ctx("tasks", "edit", "42", "--assignee=9").out == "Changed task #42.\n"
    assert server.asked[1].json == {"assignee_id": 9}
    assert ctx("tasks", "edit", "42", "--json").code == 2
    assert ctx("tasks", "edit", "42", "--assignee=Bo", "--json").code == 2
    assert ctx("tasks", "cancel", "42").out == "Canceled task #42.\n"
    assert server.asked[-1].json == {"status": "CANCELED"}


@pytest.mark.requirement("CX-50")
def test_a_task_is_commented_on(ctx: Ctx, server: StubServer) -> None:
    server.say(
        "POST /tasks/42/comments", StubReply(201, {"id": 1, "text": "Seen.", "author": {"id": 7, "name": "Ada"}})
    )
    ran = ctx("tasks", "comment", "42", "--message-file=-", "--json", stdin="Seen.\n")
    assert ran.answer["comment"]["text"] == "Seen."
    assert server.asked[0].json == {"text": "Seen."}
    assert ctx("tasks", "comment", "42", "--message-file=-", stdin="x").out == "Commented on task #42.\n"


@pytest.mark.parametrize("kind", ["missing", "binary", "long", "long input"])
def test_a_text_that_cannot_be_taken_is_refused(kind: str, ctx: Ctx, server: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "text"
    if kind in {"binary", "long"}:
        file.write_bytes(b"\xff" if kind == "binary" else b"x" * (2**20 + 1))
    name = "-" if kind == "long input" else str(file)
    ran = ctx("tasks", "comment", "42", "--message-file", name, "--json", stdin="x" * (2**20 + 1))
    assert (ran.code, ran.answer["code"], server.asked) == (2, "InvalidArguments", [])


@pytest.mark.requirement("CX-50")
def test_projects_are_listed_shown_created_and_have_members(ctx: Ctx, server: StubServer) -> None:
    web = {"id": 3, "name": "Web", "repository_url": "https://forge.test/web", "default_branch": "main"}
    server.say("GET /projects/", {"projects": [web]})
    server.say("GET /projects/3", web)
    server.say("POST /projects/", StubReply(201, web))
    server.say(
        "GET /projects/3/members",
        {"members": [{"role": "owner", "user": USER}, {"role": "viewer", "user": {"id": 9, "name": "Bo"}}]},
    )
    assert ctx("projects", "list", "--json").answer["projects"][0]["name"] == "Web"
    assert ctx("projects", "list").out == "3\tWeb\thttps://forge.test/web\tmain\n"
    assert ctx("projects", "show", "Web", "--json").answer["project"]["id"] == 3
    server.say("GET /invitations/", problem(403, "Forbidden"))
    assert ctx("projects", "members", "3").out == "7\tAda\towner\n9\tBo\tviewer\n"
    assert len(ctx("projects", "members", "3", "--json").answer["members"]) == 2
    assert ctx("projects", "new", "Web", "--repository-url=https://forge.test/web", "--default-branch=main").code == 0
    assert server.asked[-1].json == {
        "name": "Web",
        "repository_url": "https://forge.test/web",
        "default_branch": "main",
    }


@pytest.mark.requirement("CX-55", "CX-64")
def test_settings_are_listed_read_set_and_unset(ctx: Ctx, server: StubServer, logged_in: CredentialsFile) -> None:
    assert logged_in.path.exists()
    ran = ctx("config", "list", "--json")
    assert ran.answer["settings"] == {
        "url": server.origin,
        "default_project": None,
        "delete_local_on_done": True,
        "delete_remote_on_done": False,
    }
    assert "access-0" not in ran.out
    assert "refresh-0" not in ran.out
    assert ctx("config", "set", "delete_remote_on_done", "true").out == "delete_remote_on_done is true now.\n"
    assert ctx("config", "get", "delete_remote_on_done").out == "true\n"
    assert ctx("config", "get", "delete_remote_on_done", "--json").answer["value"] is True
    assert ctx("config", "unset", "delete_remote_on_done").out == "delete_remote_on_done has its default again.\n"
    assert ctx("config", "list").out.splitlines()[1:] == [
        "default_project\t",
        "delete_local_on_done\ttrue",
        "delete_remote_on_done\tfalse",
    ]
    assert ctx("config", "keys", "--json").answer["keys"]["url"] is None
    for command in ("get", "unset"):
        ran = ctx("config", command, "ulr", "--json")
        assert (ran.code, ran.answer["details"]["near"]) == (2, ["url"])


@pytest.mark.requirement("CX-55")
def test_a_server_in_the_environment_is_checked(ctx: Ctx) -> None:
    ran = ctx("tasks", "list", "--json", CTX_URL="http://ada:secret@example.org")
    assert (ran.code, "CTX_URL" in ran.answer["error"], "secret" in ran.out) == (2, True, False)


@pytest.mark.requirement("CX-45")
def test_events_are_shown_from_an_id_on(ctx: Ctx, server: StubServer) -> None:
    event = {
        "id": 5,
        "at": "2026-11-01T00:00:00Z",
        "kind": "status_changed",
        "task_id": 42,
        "from": "TODO",
        "to": "DONE",
    }
    server.say("GET /events", {"events": [event], "last": 5})
    assert ctx("events", "--after=4", "--json").answer == {"success": True, "events": [event]}
    assert server.asked[0].query == [("after", "4"), ("limit", "500")]
    assert ctx("events").out == "5\t2026-11-01T00:00:00Z\tstatus_changed\t42\tTODO\tDONE\n"


@pytest.mark.requirement("CX-51", "CX-45")
@pytest.mark.parametrize("is_json", [True, False])
def test_events_are_followed_one_a_line_until_standard_input_ends(
    is_json: bool, ctx: Ctx, server: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Event()
    monkeypatch.setattr(os, "_exit", lambda _code: ended.set())
    monkeypatch.setattr("cortex_cli.commands.events._PAUSE_SECONDS", 0)

    def answer(asked: StubRequest) -> StubReply:
        after = int(dict(asked.query)["after"])
        if len(server.asked) > 3:
            return problem(500, "InternalError")
        return StubReply(200, {"events": [] if after > 99 else [{"id": after + 1}, {"id": after + 2}], "last": 7})

    server.answers["GET /events"] = answer
    ran = ctx("events", "--follow", *(["--after=7", "--json"] if is_json else []), stdin="dropped")
    assert ran.code == 5
    assert not is_json or ended.wait(20)
    assert [line[:9] for line in ran.out.splitlines()[:4]] == (
        ['{"id": 8}', '{"id": 9}', '{"id": 10', '{"id": 11']
        if is_json
        else [f"{number}\t\t\t\t\t"[:9] for number in (8, 9, 10, 11)]
    )


@pytest.mark.requirement("CX-87")
def test_the_program_says_which_one_it_is(ctx: Ctx) -> None:
    answer = ctx("version", "--json").answer
    assert (answer["program"], answer["protocol"]) == ("cortex", 1)
    assert ctx("version").out == f"ctx {answer['version']}\n"


@pytest.mark.requirement("CX-54")
def test_the_set_up_is_checked(ctx: Ctx, server: StubServer) -> None:
    server.say("GET /auth/me", USER)
    ran = ctx("doctor", "--json", PATH=os.environ["PATH"])
    assert [check["name"] for check in ran.answer["checks"]] == ["settings", "login", "git", "keyring"]
    assert all(check["ok"] for check in ran.answer["checks"])
    assert (
        ctx("doctor", PATH=os.environ["PATH"]).out.splitlines()[1] == f"login\tok\tLogged in to {server.origin} as Ada."
    )
    assert logged_in_is_missing(ctx("doctor", CTX_URL="http://127.0.0.1:1", PATH=os.environ["PATH"]))


def logged_in_is_missing(ran: Ran) -> bool:
    return ran.code == 4 and "login\tnot ok\tNot logged in." in ran.out and ran.err.startswith("ctx: Not logged in.")


@pytest.mark.requirement("CX-54", "CX-65")
@pytest.mark.parametrize("version", ["git version 2.29.9", "something else"])
def test_a_git_that_is_too_old_is_found(version: str, ctx: Ctx, server: StubServer, tmp_path: Path) -> None:
    server.say("GET /auth/me", USER)
    (tmp_path / "git").write_text(f"#!/bin/sh\necho '{version}'\n", encoding="utf-8")
    (tmp_path / "git").chmod(0o755)
    ran = ctx("doctor", "--json", PATH=str(tmp_path))
    assert (ran.code, ran.answer["code"]) == (6, "GitMissing")
    assert [check["ok"] for check in ran.answer["details"]["checks"]] == [True, True, False, True]


@pytest.mark.requirement("CX-60")
def test_a_keyring_is_found(ctx: Ctx, server: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.say("GET /auth/me", USER)
    library = SimpleNamespace(errors=SimpleNamespace(KeyringError=KeyError))
    library.get_keyring = lambda: SimpleNamespace(priority=5)
    monkeypatch.setitem(sys.modules, "keyring", library)  # type: ignore[arg-type]
    assert "There is a keyring" in ctx("doctor", PATH=os.environ["PATH"]).out


@pytest.mark.requirement("CX-54")
def test_the_set_up_is_checked_in_a_directory_that_was_deleted_too(
    ctx: Ctx, server: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say("GET /auth/me", USER)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "git\tok\tgit version" in ctx("doctor", PATH=os.environ["PATH"]).out
