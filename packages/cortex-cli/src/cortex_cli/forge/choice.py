"""Chooses the forge of a remote, and finds the login for it (CX-80, CX-81)."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from cortex_cli.errors import InvalidUsage
from cortex_cli.forge.clients import Forge, ForgeClient
from cortex_cli.forge.requests import is_here, is_same_host, send_by_program, send_with_token
from cortex_cli.git import Git
from cortex_cli.http import UnsafeUrl, check_url
from cortex_cli.models import FORGES
from cortex_cli.remotes import GitConfig, Remote

__all__ = ["compare_url", "find_forge"]

_SECONDS: Final = 10.0
"""Seconds that ``gh`` or ``glab`` may take to say whether it is logged in."""

_HOSTS: Final = {"github.com": "github", "gitlab.com": "gitlab", "codeberg.org": "gitea", "gitea.com": "gitea"}

_PREFIXES: Final = {"github.": "github", "gitlab.": "gitlab", "gitea.": "gitea", "forgejo.": "gitea"}

_PROGRAMS: Final = {"github": "gh", "gitlab": "glab"}

_VARIABLES: Final = ("GH_TOKEN", "GITHUB_TOKEN")
"""Environment variables with a token for GitHub; the first that is set counts."""

_ENTERPRISE_VARIABLES: Final = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
"""Those for GitHub on a host of its own. As with ``gh``, the token for github.com does not go there."""


def find_forge(environment: Mapping[str, str], config: GitConfig, remote: Remote, git: Git) -> Forge:
    """Return the forge that the remote is on, with a client if somebody is logged in to it.

    Its kind is ``cortex.forge``, otherwise it follows from the host of the remote; no host is asked what it is.
    ``gh`` or ``glab`` speaks to it if it is installed and logged in there; to GitHub, a token does too.
    Raise ``InvalidUsage`` if ``cortex.forge`` or ``cortex.forgeUrl`` is wrong.
    """
    host, path = remote.address.host, remote.address.path
    kind = _kind(config, host)
    program = _PROGRAMS.get(kind)
    if program is None:
        return Forge(kind, host)
    url = _github_url(config, remote) if kind == "github" else None
    quiet = git.quiet()
    output = quiet.run_program(program, "auth", "status", f"--hostname={host}", seconds=_SECONDS) if host else None
    if output and not output.code:
        request = send_by_program(quiet, program, host)
        return Forge(kind, host, ForgeClient(request, host, host, path, is_gitlab=kind == "gitlab"))
    if url is None:
        return Forge(kind, host)
    names = _VARIABLES if _is_github_cloud(host) else _ENTERPRISE_VARIABLES
    token = next((environment[name] for name in names if environment.get(name)), "") or _stored_token(git, remote)
    if not token or any(not "!" <= char <= "~" for char in token):
        return Forge(kind, host)
    name = host or str(urlsplit(url).hostname)
    request = send_with_token(url, token, name, git.deadline)
    return Forge(kind, host, ForgeClient(request, name, host, path, is_gitlab=False))


def _is_github_cloud(host: str) -> bool:
    """Return whether GitHub itself runs the host; one that only begins with ``github.`` can be anybody's."""
    return host == "github.com" or host.endswith(".ghe.com")


def _kind(config: GitConfig, host: str) -> str:
    chosen = config.get("cortex.forge", ())
    if chosen:
        if chosen[-1] not in FORGES:
            raise InvalidUsage(f"cortex.forge must be one of {', '.join(FORGES)}. Set it with 'git config'.")
        return chosen[-1]
    if host.endswith(".ghe.com"):
        return "github"
    usual = next((kind for prefix, kind in _PREFIXES.items() if host.startswith(prefix)), "none")
    return _HOSTS.get(host, usual)


def _github_url(config: GitConfig, remote: Remote) -> str | None:
    """Return where the API is: on the host of the remote, so that a token goes nowhere else; None if it is nowhere.

    ``cortex.forgeUrl`` is where it is; for GitHub Enterprise Server, with its ``/api/v3``.
    """
    host, chosen = remote.address.host, config.get("cortex.forgeurl", ())
    is_cloud = _is_github_cloud(host)
    usual = f"https://api.{host}" if is_cloud else f"https://{_web_host(remote)}/api/v3"
    url = chosen[-1].rstrip("/") if chosen else usual
    try:
        found = check_url(url).hostname or ""
    except UnsafeUrl as error:
        if not chosen:
            return None  # the remote is a path, or has a host that cannot be one
        raise InvalidUsage(f"cortex.forgeUrl {error}. Set it with 'git config'.") from None
    if not is_same_host(found, host) and not (is_cloud and found == f"api.{host}"):
        raise InvalidUsage("cortex.forgeUrl is not on the host of the remote, for which the token is. Correct it.")
    return url


def _web_host(remote: Remote) -> str:
    """Return the host, with the port of a remote that is read over https; a port for ssh is another one."""
    address = remote.address
    host = f"[{address.host}]" if ":" in address.host else address.host
    has_port = address.port is not None and remote.url.startswith("https:")
    return f"{host}:{address.port}" if has_port else host


def _stored_token(git: Git, remote: Remote) -> str:
    """Return the password that git's helpers have for the host; they are asked for it as for a push."""
    if is_here(remote.address.host) and not remote.url.startswith("http"):
        return ""  # a path
    scheme = "http" if remote.url.startswith("http:") else "https"
    host = urlsplit(remote.url).netloc.rpartition("@")[2] if remote.url.startswith("http") else _web_host(remote)
    output = git.quiet().attempt("credential", "fill", stdin=f"protocol={scheme}\nhost={host}\n\n")
    lines = output.out.splitlines()
    return next((line.removeprefix("password=") for line in lines if line.startswith("password=")), "")


def compare_url(forge: Forge, remote: Remote, base: str, branch: str) -> str | None:
    """Return the page on which a person can create the pull request, if the forge is known."""
    address = remote.address
    if forge.kind == "none" or not address.host:
        return None
    place = f"https://{_web_host(remote)}/{quote(address.path)}"
    if forge.kind == "gitlab":
        names = {"merge_request[source_branch]": branch, "merge_request[target_branch]": base}
        return f"{place}/-/merge_requests/new?{urlencode(names)}"
    suffix = "?expand=1" if forge.kind == "github" else ""
    return f"{place}/compare/{quote(base)}...{quote(branch)}{suffix}"
