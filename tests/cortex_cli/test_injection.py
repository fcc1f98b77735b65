"""Hostile text in every place where it can come in: nothing but git starts, and nothing outside is changed (CX-103)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from cortex_cli.errors import CortexError
from tests.cortex_cli.workshop import Workshop

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


def live(workshop: Workshop) -> None:
    """Let the task go through its life, as far as it goes."""
    with suppress(CortexError):
        workshop.start()
    with suppress(CortexError):
        workshop.commit("work")
        workshop.pr()
    with suppress(CortexError):
        workshop.status()
    with suppress(CortexError):
        workshop.done()


def assert_harmless(workshop: Workshop, commands: list[Sequence[str]], before: set[str]) -> None:
    assert commands
    assert {command[0] for command in commands} == {"git"}
    assert outside(workshop.here.parent) == before
    assert not list(workshop.here.rglob("canary"))
    assert not list(workshop.there.rglob("canary"))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", ["title", "description", "type", "branch_name", "default_branch", "repository_url"])
def test_what_the_backend_sends_is_text(
    workshop: Workshop, commands: list[Sequence[str]], place: str, name: str
) -> None:
    before = outside(workshop.here.parent)
    task = workshop.board.task
    (task["project"] if place in task["project"] else task)[place] = HOSTILE[name]
    live(workshop)
    assert_harmless(workshop, commands, before)
    assert not any("touch canary" in part and part.startswith("-") for command in commands for part in command)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_the_user_writes_is_text(workshop: Workshop, commands: list[Sequence[str]], name: str) -> None:
    before = outside(workshop.here.parent)
    workshop.start()
    (workshop.here / "new").write_text("new\n")
    with suppress(CortexError):
        workshop.pr(HOSTILE[name], title=HOSTILE[name], body=HOSTILE[name], allowed_files=[HOSTILE[name][:100]])
    with suppress(CortexError):
        workshop.start(source=HOSTILE[name])
    assert_harmless(workshop, commands, before)
    assert not any(HOSTILE[name] in command for command in commands), "a message is not an argument"


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in {"nul", "long", "half"}])
@pytest.mark.parametrize("key", ["remote", "base", "forge", "forgeUrl"])
def test_what_the_configuration_has_is_text(
    workshop: Workshop, commands: list[Sequence[str]], key: str, name: str
) -> None:
    before = outside(workshop.here.parent)
    workshop.git("config", f"cortex.{key}", HOSTILE[name])
    live(workshop)
    assert_harmless(workshop, commands, before)


@pytest.mark.parametrize("remote", ["--exec=touch canary", "-x", "$(touch canary)", "a;touch canary", "a b"])
def test_a_remote_of_any_name_is_text(workshop: Workshop, commands: list[Sequence[str]], remote: str) -> None:
    before = outside(workshop.here.parent)
    config = workshop.here / ".git" / "config"
    config.write_text(config.read_text().replace('"origin"', f'"{remote}"'))
    workshop.git("config", "cortex.remote", remote)
    live(workshop)
    assert_harmless(workshop, commands, before)


def test_a_branch_that_looks_like_an_option_is_left_alone(workshop: Workshop, commands: list[Sequence[str]]) -> None:
    workshop.git("update-ref", "refs/heads/-x", "HEAD")
    workshop.git("update-ref", "refs/heads/--exec=touch", "HEAD")
    workshop.git("symbolic-ref", "HEAD", "refs/heads/-x")
    before = outside(workshop.here.parent)
    assert workshop.status()["current_branch"] == "-x"
    live(workshop)
    assert_harmless(workshop, commands, before)
    assert "refs/heads/-x" in workshop.git("for-each-ref")
