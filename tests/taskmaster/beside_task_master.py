"""Works beside Task Master itself, and lets it read and change what this server wrote (TM-93, TM-94).

    PYTHONPATH=. python tests/taskmaster/beside_task_master.py /path/to/node_modules/.bin

The folder has the commands ``task-master-ai`` and ``task-master``. The script ends with an error if anything is lost,
or if Task Master complains.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

from tests.taskmaster.conftest import LARGE, ServedProject, item, tag
from tests.taskmaster.side_by_side import Side, differences, plain
from tests.taskmaster.test_processes import start, stored
from tests.taskmaster.test_round_trip import CALLS

COMPLAINT: Final = re.compile(r"error|warn|invalid|fail|corrupt|missing", re.IGNORECASE)
"""What a command of Task Master says when it dislikes a project."""

COMMANDS: Final = (
    ("list", "--with-subtasks"),
    ("show", "1"),
    ("next",),
    ("validate-dependencies",),
    ("set-status", "--id=1", "--status=review"),
    ("add-dependency", "--id=2", "--depends-on=90"),
    ("list",),
)
"""What a user does with the project afterwards."""


def work_beside_a_reader(server: tuple[str, ...], folder: Path, processes: int) -> int:
    """Let processes change a project while Task Master reads it; return how often it read."""
    side = Side(folder, server, folder.parent)
    side.served.write({"master": tag(item(1)), "beta": tag(item(1))})
    is_over = threading.Event()
    reads: list[bool] = []

    def read() -> None:
        while not is_over.is_set():
            reads.extend(side.call(tool, {})[0] for tool in ("get_tasks", "next_task", "list_tags"))

    reader = threading.Thread(target=read)
    reader.start()
    running = [start(side.served, f"p{number}", 40) for number in range(processes)]
    lines = [line.split() for process in running for line in process.communicate()[0].splitlines()]
    is_over.set()
    reader.join()
    side.process.kill()
    assert [process.returncode for process in running] == [0] * processes
    assert len(lines) == 40 * processes
    assert stored(side.served) == dict(map(tuple, lines)) | {"Title 1": "1"}
    assert side.served.document["beta"] == tag(item(1))
    assert all(reads)
    return len(reads)


def listen(command: str, folder: Path) -> list[str]:
    """Run every command in a project, and return what each complains about."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "NO_COLOR": "1"}
    found: list[str] = []
    for given in COMMANDS:
        done = subprocess.run(
            [command, *given], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found += [f"{given[0]}: {line}" for line in (done.stdout + done.stderr).splitlines() if COMPLAINT.search(line)]
    return found


def hand_over(command: str, before: Path, after: Path) -> None:
    """Let the commands of Task Master show and change a project, and a copy that went through every tool here."""
    projects = [ServedProject(folder) for folder in (before, after)]
    for served in projects:
        served.write(LARGE)

    async def call_every_tool() -> None:
        for tool, arguments in CALLS:
            await projects[1].answer(tool, **arguments)

    asyncio.run(call_every_tool())
    # Task Master would copy what it says into the tasks.
    (after / ".taskmaster" / "reports" / "task-complexity-report.json").unlink()
    said = [listen(command, served.root) for served in projects]
    assert said[1] == said[0], said
    [theirs, ours] = [served.document["master"]["tasks"] for served in projects]
    assert (ours[0]["status"], "90" in map(str, ours[1]["dependencies"])) == ("review", True)
    assert plain(ours) == plain(theirs), differences(plain(theirs), plain(ours))[:10]
    print(f"Task Master shows and changes what every tool has worked on, and says no more than before: {said[1]}")


def main(programs: Path) -> None:
    """Do both, each in folders of its own."""
    with tempfile.TemporaryDirectory() as name:
        for processes in (2, 8):
            folder = Path(name, f"processes-{processes}")
            folder.mkdir()
            reads = work_beside_a_reader((str(programs / "task-master-ai"),), folder, processes)
            print(f"{processes} processes made 40 changes each while Task Master read {reads} times: nothing is lost")
        folders = [Path(name, place) for place in ("before", "after")]
        for folder in folders:
            folder.mkdir()
        hand_over(str(programs / "task-master"), *folders)


if __name__ == "__main__":
    os.environ.pop("TASK_MASTER_PROJECT_ROOT", None)
    main(Path(sys.argv[1]))
