"""Hostile text in every place where it can come in: nothing but git starts, and nothing outside is changed (CX-103)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import pytest

from cortex_cli.errors import CortexError
from tests.cortex_cli.git_sandbox import GitSandbox

pytestmark = pytest.mark.requirement("CX-103", "CX-102", "CX-104")

HOSTILE = {
    "dash": "--upload-pack=touch canary",
    "short": "-ccore.sshCommand=touch canary",
    "substitution": "$(touch canary)",
    "backticks": "`touch canary`",
    "separator": "x; touch canary; | touch canary & touch canary",
    "line": "x\ntouch canary\n--exec=touch canary",
    "nul": "x\0touch canary",
    "bidi": "x\u202e\u2066yranac hcuot",
    "ansi": "\x1b]0;touch canary\x07\x1b[31m",
    "long": "x" * 1_000_000,
    "reference": "refs/heads/-x",
    "path": "../../canary",
    "half": "x\ud800",
    "markup": "[/] [red] %s {0} #42 @everyone closes #1",
}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Return the command of each process that is started from now on."""
    started: list[Sequence[str]] = []
    popen = subprocess.Popen

    def noted(command: Sequence[str], **options: object) -> object:
        started.append(command)
        return popen(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("cortex_cli.git.process.subprocess.Popen", noted)
    return started


def outside(folder: Path) -> set[str]:
    """Return what is beside the repositories."""
    return {path.name for path in folder.iterdir()}


def live(sandbox: GitSandbox) -> None:
    """Let the task go through its life, as far as it goes."""
    with suppress(CortexError):
        sandbox.start()
    with suppress(CortexError):
        if not (sandbox.here / "work").exists():
            sandbox.commit("work")
        sandbox.pr()
    with suppress(CortexError):
        sandbox.status()
    with suppress(CortexError):
        sandbox.done()


def assert_harmless(sandbox: GitSandbox, commands: list[Sequence[str]], before: set[str]) -> None:
    assert commands
    assert {command[0] for command in commands} == {"git"}
    assert outside(sandbox.here.parent) == before
    assert not list(sandbox.here.rglob("canary"))
    assert not list(sandbox.there.rglob("canary"))


def test_the_texts_of_a_task_are_text(sandbox: GitSandbox, commands: list[Sequence[str]]) -> None:
    before, task = outside(sandbox.here.parent), deepcopy(sandbox.backend.task)
    for hostile in HOSTILE.values():
        sandbox.backend.task = {**deepcopy(task), **dict.fromkeys(("title", "description"), hostile)}
        sandbox.start()
    sandbox.commit("work")
    for name in ("dash", "line", "nul", "half", "markup"):
        sandbox.backend.task |= dict.fromkeys(("title", "description"), HOSTILE[name])
        with suppress(CortexError):
            sandbox.pr()
    assert_harmless(sandbox, commands, before)
    assert not any("touch canary" in part and part.startswith("-") for command in commands for part in command)


@pytest.mark.parametrize("place", ["type", "branch_name", "default_branch", "repository_url"])
def test_the_names_that_the_backend_sends_are_text(
    sandbox: GitSandbox, commands: list[Sequence[str]], place: str
) -> None:
    before, task = outside(sandbox.here.parent), deepcopy(sandbox.backend.task)
    for hostile in HOSTILE.values():
        sandbox.backend.task = deepcopy(task)
        (sandbox.backend.task if place in task else sandbox.backend.task["project"])[place] = hostile
        with suppress(CortexError):
            sandbox.start()
    live(sandbox)
    assert_harmless(sandbox, commands, before)
    assert not any("touch canary" in part and part.startswith("-") for command in commands for part in command)


def test_what_the_user_writes_is_text(started: GitSandbox, commands: list[Sequence[str]]) -> None:
    before = outside(started.here.parent)
    for number, hostile in enumerate(HOSTILE.values()):
        (started.here / "new").write_text(f"{number}\n")
        with suppress(CortexError):
            started.pr(hostile, title=hostile, body=hostile, allowed_files=[hostile[:100]])
    assert_harmless(started, commands, before)
    assert not any(hostile in command for hostile in HOSTILE.values() for command in commands), "it is no argument"


def test_a_starting_point_is_text(sandbox: GitSandbox, commands: list[Sequence[str]]) -> None:
    before = outside(sandbox.here.parent)
    for hostile in HOSTILE.values():
        with pytest.raises(CortexError):
            sandbox.start(source=hostile)
    assert sandbox.backend.history == []
    assert_harmless(sandbox, commands, before)


@pytest.mark.parametrize("key", ["remote", "base", "forge", "forgeUrl"])
def test_what_the_configuration_has_is_text(started: GitSandbox, commands: list[Sequence[str]], key: str) -> None:
    before = outside(started.here.parent)
    started.commit("work")
    for hostile in (HOSTILE[name] for name in ("dash", "substitution", "separator", "line", "ansi", "path")):
        started.git("config", f"cortex.{key}", hostile)
        with suppress(CortexError):
            started.pr()
    for command in (started.start, started.done):
        with suppress(CortexError):
            command()
    assert_harmless(started, commands, before)


def test_a_remote_of_any_name_is_text(started: GitSandbox, commands: list[Sequence[str]]) -> None:
    before = outside(started.here.parent)
    config = started.here / ".git" / "config"
    usual = config.read_text()
    for remote in ("--exec=touch canary", "-x", "$(touch canary)", "a;touch canary", "a b"):
        config.write_text(usual.replace('"origin"', f'"{remote}"'))
        started.git("config", "cortex.remote", remote)
        live(started)
    assert_harmless(started, commands, before)


def test_a_branch_that_looks_like_an_option_is_left_alone(sandbox: GitSandbox, commands: list[Sequence[str]]) -> None:
    sandbox.git("update-ref", "refs/heads/-x", "HEAD")
    sandbox.git("update-ref", "refs/heads/--exec=touch", "HEAD")
    sandbox.git("symbolic-ref", "HEAD", "refs/heads/-x")
    before = outside(sandbox.here.parent)
    assert sandbox.status()["current_branch"] == "-x"
    live(sandbox)
    assert_harmless(sandbox, commands, before)
    assert "refs/heads/-x" in sandbox.git("for-each-ref")
