"""Several processes work on one project: nothing is lost, no id is given twice, and a kill at any moment heals."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from taskmaster_mcp.project.lock import locate_foreign_lock
from tests.taskmaster.conftest import ServedProject, item, tag

WORKER = Path(__file__).with_name("worker.py")


def start(project: ServedProject, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(project.root), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def stored(project: ServedProject) -> dict[str, str]:
    """Return the ids of the tasks in the file by their titles."""
    tasks = project.document["master"]["tasks"]
    assert len({task["id"] for task in tasks}) == len(tasks)
    assert all(task["dependencies"] == [1] for task in tasks[1:])
    return {task["title"]: str(task["id"]) for task in tasks}


@pytest.mark.requirement("TM-26")
@pytest.mark.parametrize(("processes", "changes"), [(3, 12), pytest.param(8, 40, marks=pytest.mark.by_hand)])
def test_processes_lose_no_change_of_each_other(project: ServedProject, processes: int, changes: int) -> None:
    project.write({"master": tag(item(1)), "beta": tag(item(1))})
    running = [start(project, f"p{number}", changes) for number in range(processes)]
    lines = [line.split() for process in running for line in process.communicate()[0].splitlines()]
    assert [process.returncode for process in running] == [0] * processes
    assert len(lines) == changes * processes
    assert stored(project) == dict(map(tuple, lines)) | {"Title 1": "1"}
    assert project.document["beta"] == tag(item(1))
    assert not locate_foreign_lock(project.path).exists()


@pytest.mark.requirement("TM-26", "TM-95")
async def test_after_a_kill_at_any_moment_all_that_was_answered_is_there(project: ServedProject) -> None:
    project.write({"master": tag(item(1))})
    answered: dict[str, str] = {}
    for number in range(2):
        process = start(project, f"k{number}", 1_000)
        assert process.stdout
        for _ in range(random.Random(number).randint(1, 8)):
            name, task_id = process.stdout.readline().split()
            answered[name] = task_id
        process.kill()
        rest = [line.split() for line in process.communicate()[0].splitlines() if line.endswith("\n") or " " in line]
        answered |= {row[0]: row[1] for row in rest[:-1] if len(row) == 2}
        assert answered.items() <= stored(project).items()
    before = len(stored(project))
    project.server = project.another(task_lock_timeout=15)
    await project.call("add_task", title="after", dependencies="1")
    assert len(stored(project)) == before + 1
    assert not locate_foreign_lock(project.path).exists()
