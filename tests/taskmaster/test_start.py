"""The process: its first answers, its settings, and nothing but the protocol on stdout (TM-4, TM-7, TM-84)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskmaster_mcp.__main__ import main
from tests.core.command_line import command_line
from tests.taskmaster.conftest import ServedProject
from tests.wire.line_client import Era, LineClient


@pytest.mark.requirement("TM-7", "TM-84")
@pytest.mark.parametrize(("tools", "era"), [("", "modern"), ("all,get_task", "legacy")])
def test_a_process_answers_first_requests_and_calls(project: ServedProject, tools: str, era: Era) -> None:
    environment = {"TASK_MASTER_PROJECT_ROOT": str(project.root), "TASK_MASTER_TOOLS": tools}
    with LineClient(era, (sys.executable, "-m", "taskmaster_mcp"), environment) as client:
        count = {"": 8, "all,get_task": 32}[tools]
        assert len(client.request("tools/list")["result"]["tools"]) == count
        answer = client.request("tools/call", {"name": "next_task", "arguments": {}})
        assert answer["result"]["structuredContent"]["data"]["nextTask"]["id"] == "2.2"
        client.close_input()
        assert (client.rest(), client.exit_code()) == ([], 0)


@pytest.mark.requirement("TM-4")
def test_an_unknown_tool_in_the_setting_ends_the_process(tmp_path: Path) -> None:
    environment = {**os.environ, "TASK_MASTER_TOOLS": "core,get_taskz"}
    command = [sys.executable, "-m", "taskmaster_mcp"]
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "TASK_MASTER_TOOLS is 'core,get_taskz'" in ended.stderr
    assert "get_tasks" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["next"], "id\t2.2\ntitle\tTitle 2\n"),
        (["list", "done"], "1\tdone\tTitle 1\t"),
        (["doctor"], "tasks.json is complete: 1 tag"),
        (["export"], '"master"'),
        (["--help"], "TASK_MASTER_PROJECT_ROOT"),
    ],
)
def test_the_commands_work_on_the_project(
    project: ServedProject,
    arguments: list[str],
    out: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TASK_MASTER_PROJECT_ROOT", str(project.root))
    monkeypatch.setattr(sys, "argv", ["taskmaster-mcp", *arguments])
    before = project.files
    with command_line(), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert out in capfd.readouterr().out
    assert project.files == before


@pytest.mark.requirement("CLI-1")
def test_it_starts_on_a_terminal_even_where_there_is_no_project(tmp_path: Path) -> None:
    environment = {**os.environ, "TASK_MASTER_PROJECT_ROOT": str(tmp_path / "nowhere")}
    master, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "taskmaster_mcp"], stdin=terminal, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("taskmaster-mcp is waiting for an MCP client to write to stdin.")
        process.terminate()
        assert process.wait(60) == 0
    os.close(master)
    os.close(terminal)


@pytest.mark.requirement("TM-30")
def test_a_lost_tasks_file_comes_back_with_the_access_of_its_folder(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = project.path.with_name("copy.json")
    project.path.rename(copy)
    project.path.parent.chmod(0o775)
    monkeypatch.setenv("TASK_MASTER_PROJECT_ROOT", str(project.root))
    monkeypatch.setattr(sys, "argv", ["taskmaster-mcp", "restore", str(copy)])
    with command_line(), pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, project.path.stat().st_mode & 0o777) == (0, 0o664)


@pytest.mark.requirement("TM-30", "EN-18")
def test_a_document_is_imported_only_where_there_is_none(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = project.path.with_name("copy.json")
    document = project.path.rename(copy).read_bytes()
    monkeypatch.setenv("TASK_MASTER_PROJECT_ROOT", str(project.root))
    monkeypatch.setattr(sys, "argv", ["taskmaster-mcp", "import", str(copy)])
    for code, said in ((0, "Imported 1 tag into"), (1, "is not empty: import into a new store")):
        with command_line(), pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
        assert said in capfd.readouterr().err
        assert project.path.read_bytes() == document
