"""The process: its settings, its commands, and its start on a terminal (TM-4, TM-30)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskmaster_mcp.__main__ import main
from tests.core.command_line import command_line
from tests.processes import ending
from tests.taskmaster.conftest import ServedProject


@pytest.mark.requirement("TM-4")
def test_an_unknown_tool_in_the_setting_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TASK_MASTER_TOOLS", "core,get_taskz")
    monkeypatch.setattr(sys, "argv", ["taskmaster-mcp"])
    with command_line(), pytest.raises(SystemExit) as ended:
        main()
    printed = capfd.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert "TASK_MASTER_TOOLS is 'core,get_taskz'" in printed.err
    assert "get_tasks" in printed.err


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["next"], "id\t2.2\ntitle\tTitle 2\n"),
        (["list", "done"], "1\tdone\tTitle 1\t"),
        (["doctor"], "tasks.json is complete: 1 tag"),
        (["restore"], "No older documents are kept beside tasks.json."),
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


@pytest.mark.process
@pytest.mark.requirement("CLI-1")
def test_it_starts_on_a_terminal_even_where_there_is_no_project(tmp_path: Path) -> None:
    environment = {**os.environ, "TASK_MASTER_PROJECT_ROOT": str(tmp_path / "nowhere")}
    master, terminal = os.openpty()
    with ending(
        subprocess.Popen(
            [sys.executable, "-m", "taskmaster_mcp"], stdin=terminal, stderr=subprocess.PIPE, text=True, env=environment
        )
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


@pytest.mark.parametrize(
    ("command", "words"),
    [("export", "name the format: --to"), ("import", "name the format: --from"), ("migrate", "invalid choice")],
)
def test_tasks_that_no_database_can_keep_are_not_moved(
    command: str, words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["taskmaster-mcp", command])
    with command_line(), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert words in capfd.readouterr().err
