"""Claims on the command line: each is the client's that runs the command, or lasts until it is released (AG-13)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from task_core.claims import client_process
from task_core.claims.claim import Claim
from task_core.claims.client_process import ASSIGNED, Holder, find_holder
from task_core.cli.write_commands import report_claim
from tests.core.claim_team import Team
from tests.core.command_line import Command, Ended
from tests.servers import SERVERS, ServerRecord
from tests.tool_client import ToolFailed

pytestmark = pytest.mark.requirement("AG-13")

TASKS: Final = next(record for record in SERVERS if record.name == "tasks-v1")

BASH: Final = ("bash", "/bin/bash", "-c", "claude")


class Processes:
    """The files in which Linux shows processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.restart("0a1b2c3d-1")

    def restart(self, boot: str, numbers: str = "pid:[4026]") -> None:
        """Start the system anew, or look at its processes from another container."""
        own, random = self.folder / "self/ns", self.folder / "sys/kernel/random"
        for folder in (own, random):
            folder.mkdir(parents=True, exist_ok=True)
        (random / "boot_id").write_text(f"{boot}\n")
        (own / "pid").unlink(missing_ok=True)
        (own / "pid").symlink_to(numbers)

    def add(self, number: int, parent: int, name: str, *words: str, start: int = 77, state: str = "S") -> None:
        """Let a process run."""
        folder = self.folder / str(number)
        folder.mkdir(exist_ok=True)
        rest = [state, str(parent), *"0" * 17, str(start), "0", "0"]
        (folder / "stat").write_text(f"{number} ({name}) {' '.join(rest)}\n")
        (folder / "cmdline").write_text("\0".join([*words, ""]))

    def end(self, number: int) -> None:
        """Let a process end."""
        for file in ("stat", "cmdline"):
            (self.folder / str(number) / file).unlink()


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    """Let this process run below no client, whoever runs the tests."""
    monkeypatch.setattr(client_process, "SYSTEM", tmp_path / "proc")
    return Processes(tmp_path / "proc")


