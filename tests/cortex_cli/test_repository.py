"""Remotes, the base branch, and the lock of a repository (CX-66, CX-67)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from cortex_cli.errors import CortexError
from cortex_cli.remotes import RemoteAddress, choose_remote, parse_address, read_remotes
from cortex_cli.repository import RepositoryPaths, find_paths, lock_repository, read_config
from tests.core.notes import in_background
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, git, raises_code
from tests.cortex_cli.stub_server import StubReply, StubRequest


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("git@github.com:o/r.git", RemoteAddress("github.com", None, "o/r")),
        ("https://u:p@GitHub.com/o/r/", RemoteAddress("github.com", None, "o/r")),
        ("https://h:443/o/r.git/", RemoteAddress("h", None, "o/r")),
        ("ssh://git@h:2222/o/r.git", RemoteAddress("h", 2222, "o/r")),
        ("git@[::1]:o/r", RemoteAddress("::1", None, "o/r")),
        ("https://h:bad/o", RemoteAddress("", None, "https://h:bad/o")),
        ("/srv/r.git", RemoteAddress("", None, "/srv/r")),
        ("C:/r", RemoteAddress("", None, "C:/r")),
    ],
)
@pytest.mark.requirement("CX-10", "CX-42")
def test_urls_of_one_repository_are_one_address(url: str, address: RemoteAddress) -> None:
    assert parse_address(url) == address
    assert "p@" not in address.text


def test_an_address_is_shown_with_its_port() -> None:
    assert (parse_address("ssh://h:2222/o/r").text, parse_address("/srv/r").text) == ("h:2222/o/r", "/srv/r")


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"remote.origin.url": ["a"], "remote.fork.url": ["b"]}, "origin"),
        ({"remote.fork.url": ["b"]}, "fork"),
        ({"remote.a.b.url": ["b"]}, "a.b"),
        ({"remote.origin.url": ["a"], "remote.fork.url": ["b"], "cortex.remote": ["origin", "fork"]}, "fork"),
    ],
)
@pytest.mark.requirement("CX-67")
def test_the_remote_is_chosen(config: dict[str, list[str]], name: str) -> None:
    remote = choose_remote(config)
    assert remote is not None
    assert remote.name == name


@pytest.mark.parametrize(
    "config",
    [
        {"remote.a.url": ["a"], "remote.b.url": ["b"]},
        {"remote.origin.url": ["a"], "cortex.remote": ["gone"]},
        {"remote.-x.url": ["a"], "cortex.remote": ["-x"]},
    ],
)
@pytest.mark.requirement("CX-67", "CX-103")
def test_without_a_clear_remote_there_is_none(config: dict[str, list[str]]) -> None:
    with raises_code("NoRemote") as caught:
        choose_remote(config)
    assert ("Choose one with" in caught.value.message) is bool(read_remotes(config))
    assert choose_remote({"remote.--exec=x.url": ["a"]}) is None


@pytest.mark.requirement("CX-67")
def test_every_flow_refuses_to_guess_between_two_remotes(worked: GitSandbox) -> None:
    worked.git("remote", "rename", "origin", "upstream")
    worked.git("remote", "add", "fork", str(worked.there))
    before = worked.state()
    for command in (worked.start, worked.pr, worked.done, worked.status):
        with raises_code("NoRemote", match=r"git config cortex\.remote") as caught:
            command()
        assert caught.value.details["remotes"] == ["upstream", "fork"]
    assert worked.state() == before
    worked.git("config", "cortex.remote", "upstream")
    assert worked.status()["success"] is True


@pytest.mark.requirement("CX-67")
def test_short_forms_of_urls_are_written_out(sandbox: GitSandbox) -> None:
    sandbox.git("config", "url.https://git.example.org/.insteadOf", "ex:")
    sandbox.git("config", "url.https://other.example.org/team/.insteadOf", "ex:team/")
    sandbox.git("remote", "set-url", "origin", "ex:team/web")
    (remote,) = read_remotes(read_config(sandbox.make_flow().git))
    assert remote.url == sandbox.git("remote", "get-url", "origin") == "https://other.example.org/team/web"


@pytest.mark.requirement("CX-68")
def test_a_damaged_configuration_is_an_error(sandbox: GitSandbox) -> None:
    (sandbox.here / ".git" / "config").write_text("[broken")
    with pytest.raises(CortexError):
        sandbox.start()
    with raises_code("GitFailed"):
        read_config(sandbox.make_flow().git)


def base_of(sandbox: GitSandbox) -> str:
    base: str = sandbox.start()["base"]
    return base


@pytest.mark.requirement("CX-67")
def test_the_setting_names_the_base(sandbox: GitSandbox) -> None:
    sandbox.someone_pushes("next")
    sandbox.git("config", "cortex.base", "next")
    assert base_of(sandbox) == "next"


@pytest.mark.requirement("CX-67")
def test_the_project_names_the_base(sandbox: GitSandbox) -> None:
    sandbox.someone_pushes("next")
    sandbox.backend.task["project"]["default_branch"] = "next"
    assert base_of(sandbox) == "next"


@pytest.mark.parametrize("default", [None, "--exec=x", "a b"])
@pytest.mark.requirement("CX-67", "CX-103")
def test_the_remote_names_the_base(sandbox: GitSandbox, default: str | None) -> None:
    sandbox.someone_pushes("next")
    sandbox.at_remote("symbolic-ref", "HEAD", "refs/heads/next")
    sandbox.git("fetch", "--quiet")
    sandbox.git("remote", "set-head", "origin", "--auto")
    sandbox.backend.task["project"]["default_branch"] = default
    assert base_of(sandbox) == "next"


@pytest.mark.requirement("CX-67")
def test_a_default_branch_that_the_remote_does_not_have_gives_way_to_its_own(sandbox: GitSandbox) -> None:
    sandbox.git("branch", "--move", "main", "trunk")
    sandbox.git("push", "--quiet", "--set-upstream", "origin", "trunk")
    sandbox.at_remote("symbolic-ref", "HEAD", "refs/heads/trunk")
    sandbox.git("push", "--quiet", "origin", ":main")
    sandbox.git("remote", "set-head", "origin", "--auto")
    answer = sandbox.start()
    assert answer["base"] == "trunk"
    assert "'main' is not on the remote, so 'trunk' is the base" in answer["warnings"][0]


@pytest.mark.parametrize("has_remote", [True, False])
@pytest.mark.requirement("CX-67")
def test_the_usual_names_are_tried(sandbox: GitSandbox, *, has_remote: bool) -> None:
    sandbox.backend.task["project"]["default_branch"] = None
    sandbox.at_remote("config", "receive.denyDeleteCurrent", "ignore")
    sandbox.git("branch", "--move", "main", "master")
    sandbox.git("push", "--quiet", "origin", "master", ":main")
    if not has_remote:
        sandbox.git("remote", "remove", "origin")
    assert base_of(sandbox) == "master"


@pytest.mark.parametrize(
    ("default", "fault"), [(None, "is not known"), ("nope", "'nope' is neither here nor on 'origin'")]
)
@pytest.mark.requirement("CX-67")
def test_a_base_that_nobody_knows_is_refused(sandbox: GitSandbox, default: str | None, fault: str) -> None:
    sandbox.at_remote("config", "receive.denyDeleteCurrent", "ignore")
    sandbox.git("branch", "--move", "main", "trunk")
    sandbox.git("push", "--quiet", "origin", "trunk", ":main")
    sandbox.backend.task["project"]["default_branch"] = default
    before = sandbox.state()
    with raises_code("BaseBranchUnknown", match=rf"base branch {fault}.*git config cortex\.base"):
        sandbox.start()
    assert sandbox.state() == before


@pytest.mark.requirement("CX-103")
def test_a_folder_of_any_name_is_found(sandbox: GitSandbox) -> None:
    for name in ("line\nbreak", " space", "-dash", "ünï", "$(touch x)"):
        there = sandbox.here.with_name(name)
        sandbox.here.rename(there)
        sandbox.here = there
        (there / "deep").mkdir(exist_ok=True)
        for inside in ("", "deep"):
            paths = find_paths(sandbox.make_flow(there / inside).git)
            assert paths == RepositoryPaths(there, there / ".git", there / ".git")
        assert sandbox.start()["directory"] == str(there)


@pytest.mark.requirement("CX-66")
def test_work_trees_share_a_lock(sandbox: GitSandbox) -> None:
    other = sandbox.here.with_name("tree")
    sandbox.git("worktree", "add", "--quiet", str(other))
    here, there = find_paths(sandbox.make_flow().git), find_paths(sandbox.make_flow(other).git)
    assert (there.top, there.common_dir) == (other, here.common_dir)
    assert there.git_dir != here.git_dir
    with lock_repository(here), raises_code("RepositoryBusy") as caught, lock_repository(there, seconds=0.1):
        pass
    assert caught.value.details["waited"] == 0.1
    assert (here.common_dir / "cortex.lock").stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("CX-66")
def test_a_planted_link_in_place_of_the_lock_is_not_followed(sandbox: GitSandbox, tmp_path: Path) -> None:
    (sandbox.here / ".git" / "cortex.lock").symlink_to(tmp_path / "elsewhere")
    with raises_code("GitFailed"):
        sandbox.start()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.requirement("CX-66", "CX-122")
def test_two_starts_in_one_repository_wait_for_each_other(sandbox: GitSandbox) -> None:
    first_is_in, go_on = threading.Event(), threading.Event()

    def hold(_asked: StubRequest) -> StubReply | None:
        first_is_in.set()
        assert go_on.wait(20)
        return None

    sandbox.backend.intercept = hold
    answers: list[dict[str, object]] = []
    with in_background() as start:
        start(lambda: answers.append(sandbox.start()))
        assert first_is_in.wait(20)
        start(lambda: answers.append(sandbox.start()))
        go_on.set()
    assert sorted(bool(answer["created"]) for answer in answers) == [False, True]
    assert sandbox.backend.history == ["IN_PROGRESS"]
    assert git(sandbox.here, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert not os.path.exists(sandbox.here / ".git" / "index.lock")
