"""Which forge a remote is on, where its token comes from and goes to, and what happens without one (CX-80 to CX-82)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex_cli.errors import InvalidUsage
from cortex_cli.forge import Forge, compare_url, find_forge
from cortex_cli.forge import choice as choosing
from cortex_cli.git import Git
from cortex_cli.models import Deadline
from cortex_cli.remotes import Remote
from tests.cortex_cli.git_sandbox import BRANCH, GitSandbox, raises_code

KINDS = {
    "https://github.com/o/r.git": "github",
    "git@github.com:o/r.git": "github",
    "https://acme.ghe.com/o/r": "github",
    "https://github.acme.example/o/r": "github",
    "https://gitlab.com/group/sub/r": "gitlab",
    "ssh://git@gitlab.acme.example:2222/o/r": "gitlab",
    "https://codeberg.org/o/r": "gitea",
    "https://gitea.com/o/r": "gitea",
    "https://gitea.acme.example/o/r": "gitea",
    "https://forgejo.acme.example/o/r": "gitea",
    "https://git.acme.example/o/r": "none",
    "https://notgithub.com/o/r": "none",
    "https://github.com.evil.example/o/r": "github",
    "/srv/git/r.git": "none",
}


def forge_of(
    url: str, tmp_path: Path, config: dict[str, list[str]] | None = None, environment: dict[str, str] | None = None
) -> Forge:
    """Return the forge of a remote, without any of git's helpers."""
    quiet = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    git = Git(tmp_path, quiet, Deadline())
    return find_forge(environment or {}, config or {}, Remote("origin", url), git)


@pytest.mark.parametrize(("url", "kind"), KINDS.items())
@pytest.mark.requirement("CX-80")
def test_the_host_of_the_remote_names_the_forge(url: str, kind: str, tmp_path: Path) -> None:
    assert forge_of(url, tmp_path)[0] == kind


@pytest.mark.requirement("CX-80")
def test_a_setting_names_the_forge(tmp_path: Path) -> None:
    url = "https://git.acme.example/o/r"
    assert forge_of(url, tmp_path, {"cortex.forge": ["gitlab"]}).kind == "gitlab"
    with pytest.raises(InvalidUsage, match=r"cortex\.forge must be one of"):
        forge_of(url, tmp_path, {"cortex.forge": ["svn"]})


APIS = {
    ("https://github.com/o/r", ""): "https://api.github.com",
    ("git@acme.ghe.com:o/r", ""): "https://api.acme.ghe.com",
    ("ssh://git@git.example.org:2222/o/r", ""): "https://git.example.org/api/v3",
    ("https://git.example.org:8443/o/r", ""): "https://git.example.org:8443/api/v3",
    ("ssh://git@[::1]/o/r", ""): "https://[::1]/api/v3",
    ("https://git.example.org/o/r", "https://git.example.org/x/api/v3/"): "https://git.example.org/x/api/v3",
    ("https://github.com/o/r", "https://api.github.com"): "https://api.github.com",
}


@pytest.mark.parametrize(("place", "api"), APIS.items())
@pytest.mark.requirement("CX-80", "CX-81")
def test_the_api_is_on_the_host_of_the_remote(place: tuple[str, str], api: str) -> None:
    url, chosen = place
    config: dict[str, list[str]] = {"cortex.forgeurl": [chosen]} if chosen else {}
    assert choosing._github_url(config, Remote("origin", url)) == api  # noqa: SLF001 - where a token goes


ELSEWHERE = [
    "https://evil.example",
    "http://git.example.org",
    "https://u:p@git.example.org",
    "file:///",
    "https://a b/",
]


@pytest.mark.parametrize("chosen", ELSEWHERE)
@pytest.mark.requirement("CX-61", "CX-81", "CX-101")
def test_a_token_is_sent_nowhere_else(chosen: str, tmp_path: Path) -> None:
    config = {"cortex.forge": ["github"], "cortex.forgeurl": [chosen]}
    with pytest.raises(InvalidUsage, match=r"cortex\.forgeUrl"):
        forge_of("https://git.example.org/o/r", tmp_path, config, {"GH_ENTERPRISE_TOKEN": "secret"})


