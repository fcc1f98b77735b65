"""The checks of ``cortex-mcp doctor``, which change nothing (CX-93)."""

import asyncio
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cortex_mcp.runner import OutputTooLong, ProgramRun, Runner
from cortex_mcp.service import CortexService, build_environment
from cortex_mcp.settings import CortexMcpSettings
from task_core.doctor import Check, Finding, note, right, wrong
from task_core.errors import TaskError

__all__ = ["checks"]

_SECONDS = 10.0


def checks(settings: CortexMcpSettings) -> list[Check]:
    """Return the checks of ``ctx``, the login, git, and the repository for calls that name none."""
    service = CortexService(settings, Runner())
    return [
        Check("ctx", partial(_check_ctx, service)),
        Check("login", partial(_check_login, service)),
        Check("git", partial(_check_git, settings)),
        Check("repository", partial(_check_repository, settings)),
    ]


def _check_ctx(service: CortexService) -> Iterator[Finding]:
    try:
        found = asyncio.run(service.find_ctx())
    except TaskError as error:
        yield wrong(error.message, "Do what the message says, then run doctor again.")
    else:
        yield right(f"{found.path} is ctx {found.version}")


def _check_login(service: CortexService) -> Iterator[Finding]:
    try:
        found = asyncio.run(service.check("auth", "status"))
    except TaskError as error:
        yield wrong(f"every tool answers {error.code}: {error.message}", "Run 'ctx auth login' in a terminal.")
        return
    user = found.get("user")
    name = user.get("name") if isinstance(user, dict) else user
    yield right(f"{name} is logged in at {found.get('url')} until {found.get('session_expires_at')}")
    yield right(f"the token is kept in: {found.get('storage')}")


def _check_git(settings: CortexMcpSettings) -> Iterator[Finding]:
    version = _run_git(settings, "version")
    if version is None:
        yield wrong("git is not installed or does not run", "Install git 2.30 or later, then run doctor again.")
    else:
        yield right(version)


def _check_repository(settings: CortexMcpSettings) -> Iterator[Finding]:
    top = _run_git(settings, "rev-parse", "--show-toplevel")
    if top is None:
        yield note(
            f"{settings.directory} is not in a git repository, so calls have to name a directory",
            "Set CORTEX_REPO to the repository.",
        )
        return
    yield right(f"the repository is {top}")
    remotes = _run_git(settings, "remote")
    if remotes:
        yield right(f"its remotes are {', '.join(remotes.split())}")
    else:
        yield note("it has no remote, so no pull request can be opened", "Add one with 'git remote add'.")


def _run_git(settings: CortexMcpSettings, *words: str) -> str | None:
    """Return what git says, or None if it fails."""
    path = shutil.which("git")
    if path is None:
        return None
    directory = settings.directory if settings.directory.is_dir() else Path.home()
    try:
        result = asyncio.run(Runner().run(ProgramRun((path, *words), directory, build_environment(_SECONDS), _SECONDS)))
    except (OSError, OutputTooLong):
        return None
    return result.output.decode("utf-8", "replace").strip() if result.exit_code == 0 else None