@pytest.fixture
def codex(processes: Processes) -> int:
    """Let this process run below a client, and return the number of that."""
    processes.add(os.getppid(), 42, *BASH)
    processes.add(42, 1, "codex", "/opt/codex", "exec")
    return 42


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Agents with the list of ``command``."""
    team = Team(tmp_path, task_store=f"json:{tmp_path / TASKS.store()}")
    team.path = tmp_path / TASKS.store()
    return team


def add(command: Command, record: ServerRecord = TASKS) -> str:
    answer = json.loads(command(record, "add", "Paint", "--json").out)
    return record.task_id(answer)


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("record", SERVERS, ids=lambda record: record.name)
def test_where_no_client_runs_the_command_the_claim_lasts_until_it_is_released(
    command: Command, record: ServerRecord
) -> None:
    task, name = add(command, record), record.program().name
    ended = command(record, "start", task, "--claim")
    assert ended.err == (f"Claimed {task} until `{name} release {task}`, since no known client runs this command.\n")
    assert "claimed by command line since " in command(record, "brief").out
    edited = command(record, "start", task)
    assert "claim" not in edited.err.lower()  # a person is not refused
    assert command(record, "release", task) == Ended(0, f"Released {task}.\n", "")
    ended = command(record, "release", task)
    assert (ended.code, ended.out) == (1, "")
    assert f"{name} release: You hold no claim on '{task}'" in ended.err
    assert "claimed" not in command(record, "brief").out


@pytest.mark.usefixtures("processes")
@pytest.mark.requirement("AG-17")
def test_a_release_says_what_it_changes_in_a_tree(command: Command) -> None:
    trees = next(record for record in SERVERS if record.name == "hierarchy")
    one, two = add(command, trees), add(command, trees)
    command(trees, "start", one, "--claim")
    command(trees, "start", two)
    back = f"'Paint' ({one}) went back to todo: outside claimed roots one task is in progress, and another is."
    assert command(trees, "release", one).out == f"Released {one}. {back}\n"


@pytest.mark.usefixtures("processes")
async def test_an_assignment_keeps_agents_out_until_its_task_is_done(command: Command, team: Team) -> None:
    task = add(command)
    assert command(TASKS, "start", task, "--claim", "--json").code == 0
    agent = team.join()
    for tool in ("claim_task", "update_task"):
        with pytest.raises(ToolFailed, match=r"'command line' has claimed .*, until a person releases it, so nothing"):
            await agent.call(tool, id=task, **({"title": "x"} if tool == "update_task" else {}))
    command(TASKS, "done", task)
    assert team.sessions == []


async def test_the_claim_of_a_command_is_that_of_the_client_and_ends_with_it(
    command: Command, team: Team, processes: Processes, codex: int
) -> None:
    task, agent = add(command), team.join()
    ended = command(TASKS, "start", task, "--claim")
    assert ended.err == f"Claimed {task} until Codex ends, or `tasks-v1-mcp release {task}`.\n"
    assert team.sessions == ["client.42.77.0a1b2c3d.4026.json"]
    with pytest.raises(ToolFailed, match=r"'Codex' has claimed .* for as long as its agent runs"):
        await agent.call("claim_task", id=task)
    processes.restart("0a1b2c3d-1", "pid:[5000]")  # in another container of this machine, nobody can tell
    with pytest.raises(ToolFailed, match="TaskClaimed"):
        await agent.call("claim_task", id=task)
    processes.restart("0a1b2c3d-1")
    processes.end(codex)
    assert "its process has ended, so anybody may claim it" in (await agent.call("brief"))["brief"]
    assert (await agent.call("claim_task"))["claim"]["task"] == task


async def test_a_client_has_ended_if_another_process_has_its_number_or_nobody_has_collected_it(
    command: Command, team: Team, processes: Processes, codex: int
) -> None:
    task, agent = add(command), team.join()
    command(TASKS, "start", task, "--claim")
    for start, state, boot, is_held in (
        (77, "R", "0a1b2c3d-1", True),
        (78, "R", "0a1b2c3d-1", False),
        (77, "Z", "0a1b2c3d-1", False),
        (77, "S", "ffffffff-1", False),
    ):
        processes.add(codex, 1, "codex", start=start, state=state)
        processes.restart(boot)
        assert ("its process has ended" not in (await agent.call("brief"))["brief"]) is is_held


async def test_a_claim_that_another_holds_refuses_the_start_and_is_only_ended_by_force(
    command: Command, team: Team, codex: int
) -> None:
    task, agent = add(command), team.join()
    await agent.call("claim_task", id=task, agent="ann")
    ended = command(TASKS, "start", task, "--claim")
    assert (ended.code, ended.out) == (1, "")
    assert f"tasks-v1-mcp start: 'ann' has claimed '{task}'" in ended.err
    assert '"pending"' in command(TASKS, "show", task, "--json").out
    ended = command(TASKS, "release", task)
    assert ended.code == 1
    assert ended.err.startswith("Give --force to end the claim of an agent that may still work on the task.\n")
    assert json.loads(command(TASKS, "release", task, "--force", "--json").out) == {"released": task}
    (warning,) = (await agent.call("get_task", id=task))["warnings"]
    assert warning.startswith(f"The claim of '{task}' by 'ann' has ended")
    assert command(TASKS, "start", task, "--claim").code == 0
    assert f"client.{codex}.77.0a1b2c3d.4026.json" in team.sessions
    assert command(TASKS, "release", task).code == 0  # the client's own


@pytest.mark.parametrize(
    ("process", "title"),
    [
        (("claude", "claude", "--resume"), "Claude"),
        (("MainThread", "/usr/bin/node", "--no-warnings", "/usr/bin/qwen", "-p"), "Qwen"),
        (("node", "node", "/opt/node_modules/@google/gemini-cli/bundle/gemini.js"), "Gemini"),
        (("node", "node", "/srv/gemini/server.js"), ""),
        (("vim", "vim", "claude"), ""),
        (("SCREEN", "SCREEN", "-S", "claude"), ""),
        (("kthreadd",), ""),
    ],
)
def test_a_client_is_known_by_the_names_of_its_program_and_its_package(
    processes: Processes, process: tuple[str, ...], title: str
) -> None:
    names = {"claude": "Claude", "qwen": "Qwen", "gemini-cli": "Gemini"}
    processes.add(os.getppid(), 7, *process)
    processes.add(7, 0, "init (1)", "/sbin/init", start=1)
    holder = find_holder(names)
    assert holder == (Holder(f"client.{os.getppid()}.77.0a1b2c3d.4026", title) if title else Holder(ASSIGNED))


def test_where_the_system_shows_no_processes_or_no_client_is_known_a_claim_is_an_assignment(
    command: Command, team: Team, monkeypatch: pytest.MonkeyPatch, codex: int
) -> None:
    one, two, three = add(command), add(command), add(command)
    command(TASKS, "start", one, "--claim")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mcp_client_install", None)  # as if it were not installed
        assert "no known client" in command(TASKS, "start", two, "--claim").err
    monkeypatch.setattr(client_process, "SYSTEM", Path("nowhere"))
    assert "no known client" in command(TASKS, "start", three, "--claim").err
    assert command(TASKS, "brief").out.count("claimed by Codex since") == 1
    assert team.sessions == ["assigned.json", f"client.{codex}.77.0a1b2c3d.4026.json"]


def test_a_claim_by_a_deadline_says_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    report_claim("tasks-v1-mcp", Claim(task="a", since=1, until=1_795_796_141_289_406, process=ASSIGNED))
    assert capsys.readouterr().err == (
        "Claimed a until 2026-11-27T16:15:41.289406Z, since PostgreSQL shows nobody whether a process runs; start it "
        "again with --claim to extend the claim.\n"
    )