TOKENS = [
    ("github.com", {"GITHUB_TOKEN": "b"}, "b"),
    ("github.com", {"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, "a"),
    ("github.com", {"GH_TOKEN": "", "GITHUB_TOKEN": "b"}, "b"),
    ("github.com", {"GITLAB_TOKEN": "c"}, None),
    ("github.com", {"GH_ENTERPRISE_TOKEN": "e"}, None),
    ("acme.ghe.com", {"GH_TOKEN": "a", "GH_ENTERPRISE_TOKEN": "e"}, "a"),
    ("acme.ghe.com", {"GITHUB_TOKEN": "b"}, "b"),
    ("ghe.com.evil.example", {"GH_TOKEN": "a"}, None),
    ("github.acme.example", {"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, None),
    ("github.acme.example", {"GH_TOKEN": "a", "GH_ENTERPRISE_TOKEN": "e", "GITHUB_ENTERPRISE_TOKEN": "f"}, "e"),
    ("github.acme.example", {"GITHUB_ENTERPRISE_TOKEN": "f"}, "f"),
    ("github.com.evil.example", {"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, None),
    ("github.ghe.com.evil.example", {"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, None),
    ("evilghe.com", {"GH_TOKEN": "a"}, None),
    ("github.com", {"GH_TOKEN": "line\nbreak"}, None),
    ("gitlab.com", {"GITLAB_TOKEN": "c"}, None),
    ("codeberg.org", {"GH_TOKEN": "d"}, None),
]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the tokens with which requests would be sent."""
    tokens: list[str] = []
    usual = choosing.send_with_token

    def note(url: str, token: str, host: str, deadline: Deadline) -> object:
        tokens.append(token)
        return usual(url, token, host, deadline)

    monkeypatch.setattr(choosing, "send_with_token", note)
    return tokens


@pytest.mark.parametrize(("host", "environment", "token"), TOKENS)
@pytest.mark.requirement("CX-81")
def test_the_environment_holds_the_token(
    host: str, environment: dict[str, str], token: str | None, tmp_path: Path, sent: list[str]
) -> None:
    config = {"cortex.forge": ["github"]} if "ghe.com" in host else {}
    forge_of(f"https://{host}/o/r", tmp_path, config, environment)
    assert sent == ([] if token is None else [token])


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://github.com/o/r", "protocol=https host=github.com"),
        ("git@github.com:o/r", "protocol=https host=github.com"),
        ("https://u:p@github.com:8443/o/r", "protocol=https host=github.com:8443"),
        ("http://github.com/o/r", "protocol=http host=github.com"),
    ],
)
@pytest.mark.requirement("CX-81")
def test_git_is_asked_for_the_password_of_the_host(url: str, asked: str, tmp_path: Path, sent: list[str]) -> None:
    helper = tmp_path / "helper"
    helper.write_text(f'#!/bin/sh\ncat > "{tmp_path}/asked"\necho username=x\necho password=from=helper\n')
    helper.chmod(0o755)
    config = tmp_path / "config"
    config.write_text(f'[credential]\nhelper = "{helper}"\n')
    git = Git(tmp_path, {"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": str(config)}, Deadline())
    find_forge({}, {}, Remote("origin", url), git)
    assert sent == ["from=helper"]
    assert " ".join((tmp_path / "asked").read_text().split()) == asked


@pytest.mark.requirement("CX-103")
def test_a_host_with_a_line_break_is_not_asked_about(tmp_path: Path) -> None:
    assert forge_of("git@github.\nhost=x:o/r", tmp_path).client is None


@pytest.mark.requirement("CX-81")
def test_nobody_is_asked_for_the_password_of_a_path(tmp_path: Path) -> None:
    config = {"cortex.forge": ["github"], "cortex.forgeurl": ["http://127.0.0.1:1"]}
    assert forge_of("/srv/git/r.git", tmp_path, config).client is None


PAGES = {
    ("github", "git@github.com:o/r"): "https://github.com/o/r/compare/main...bug/task-42-x?expand=1",
    ("gitea", "https://codeberg.org/o/r.git"): "https://codeberg.org/o/r/compare/main...bug/task-42-x",
    ("gitlab", "https://gitlab.com/o/r"): "https://gitlab.com/o/r/-/merge_requests/new?"
    "merge_request%5Bsource_branch%5D=bug%2Ftask-42-x&merge_request%5Btarget_branch%5D=main",
    ("none", "https://git.example.org/o/r"): None,
    ("github", "/srv/git/r.git"): None,
}


@pytest.mark.parametrize(("place", "page"), PAGES.items())
@pytest.mark.requirement("CX-82")
def test_a_person_can_create_the_pull_request_on_a_page(place: tuple[str, str], page: str | None) -> None:
    remote = Remote("origin", place[1])
    assert compare_url(Forge(place[0], remote.address.host), remote, "main", "bug/task-42-x") == page


@pytest.fixture
def tokenless(worked: GitSandbox) -> GitSandbox:
    """Return a repository with work whose remote is on GitLab, for which there is no token."""
    worked.git("config", "remote.origin.url", "git@gitlab.com:team/web.git")
    worked.git("config", "remote.origin.pushurl", str(worked.there))
    return worked


def offer_merge_requests(sandbox: GitSandbox, url: str) -> None:
    """Let the remote take push options as GitLab does, note them, and print where the merge request is."""
    sandbox.at_remote("config", "receive.advertisePushOptions", "true")
    hook = sandbox.there / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\n"
        f'env | grep ^GIT_PUSH_OPTION_ | grep -v COUNT | sort | cut -d= -f2- > "{sandbox.there}/options"\n'
        f"echo; echo 'View merge request for x:'; echo '  {url}'; echo\n"
    )
    hook.chmod(0o755)


@pytest.mark.requirement("CX-82", "CX-72")
def test_gitlab_creates_a_merge_request_of_the_push(tokenless: GitSandbox) -> None:
    offer_merge_requests(tokenless, "https://gitlab.com/team/web/-/merge_requests/7")
    answer = tokenless.pr(is_draft=True)
    request = answer["pull_request"]
    assert (request["url"], request["number"]) == ("https://gitlab.com/team/web/-/merge_requests/7", 7)
    assert (request["created"], answer["compare_url"], answer["status"]) == (True, None, "REVIEW")
    assert "warnings" not in answer
    options = (tokenless.there / "options").read_text().splitlines()
    assert options == [
        "merge_request.create",
        "merge_request.target=main",
        "merge_request.title=Draft: Fix the login",
    ]
    again = tokenless.pr()["pull_request"]
    assert (again["url"], again["created"]) == (request["url"], False)


def end_early(sandbox: GitSandbox, how_often: int) -> None:
    """Let the remote stop reading before the options of a push arrive, and do as it should afterwards."""
    script = sandbox.there / "receive"
    script.write_text(
        "#!/bin/sh\n"
        f'echo call >> "{script}.calls"\n'
        f'[ "$(wc -l < "{script}.calls")" -gt {how_often} ] && exec git receive-pack "$@"\n'
        'exec git receive-pack "$@" < /dev/null 2> /dev/null\n'
    )
    script.chmod(0o755)
    sandbox.git("config", "remote.origin.receivepack", f"exec '{script}'")


@pytest.mark.requirement("CX-82", "CX-72")
def test_a_push_of_nothing_succeeds_though_the_remote_goes_before_its_options_arrive(tokenless: GitSandbox) -> None:
    offer_merge_requests(tokenless, "https://gitlab.com/team/web/-/merge_requests/7")
    tokenless.pr()
    end_early(tokenless, 1)
    answer = tokenless.pr()
    assert (answer["pushed"], answer["pull_request"]["number"]) == (False, 7)


@pytest.mark.requirement("CX-68")
def test_a_push_that_a_signal_ends_is_not_blamed_on_a_hook(tokenless: GitSandbox) -> None:
    tokenless.pr()
    end_early(tokenless, 2)
    with raises_code("GitFailed", match="failed with exit code -"):
        tokenless.pr()


@pytest.mark.parametrize("url", ["https://evil.example/team/web/-/merge_requests/7", "javascript:alert(1)", ""])
@pytest.mark.requirement("CX-84")
def test_an_address_that_is_not_on_the_host_is_not_taken(tokenless: GitSandbox, url: str) -> None:
    offer_merge_requests(tokenless, url)
    answer = tokenless.pr()
    assert (answer["pull_request"]["url"], answer["status"]) == (None, "REVIEW")


@pytest.mark.requirement("CX-82")
def test_without_push_options_the_page_is_offered(tokenless: GitSandbox) -> None:
    answer = tokenless.pr()
    assert (answer["pushed"], answer["pull_request"]["url"], answer["status"]) == (True, None, "REVIEW")
    assert answer["compare_url"].startswith("https://gitlab.com/team/web/-/merge_requests/new?")
    assert "nobody is logged in to gitlab.com with gh or glab" in answer["warnings"][0]
    assert tokenless.at_remote("rev-parse", BRANCH) == tokenless.git("rev-parse", "HEAD")


@pytest.mark.requirement("CX-82", "CX-76")
def test_without_a_token_git_shows_the_merge(tokenless: GitSandbox) -> None:
    offer_merge_requests(tokenless, "https://gitlab.com/team/web/-/merge_requests/7")
    tokenless.pr()
    tokenless.merge_at_remote()
    tokenless.git("config", "remote.origin.url", str(tokenless.there))
    tokenless.git("config", "cortex.forge", "gitlab")
    assert tokenless.status()["pull_request"]["state"] == "open"
    assert tokenless.done()["merged_by"] == "ancestor"
