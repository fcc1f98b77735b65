"""What is answered if ``ctx`` is missing, is another program, or gives no answer that can be used."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client import Client

from tests.cortex_mcp.ctx_fixture import VERSION, CtxFixture, content_of, text_of


def code_of(content: dict[str, Any]) -> str:
    assert content["success"] is False
    return str(content["code"])


@pytest.mark.requirement("CX-87", "CX-1")
@pytest.mark.parametrize("is_named", [True, False])
async def test_without_ctx_the_error_names_the_distribution_that_has_it(
    ctx: CtxFixture, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    monkeypatch.setenv("PATH", str(ctx.repository))
    monkeypatch.setattr(sys, "executable", str(ctx.repository / "python"))
    missing = ctx.folder / "nowhere" / "ctx" if is_named else None
    content = content_of(await ctx.call("list_tasks", ctx.server(cortex_ctx=missing)))
    assert code_of(content) == "CtxNotFound"
    assert "pip install cortex-tasks-cli" in content["error"]
    assert str(ctx.folder) not in content["error"]


@pytest.mark.requirement("CX-87")
async def test_the_ctx_beside_python_comes_before_the_one_on_path(
    ctx: CtxFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = CtxFixture(tmp_path / "other")
    monkeypatch.setenv("PATH", str(other.folder), prepend=os.pathsep)
    monkeypatch.setattr(sys, "executable", str(ctx.repository / "python"))
    assert not (await ctx.call("list_tasks", ctx.server(cortex_ctx=None))).is_error
    assert (len(ctx.calls), len(other.calls)) == (0, 1)
    monkeypatch.setattr(sys, "executable", str(ctx.folder / "python"))
    assert not (await ctx.call("list_tasks", ctx.server(cortex_ctx=None))).is_error
    assert (len(ctx.calls), len(other.calls)) == (1, 1)


@pytest.mark.requirement("CX-87")
@pytest.mark.parametrize(
    "behavior",
    [
        {"answer": {**VERSION, "program": "ctx"}},
        {"answer": {**VERSION, "protocol": 2}},
        {"answer": []},
        {"raw": '{"program": "cortex", "protocol": 1, "protocol": 1}'},
        {"raw": '{"program": "cortex", "protocol": 1, "name": "\\ud800"}'},
        {"megabytes": 9},
    ],
    ids=str,
)
async def test_another_program_of_the_same_name_is_asked_once_and_not_used(
    ctx: CtxFixture, behavior: dict[str, Any]
) -> None:
    ctx.set_behaviors(version=behavior)
    assert code_of(content_of(await ctx.call("start_task", task_id=42))) == "CtxForeign"
    assert ctx.calls == []


@pytest.mark.requirement("CX-87", "CX-89")
async def test_a_program_that_does_not_say_what_it_is_in_time_is_ended(ctx: CtxFixture) -> None:
    ctx.set_behaviors(version={"hang": True})
    content = content_of(await ctx.call("list_tasks", ctx.server(cortex_list_timeout=0.5)))
    assert (code_of(content), content["details"]) == ("Timeout", {"command": "ctx version", "seconds": 0.5})


@pytest.mark.requirement("CX-87")
async def test_a_file_that_is_no_program_is_not_used(ctx: CtxFixture) -> None:
    ctx.path.write_bytes(b"\0")
    assert code_of(content_of(await ctx.call("list_tasks"))) == "CtxForeign"


@pytest.mark.requirement("CX-87")
async def test_ctx_is_asked_what_it_is_once_and_again_if_its_file_changes(ctx: CtxFixture) -> None:
    server = ctx.server()
    for _ in range(2):
        assert not (await ctx.call("list_tasks", server)).is_error
    asked = [it for it in ctx.notes if it.get("argv") == ["version", "--json"]]
    assert (len(asked), len(ctx.calls)) == (1, 2)
    ctx.set_behaviors(version={"answer": {**VERSION, "protocol": 2}})
    ctx.path.write_text(ctx.path.read_text("utf-8") + "# another version\n", "utf-8")
    assert code_of(content_of(await ctx.call("list_tasks", server))) == "CtxForeign"


UNUSABLE: Final[list[tuple[dict[str, Any], int | None, str]]] = [
    ({"raw": "Traceback", "exit": 1}, 1, "exit code 1"),
    ({"raw": ""}, 0, "without a JSON answer"),
    ({"raw": '{"success": true}{"success": true}'}, 0, "without a JSON answer"),
    ({"raw": '{"success": false, "error": "x"}', "exit": 1}, 1, "without a JSON answer"),
    ({"raw": '{"success": false, "error": ["x"], "code": "C"}', "exit": 1}, 1, "without a JSON answer"),
    ({"answer": {"success": True}, "exit": 3}, 3, "exit code 3"),
    ({"answer": {"success": True}}, 0, "unknown form (tasks, total, next_cursor)"),
    ({"answer": {"success": 1, "tasks": []}}, 0, "without a JSON answer"),
    ({"answer": {"success": True}, "signal": signal.SIGKILL}, -9, "SIGKILL"),
    ({"signal": 40}, -40, "signal 40"),
    ({"megabytes": 9}, None, "more than 8 MiB"),
]


@pytest.mark.requirement("CX-88")
async def test_an_answer_that_cannot_be_used_is_an_error_with_what_is_known(ctx: CtxFixture) -> None:
    async with Client(ctx.server().sdk) as client:
        for behavior, exit_code, why in UNUSABLE:
            ctx.set_behaviors(tasks_list=behavior)
            result = await client.call_tool("list_tasks", {})
            content = content_of(result)
            assert result.is_error
            assert code_of(content) == "CtxFailed"
            assert content["details"]["exit_code"] == exit_code
            assert why in content["error"]
            assert ctx.is_quiet()


@pytest.mark.requirement("CX-88")
async def test_the_end_of_stderr_comes_along_with_its_invisible_characters_escaped(ctx: CtxFixture) -> None:
    ctx.set_behaviors(tasks_list={"stderr": "start " + "x" * 6_000 + "\x1b[31mred\u202e end\n", "exit": 9})
    stderr = content_of(await ctx.call("list_tasks"))["details"]["stderr"]
    assert len(stderr) <= 500
    assert stderr.endswith("\\u{1b}[31mred\\u{202e} end")
    assert "start" not in stderr


@pytest.mark.requirement("CX-88")
async def test_what_comes_on_stderr_beside_an_answer_does_no_harm(ctx: CtxFixture) -> None:
    ctx.set_behaviors(
        tasks_done={
            "stderr": "debug\n",
            "answer": {
                "success": True,
                "task_id": 1,
                "status": "DONE",
                "merged_by": "forge",
                "base": "main",
                "deleted": {},
            },
        }
    )
    assert not (await ctx.call("complete_task")).is_error


@pytest.mark.requirement("CX-90", "CX-104")
async def test_a_directory_outside_the_workspace_is_refused(ctx: CtxFixture) -> None:
    (ctx.folder / "other").mkdir()
    (ctx.repository / "inner").mkdir()
    (ctx.repository / "link").symlink_to(ctx.folder / "other")
    (ctx.repository / "loop").symlink_to(ctx.repository / "loop")
    async with Client(ctx.server().sdk) as client:
        for directory in ("..", "../other", "/", "/etc", "link", "inner/../../other", "loop"):
            content = content_of(await client.call_tool("start_task", {"task_id": 1, "directory": directory}))
            assert code_of(content) == ("InvalidArguments" if directory == "loop" else "PathOutsideWorkspace")
            read = await client.call_tool("get_task_status", {"directory": directory})
            assert json.loads(text_of(read))["code"] == content["code"]
    assert ctx.notes == []


@pytest.mark.requirement("CX-90")
async def test_a_directory_that_does_not_exist_is_refused(ctx: CtxFixture) -> None:
    names = ["nowhere", "x" * 1_024, "a/" * 400 + "\N{LATIN SMALL LETTER A WITH DIAERESIS}"]
    codes = [code_of(content_of(await ctx.call("complete_task", directory=name))) for name in names]
    assert codes == ["InvalidArguments"] * 3
    ctx.repository.rmdir()
    assert code_of(content_of(await ctx.call("list_tasks"))) == "InvalidArguments"


@pytest.mark.requirement("CX-90")
async def test_calls_run_in_the_repository_or_in_the_directory_that_they_name(
    ctx: CtxFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ctx.repository / "inner").mkdir()
    (ctx.folder / "worktree").mkdir()
    (ctx.repository / "link").symlink_to(ctx.folder / "worktree")
    await ctx.call("get_task_status")
    await ctx.call("get_task_status", directory="inner")
    wide = ctx.server(cortex_workspace=ctx.folder)
    await ctx.call("get_task_status", wide, directory="../worktree")
    await ctx.call("get_task_status", wide, directory=str(ctx.repository / "link"))
    monkeypatch.chdir(ctx.folder)
    await ctx.call("get_task_status", ctx.server(cortex_repo=None))
    folders = [Path(call["directory"]).relative_to(ctx.folder.resolve()).as_posix() for call in ctx.calls]
    assert folders == ["repository", "repository/inner", "worktree", "worktree", "."]


async def test_a_ctx_that_cannot_be_started_any_more_is_an_error(ctx: CtxFixture) -> None:
    server = ctx.server()
    assert not (await ctx.call("list_tasks", server)).is_error
    ctx.path.chmod(0o600)
    content = content_of(await ctx.call("list_tasks", server))
    assert (code_of(content), "cannot be started" in content["error"]) == ("CtxFailed", True)


@pytest.mark.requirement("CX-89")
async def test_a_call_that_takes_too_long_is_ended_and_says_so(ctx: CtxFixture) -> None:
    ctx.set_behaviors(tasks_start={"hang": True})
    content = content_of(await ctx.call("start_task", ctx.server(cortex_git_timeout=0.5), task_id=42))
    assert (code_of(content), content["details"]) == ("Timeout", {"command": "ctx tasks start 42", "seconds": 0.5})
    assert "get_task_status" in content["error"]
    assert ctx.is_quiet()


@pytest.mark.requirement("CX-89")
async def test_a_server_that_has_ended_starts_nothing_whether_it_knows_its_ctx_or_not(ctx: CtxFixture) -> None:
    unused, used = ctx.server(), ctx.server()
    assert not (await ctx.call("list_tasks", used)).is_error
    noted = ctx.notes
    for server in (unused, used):
        server.close()
        content = content_of(await ctx.call("list_tasks", server))
        assert (code_of(content), "the server ends" in content["error"]) == ("CtxFailed", True)
    assert ctx.notes == noted
