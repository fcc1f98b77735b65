"""A real repository with a real remote, a stub of the backend, and the flows as ``ctx`` runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from cortex_cli import flows
from cortex_cli.api import Api
from cortex_cli.backend import Backend
from cortex_cli.credentials import EnvironmentToken
from cortex_cli.errors import CortexError
from cortex_cli.git import Git
from cortex_cli.models import Deadline, Settings
from tests.cortex_cli.stub_backend import StubBackend

__all__ = [
    "BRANCH",
    "IDENTITY",
    "GitSandbox",
    "Template",
    "commit_file",
    "git",
    "git_environment_for_tests",
    "raises_code",
]

BRANCH: Final = "bug/task-42-fix-the-login"
"""The branch that task 42 gets."""

IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git_environment_for_tests(home: Path) -> dict[str, str]:
    """Return an environment in which git knows nothing of this machine's settings."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    return {**kept, **IDENTITY, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def git(
    directory: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    check: bool = True,
) -> str:
    """Run git as a person would, and return what it wrote."""
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607 - the git that ctx finds too
        cwd=directory,
        env=environment or git_environment_for_tests(directory),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


def commit_file(directory: Path, name: str, text: str, message: str = "Work") -> str:
    """Commit a file and return the commit."""
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)
    git(directory, "add", "--", name)
    git(directory, "commit", "--quiet", "-m", message)
    return git(directory, "rev-parse", "HEAD")


class Template(NamedTuple):
    """A state of the repositories that was prepared once, and the task that belongs to it."""

    folder: Path
    task: Mapping[str, Any]
    history: Sequence[str]


class GitSandbox:
    """A clone at ``here`` of a bare remote at ``there``, both with one commit on ``main``."""

    def __init__(self, folder: Path, backend: StubBackend, template: Template | None = None) -> None:
        self.backend = backend
        self.here = folder / "clone"
        self.there = folder / "remote.git"
        self.environment = git_environment_for_tests(folder)
        self.settings = Settings()
        self.deadline = Deadline()
        self.flow: flows.Flow
        if template:
            self._copy(template)
            return
        git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.there))
        git(folder, "init", "--quiet", "--initial-branch=main", str(self.here))
        for sample in folder.rglob("*.sample"):
            sample.unlink()
        git(self.here, "remote", "add", "origin", str(self.there))
        commit_file(self.here, "README", "Hello\n", "Begin")
        git(self.here, "push", "--quiet", "--set-upstream", "origin", "main")

    def _copy(self, template: Template) -> None:
        for path in (self.here, self.there):
            shutil.copytree(template.folder / path.name, path)
        config = self.here / ".git" / "config"
        config.write_text(config.read_text().replace(str(template.folder), str(self.there.parent)))
        git(self.here, "update-index", "-q", "--refresh")
        self.backend.task = deepcopy({**template.task})
        self.backend.history = [*template.history]

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run git in the clone."""
        return git(self.here, *arguments, check=check)

    def at_remote(self, *arguments: str) -> str:
        """Run git in the remote."""
        return git(self.there, *arguments)

    def commit(self, name: str = "work", text: str = "work\n", message: str = "Work") -> str:
        """Commit a file in the clone."""
        return commit_file(self.here, name, text, message)

    def someone_pushes(self, branch: str = "main", name: str = "theirs", text: str = "theirs\n") -> str:
        """Add a commit of somebody else to a branch of the remote, which may be new; return the commit."""
        reference = f"refs/heads/{branch}"
        parent = reference if self.at_remote("for-each-ref", reference) else "refs/heads/main"
        stream = f"""commit {reference}
committer Theo <theo@example.org> now
data {len("Theirs")}
Theirs
from {parent}^0
M 100644 inline {name}
data {len(text)}
{text}
"""
        git(self.there, "fast-import", "--quiet", "--date-format=now", stdin=stream)
        return self.at_remote("rev-parse", reference)

    def merge_at_remote(self, branch: str = BRANCH, *, how: str = "merge") -> None:
        """Merge a branch into ``main`` on the remote as a forge would: ``merge``, ``squash`` or ``rebase``."""
        if how == "rebase":
            other = self.here.with_name("forge")
            git(self.there, "clone", "--quiet", "--branch=main", str(self.there), str(other))
            git(other, "cherry-pick", f"main..origin/{branch}")
            git(other, "push", "--quiet", "origin", "main")
            return
        tree = self.at_remote("merge-tree", "--write-tree", "main", branch)
        parents = ["-p", "main", *(["-p", branch] if how == "merge" else [])]
        self.at_remote("update-ref", "refs/heads/main", self.at_remote("commit-tree", *parents, "-m", "Merged", tree))

    def make_flow(self, directory: Path | None = None) -> flows.Flow:
        """Return what a new process of ``ctx`` would work with."""
        backend = Backend(Api(self.backend.server.origin, self.deadline, lambda _seconds: None), EnvironmentToken("t"))
        git = Git(directory or self.here, self.environment, self.deadline)
        self.flow = flows.Flow(backend, git, self.settings, self.environment, [])
        return self.flow

    def _answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a flow with its warnings, as the command line adds them."""
        return {**answer, **({"warnings": self.flow.warnings} if self.flow.warnings else {})}

    def start(self, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - the arguments of the flow
        return self._answer(flows.start(self.make_flow(), 42, **options))

    def pr(self, message: str | None = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        return self._answer(flows.submit(self.make_flow(), message=message, **options))

    def done(self, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        return self._answer(flows.complete(self.make_flow(), **options))

    def status(self, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        return self._answer(flows.status(self.make_flow(), **options))

    def state(self) -> tuple[object, ...]:
        """Return everything that a refusal must leave as it is: references, index, files, the remote, the backend."""
        index = self.git("ls-files", "--stage", "--debug", check=False)
        ours = _files(self.here, "**/*"), _files(self.here / ".git", "HEAD", "packed-refs", "refs/**/*")
        remote = _files(self.there, "HEAD", "packed-refs", "refs/**/*")
        return *ours, _without_times(index), remote, dict(self.backend.task), list(self.backend.history)


def _files(folder: Path, *patterns: str) -> dict[Path, bytes]:
    """Return the content of files, but for what a repository keeps in its own folder."""
    found = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return {path: path.read_bytes() for path in found if ".git" not in path.relative_to(folder).parts}


def _without_times(index: str) -> list[str]:
    return [line for line in index.splitlines() if not line.startswith("  ")]


def raises_code(code: str, match: str | None = None) -> pytest.RaisesExc[CortexError]:
    """Expect the error with this code, as ``pytest.raises`` does."""
    return pytest.raises(CortexError, match=match, check=lambda error: error.code == code)
