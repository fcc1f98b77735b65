"""Chooses the remote, and compares the addresses of repositories (CX-10, CX-67)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from cortex_cli.branches import is_branch_name
from cortex_cli.errors import CortexError, echo, make_error

__all__ = ["GitConfig", "Remote", "RemoteAddress", "choose_remote", "no_remote", "parse_address", "read_remotes"]

GitConfig = Mapping[str, Sequence[str]]

_SCP: Final = re.compile(r"(?:[^@/\\:]+@)?(\[[^\]/]+\]|[^@/\\:\[]{2,}):(?!//)(.+)", re.DOTALL)
"""``user@host:path``; one letter before the colon is a drive."""

_HTTP_LOGIN: Final = re.compile("^(https?://)[^/]*@")
_SSH_PASSWORD: Final = re.compile("^(ssh://[^/:@]*):[^/@]*@")

_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


class RemoteAddress(NamedTuple):
    """Address of a repository without scheme, user, ``.git`` and trailing slash: equal for one repository."""

    host: str
    """The host in lower case; empty for a path on this machine."""
    port: int | None
    """The port; None means the default of the scheme."""
    path: str

    @property
    def text(self) -> str:
        """The address as one word, without anything secret."""
        where = self.host if self.port is None else f"{self.host}:{self.port}"
        return f"{where}/{self.path}" if where else self.path


class Remote(NamedTuple):
    """A remote of the repository."""

    name: str
    url: str
    """The URL that git uses; it may contain a password, so it is never shown."""

    @property
    def address(self) -> RemoteAddress:
        """Address of the remote."""
        return parse_address(self.url)

    @property
    def public_url(self) -> str | None:
        """The URL without anything secret, for others to clone from; None for a path on this machine."""
        if not self.url.startswith(("http://", "https://", "ssh://")):
            return self.url if _SCP.fullmatch(self.url) else None
        return _SSH_PASSWORD.sub(r"\1@", _HTTP_LOGIN.sub(r"\1", self.url))

    def ref(self, branch: str) -> str:
        """Return the full name under which the repository remembers a branch of the remote."""
        return f"refs/remotes/{self.name}/{branch}"


def parse_address(url: str) -> RemoteAddress:
    """Return where the repository at ``url`` is; whatever is not a URL is a path on this machine."""
    host, port, path = "", None, url
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, port, path = (parts.hostname or ""), parts.port, parts.path
            port = None if port == _DEFAULT_PORTS.get(parts.scheme) else port
        except ValueError:
            host, port, path = "", None, url
    elif match := _SCP.fullmatch(url):
        host, path = match[1].strip("[]").lower(), match[2]
    path = path.rstrip("/").removesuffix(".git").rstrip("/")
    return RemoteAddress(host, port, path.lstrip("/") if host else path)


def read_remotes(config: GitConfig) -> list[Remote]:
    """Return the remotes of a repository in the order of its configuration, with ``url.….insteadOf`` applied.

    A name that git would not allow in a reference is left out.
    """
    short = {
        value: key[len("url.") : -len(".insteadof")]
        for key, values in config.items()
        if key.startswith("url.") and key.endswith(".insteadof")
        for value in values
    }
    found = []
    for key, values in config.items():
        name = key.removeprefix("remote.").removesuffix(".url")
        if key == f"remote.{name}.url" and is_branch_name(name):
            prefix = max((value for value in short if value and values[0].startswith(value)), key=len, default="")
            found.append(Remote(name, short[prefix] + values[0][len(prefix) :] if prefix else values[0]))
    return found


def choose_remote(config: GitConfig) -> Remote | None:
    """Return the remote to push to: ``cortex.remote``, otherwise ``origin``, otherwise the only one; None without any.

    Raise ``NoRemote`` if it is not clear which one.
    """
    remotes = {remote.name: remote for remote in read_remotes(config)}
    wanted = config.get("cortex.remote", ())
    name = wanted[-1] if wanted else "origin" if "origin" in remotes else next(iter(remotes), "")
    if (wanted and name not in remotes) or (not wanted and name != "origin" and len(remotes) > 1):
        raise no_remote(remotes)
    return remotes.get(name)


def no_remote(names: Iterable[str] = ()) -> CortexError:
    """Return the error of a repository without a remote, or in which it is not clear which of the ``names`` it is."""
    known = [echo(name) for name in names]
    advice = "Choose one with 'git config cortex.remote NAME'" if known else "Add one with 'git remote add'"
    return make_error("NoRemote", words={"advice": advice}, remotes=known)
