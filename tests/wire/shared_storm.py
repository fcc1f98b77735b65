"""Kills servers while a person, an editor, a shell and git write the HEARTBEAT.md that they share (D2, HB-12, HB-18).

``python tests/wire/shared_storm.py [--steps 2000] [--seed N]`` runs it for long; the tests run a short form. Two
servers have calls under way all the time, and are killed with them; meanwhile the file is changed, step by step.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from pydantic import JsonValue

from heartbeat_mcp.mirror.document import read_document
from heartbeat_mcp.mirror.section import Part
from tests.heartbeat.shared_file import EDITS, SharedFile, conflict_of, resolved
from tests.wire.storm_process import Answer, Server, forked

__all__ = ["Storm", "shared_storm"]

STEPS_A_LIST: Final = 40
"""Steps with one list, so that the backup still has every section that was overwritten."""

GENTLE_EDITS: Final = [name for name in EDITS if name != "all text around removed"]
"""After the other one nothing would be written for half a minute."""

REST_SECONDS: Final = 45.0
"""How long a file may be left alone that seems to be half written, with some more for a busy machine, in seconds."""


@dataclass
class Storm:
    """Two servers, and what they acknowledged."""

    folder: Path
    log: Path
    rng: Random
    kills: int = 0
    calls: int = 0
    created: dict[str, str] = field(default_factory=dict)
    """the texts of the tasks that were acknowledged, by id"""

    def __post_init__(self) -> None:
        self.file = SharedFile(self.folder)
        self.servers = [self.start(), self.start()]
        self.waiting = [0, 0]
        self._steps: list[Callable[[], None]] = [
            *(self.edit_by_rename, self.edit_by_rename, self.edit_in_place, self.edit_slowly, self.append),
            *(self.commit, self.check_out, self.merge),
        ]

    def start(self) -> Server:
        """Return a new server that was greeted."""
        environment = {"HEARTBEAT_FILE_PATH": str(self.file.path), "TASK_LOCK_TIMEOUT": "10"}
        server = forked("heartbeat_mcp", environment, self.log)
        server.greet()
        return server

    # Servers

    def call(self) -> None:
        """Let both servers begin some calls."""
        for number, server in enumerate(self.servers):
            calls: dict[int, tuple[str, dict[str, JsonValue]]] = {}
            for _ in range(self.rng.randint(1, 3)):
                self.calls += 1
                request: dict[str, JsonValue] = {"raw_user_request": f"agent-{self.calls}."}
                calls[self.calls] = self.rng.choice([("task_create", request), ("task_list", {})])
            server.ask(calls)
            self.waiting[number] += len(calls)

    def take_answers(self) -> None:
        """Wait for the answers to all calls under way, and note what was created."""
        for number, server in enumerate(self.servers):
            self._note(server.answers(self.waiting[number]))
            self.waiting[number] = 0

    def _note(self, answers: Mapping[int, Answer]) -> None:
        for answer in answers.values():
            assert not answer.is_error, answer
            if "raw_user_request" in answer.content:
                self.created[answer.content["id"]] = answer.content["raw_user_request"]

    def kill(self) -> None:
        """Kill a server with its calls under way, and start another."""
        number = self.rng.randrange(2)
        self._note(self.servers[number].kill())
        self.waiting[number] = 0
        self.servers[number] = self.start()
        self.kills += 1

    # The person

    def draft(self) -> bytes:
        """Return what a person makes of the file, or of what their editor has read of it before."""
        text = self.rng.choice([self.file.data, self.file.data, *self.file.versions]).decode()
        for edit in self.rng.sample(GENTLE_EDITS, 2):
            text = EDITS[edit](text, self.file.word())
        return text.encode()

    def edit_by_rename(self) -> None:
        self.file.save(self.draft())

    def edit_in_place(self) -> None:
        self.file.save_in_place(self.draft())

    def edit_slowly(self) -> None:
        """Save half, let the servers work on, and save the rest."""
        draft = self.draft()
        self.file.save_slowly(draft, self.rng.choice([0, len(draft) // 2]))
        self.call()
        self.take_answers()
        self.file.check()
        self.file.finish()

    def append(self) -> None:
        """Append a line by a shell, as a person does who notes something quickly."""
        line = f"\nsee {self.file.word()}\n"
        self.file.expect(self.file.data + line.encode())
        subprocess.run(("sh", "-c", 'printf %s "$0" >> "$1"', line, str(self.file.path)), check=True)

    def commit(self) -> None:
        self.file.versions.append(self.file.data)

    def check_out(self) -> None:
        self.file.check_out(self.rng.choice(self.file.versions))

    def merge(self) -> None:
        """Leave a conflict for a while, and then resolve it."""
        theirs = self.rng.choice(self.file.versions).decode()
        self.file.save(conflict_of(self.file.text, theirs).encode())
        self.call()
        self.take_answers()
        self.file.save(resolved(self.file.text, self.rng.choice(["ours", "theirs", "both"])).encode())

    # What must be true

    def step(self) -> None:
        """Let somebody do something while calls are under way, and check everything."""
        self.call()
        if self.rng.random() < 0.4:
            self.kill()
        self.rng.choice(self._steps)()
        self.take_answers()
        self.file.check()
        found = self.file.tasks()
        assert {task_id: found[task_id]["raw_user_request"] for task_id in self.created} == self.created

    def end(self) -> None:
        """Let the servers bring the section in step, and end them."""
        deadline = time.monotonic() + REST_SECONDS
        while not self._is_at_rest():
            assert time.monotonic() < deadline, self.file.text
            self.call()
            self.take_answers()
            time.sleep(0.1)
        self.file.check()
        for server in self.servers:
            server.close()

    def _is_at_rest(self) -> bool:
        active = [task_id for task_id, task in self.file.tasks().items() if task["status"] in {"Pending", "Running"}]
        units = read_document(self.file.data, "TODO").units
        return [unit.item.closing_id for unit in units if unit.part is Part.ENTRY and unit.item] == active


def shared_storm(folder: Path, steps: int, rng: Random) -> Storm:
    """Run one storm over a new list in ``folder``, and return what it came to.

    Raises:
        AssertionError: something that a person wrote or an agent was told is gone, or the files disagree.
    """
    (folder / "work").mkdir()
    storm = Storm(folder / "work", folder / "log", rng)
    for _ in range(steps):
        storm.step()
    storm.end()
    return storm


def main() -> None:
    """Run storms over one list after the other, and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=2000, help="in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the present second")
    options = parser.parse_args()
    kills = calls = 0
    for start in range(0, options.steps, STEPS_A_LIST):
        with tempfile.TemporaryDirectory() as folder:
            steps = min(STEPS_A_LIST, options.steps - start)
            storm = shared_storm(Path(folder), steps, Random(f"{options.seed} {start}"))
        kills, calls = kills + storm.kills, calls + storm.calls
        print(f"seed {options.seed}: {start + steps} steps, {calls} calls, {kills} kills, nothing lost", flush=True)


if __name__ == "__main__":
    main()
