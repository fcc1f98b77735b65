"""A team is set up with ``ctx`` alone, on the real backend: a project, its people, and its first task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile
from socket import create_server

import pytest
import uvicorn

from cortex_backend.api.app import build_app
from cortex_backend.database import CortexDatabase
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from tests.cortex_backend.application import CHEAP
from tests.cortex_backend.backend_fixture import PASSWORD, MovableClock, settings_for
from tests.cortex_cli.conftest import Ctx, Ran
from tests.cortex_cli.git_sandbox import GitSandbox

pytestmark = pytest.mark.requirement("CX-50")

Team = Callable[..., Ran]


@contextmanager
def serving(url: str) -> Iterator[str]:
    """Serve the backend over a database from a thread of this process; yield its address."""
    app = build_app(settings_for(url), MovableClock(), CHEAP)
    with closing(app), create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with the accounts of Ada, Bob and Cy, to be copied."""
    file = tmp_path_factory.mktemp("accounts") / "cortex.db"
    with closing(CortexDatabase(f"sqlite:///{file}")) as database:
        database.migrate()
        accounts = Accounts(database, Passwords(CHEAP), MovableClock())
        for name in ("ada", "bob", "cy"):
            accounts.add(f"{name}@example.com", name.title(), PASSWORD)
    return file


@pytest.fixture
def team(tmp_path: Path, accounts: Path, ctx: Ctx, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """Return a function that runs ``ctx`` as Ada, as Bob or as Cy, who have logged in, outside any clone."""
    monkeypatch.chdir(tmp_path)
    copyfile(accounts, tmp_path / "cortex.db")
    with serving(f"sqlite:///{tmp_path / 'cortex.db'}") as origin:

        def call(name: str, *arguments: str, **options: str) -> Ran:
            return ctx(*arguments, CTX_URL=origin, CTX_CONFIG_DIR=str(tmp_path / name), **options)

        for name in ("ada", "bob", "cy"):
            login = ["auth", "login", f"--email={name}@example.com", "--password-stdin", "--insecure-storage"]
            assert call(name, *login, stdin=PASSWORD).code == 0
        yield call


def test_a_person_who_is_invited_becomes_a_member_by_accepting(team: Team) -> None:
    assert team("ada", "projects", "new", "Web").out == "Created project 1, which has no repository.\n"
    invited = team("ada", "members", "add", "bob@example.com")
    assert invited.out == "Invited bob@example.com to Web as member. They join with 'ctx members accept 1'.\n"
    assert team("bob", "tasks", "list", "--unassigned", "--json").answer["total"] == 0
    assert team("bob", "members", "invitations").out == "1\tWeb\tmember\n"
    assert team("cy", "members", "invitations").out == "No invitations.\n"
    assert team("ada", "members", "list").out == "1\tAda\towner\n\tbob@example.com\tinvited as member\n"
    assert team("bob", "members", "accept", "1").out == "You are a member of Web now.\n"
    assert team("bob", "members", "list").out == "1\tAda\towner\n2\tBob\tmember\n"
    assert team("bob", "projects", "members", "Web").out == "1\tAda\towner\n2\tBob\tmember\n"
    assert team("cy", "members", "accept", "1", "--json").answer["code"] == "NotFound"


def test_members_are_removed_and_invitations_withdrawn_or_declined(team: Team) -> None:
    team("ada", "projects", "new", "Web")
    team("ada", "members", "add", "bob@example.com", "--role=viewer")
    team("bob", "members", "accept", "1")
    team("ada", "members", "add", "dee@example.com")
    team("ada", "members", "add", "cy@example.com")
    assert team("ada", "members", "remove", "CY@example.com").out == "Withdrew the invitation of cy@example.com.\n"
    assert team("ada", "members", "remove", "cy@example.com").err.startswith("ctx: Nobody here has")
    assert team("ada", "members", "remove", "Bob").out == "Removed Bob.\n"
    assert team("bob", "projects", "list").out == ""
    team("ada", "members", "add", "bob@example.com")
    (invitation,) = team("bob", "members", "invitations", "--json").answer["invitations"]
    assert team("bob", "members", "decline", str(invitation["id"])).out == "Declined.\n"
    assert team("ada", "members", "list").out == "1\tAda\towner\n\tdee@example.com\tinvited as member\n"
    assert team("ada", "members", "list", "--project=9", "--json").answer["code"] == "NotFound"


def test_a_first_task_needs_no_project_to_be_named_and_is_seen_by_whoever_has_none(team: Team) -> None:
    team("ada", "projects", "new", "Web")
    assert team("ada", "tasks", "new", "Write it down").code == 0
    assert team("ada", "tasks", "list").out == (
        "No assigned tasks. 'ctx tasks list --unassigned' lists those that nobody has.\n"
    )
    assert team("ada", "tasks", "list", "--unassigned").out.startswith("1\tWrite it down\t")


PUBLIC_URLS: dict[str, str | None] = {
    "https://ada:secret@git.example.org/team/web.git": "https://git.example.org/team/web.git",
    "ssh://git:secret@git.example.org/team/web": "ssh://git@git.example.org/team/web",
    "git@git.example.org:team/web.git": "git@git.example.org:team/web.git",
    "/srv/git/web.git": None,
}


def test_a_new_project_is_that_of_the_clone_without_its_secrets(
    team: Team, sandbox: GitSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.someone_pushes("trunk")
    sandbox.git("fetch", "--quiet")
    sandbox.git("remote", "set-head", "origin", "trunk")
    monkeypatch.chdir(sandbox.here)
    for remote, url in PUBLIC_URLS.items():
        sandbox.git("remote", "set-url", "origin", remote)
        project = team("ada", "projects", "new", "Web", "--json", **sandbox.environment).answer["project"]
        assert project["repository_url"] == url
        assert project["default_branch"] == ("trunk" if url else "main")
    named = ["--repository-url=https://x.example.org/a", "--default-branch=next", "--json"]
    project = team("ada", "projects", "new", "App", *named, **sandbox.environment).answer["project"]
    assert (project["repository_url"], project["default_branch"]) == ("https://x.example.org/a", "next")


def test_a_clone_that_names_no_default_branch_gives_the_usual_one_or_none(
    team: Team, sandbox: GitSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.git("remote", "set-url", "origin", "https://git.example.org/team/web.git")
    monkeypatch.chdir(sandbox.here)
    new = ["projects", "new", "Web", "--json"]
    assert team("ada", *new, **sandbox.environment).answer["project"]["default_branch"] == "main"
    sandbox.git("update-ref", "-d", "refs/remotes/origin/main")
    assert team("ada", *new, **sandbox.environment).answer["project"]["repository_url"] is not None


def test_a_project_is_changed(team: Team) -> None:
    team("ada", "projects", "new", "Web")
    change = ["--name=App", "--repository-url=https://git.example.org/a", "--default-branch=trunk"]
    assert team("ada", "projects", "edit", "Web", *change).out == "Changed project 1.\n"
    assert team("ada", "projects", "list").out == "1\tApp\thttps://git.example.org/a\ttrunk\n"
    team("ada", "projects", "edit", "App", "--repository-url=none")
    assert team("ada", "projects", "show", "1", "--json").answer["project"]["repository_url"] is None
    assert team("ada", "projects", "edit", "1", "--json").answer["code"] == "InvalidArguments"
