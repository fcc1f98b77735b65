"""``cortex-mcp doctor`` says what is right and wrong with ctx, the login, git and the repository (CX-93)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cortex_mcp.doctor import checks
from task_core.doctor import Level
from tests.cortex_mcp.ctx_fixture import CtxFixture

pytestmark = pytest.mark.requirement("CX-93")


def findings(ctx: CtxFixture, **settings: object) -> dict[str, list[tuple[str, str]]]:
    return {
        check.subject: [(finding.level.name, finding.text) for finding in check.look()]
        for check in checks(ctx.settings(**settings))
    }


def git(folder: Path, *words: str) -> None:
    subprocess.run([shutil.which("git") or "git", *words], cwd=folder, check=True, capture_output=True)


def test_what_is_right_is_named(ctx: CtxFixture) -> None:
    git(ctx.repository, "init", "-q")
    git(ctx.repository, "remote", "add", "origin", "https://ada:secret@example.org/x.git")
    found = findings(ctx)
    assert found["ctx"] == [("RIGHT", f"{ctx.path} is ctx 0.1.0")]
    assert found["login"] == [
        ("RIGHT", "Ada is logged in at http://127.0.0.1:8000 until 2026-03-01T00:00:00Z"),
        ("RIGHT", "the token is kept in: file"),
    ]
    assert found["git"][0][1].startswith("git version ")
    assert found["repository"] == [
        ("RIGHT", f"the repository is {ctx.repository.resolve()}"),
        ("RIGHT", "its remotes are origin"),
    ]
    assert "secret" not in str(found)


def test_what_is_wrong_is_named_with_its_cure(ctx: CtxFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx.refuses("auth_status", "NotLoggedIn", "Not logged in.")
    found = findings(ctx)
    assert found["login"] == [("WRONG", "every tool answers NotLoggedIn: Not logged in.")]
    assert found["repository"][0][0] == "NOTE"
    monkeypatch.setenv("PATH", str(ctx.repository))
    found = findings(ctx, cortex_ctx=ctx.folder / "nothing")
    assert [found[subject][0][0] for subject in ("ctx", "login", "git")] == ["WRONG"] * 3


def test_a_repository_without_a_remote_is_noted(ctx: CtxFixture) -> None:
    git(ctx.repository, "init", "-q")
    assert findings(ctx)["repository"][1][0] == Level.NOTE.name
    ctx.replies("auth_status", {"success": True, "user": "Ada"})
    assert findings(ctx)["login"][0][1].startswith("Ada is logged in at None")


def test_a_folder_that_is_gone_and_a_git_that_does_not_run_are_no_crash(
    ctx: CtxFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = ctx.repository / "git"
    fake.write_bytes(b"\0")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", str(ctx.repository))
    assert findings(ctx)["git"][0][0] == "WRONG"
    assert findings(ctx, cortex_repo=ctx.folder / "nowhere")["repository"][0][0] == "NOTE"
