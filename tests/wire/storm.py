"""Kills servers at random moments and checks that nothing they had acknowledged is lost (D2, D3, C3, C5).

``python tests/wire/storm.py [--kills 200] [--seed N]`` runs it for long; the tests run a short form.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.wire.line_client import LineClient

HEARTBEAT: Final = (sys.executable, "-m", "heartbeat_mcp")
"""The command that starts the server."""

CALLS: Final = 40
"""Creates that are under way when the server is killed."""

KEPT: Final = {"HEARTBEAT.md", "heartbeat_state.json", "heartbeat_state.json.lock"}
"""All that may stand in the folder at the end."""

ROUTINE: Final = "# Agent\n\n## Routine\n- [ ] 每天检查邮件\n\n## TODO – list below\n\n## Notes\nkeep me\n"


@dataclass
class Storm:
    """What a storm over one folder showed."""

    kills: int = 0
    acknowledged: int = 0
    slowest: float = 0.0
    """Seconds that the first create of a server took, at the most."""


def serve(folder: Path, **settings: str) -> LineClient:
    """Return a client of a new server over the HEARTBEAT.md in ``folder``, with more settings if there are any."""
    environment = {"HEARTBEAT_FILE_PATH": str(folder / "HEARTBEAT.md"), **settings}
    return LineClient(command=HEARTBEAT, environment=environment)


def stored_ids(folder: Path) -> list[str]:
    """Return the ids in the store, as another program would read them."""
    document = json.loads((folder / "heartbeat_state.json").read_bytes())
    return [task["id"] for task in document["tasks"]]


def entry_ids(folder: Path) -> list[str]:
    """Return the ids of the entries in HEARTBEAT.md, in order."""
    lines = (folder / "HEARTBEAT.md").read_text("utf-8").splitlines()
    start = "  <!-- task_id: "
    return [line.removeprefix(start).removesuffix(" -->") for line in lines if line.startswith(start)]


def storm(folder: Path, kills: int, rng: random.Random) -> Storm:
    """Kill ``kills`` servers in turn, each with calls under way, and check the files after each.

    Raises:
        AssertionError: something acknowledged is gone, something is left over, or the files disagree.
    """
    (folder / "HEARTBEAT.md").write_text(ROUTINE, "utf-8")
    seen = Storm()
    acknowledged: set[str] = set()
    for _ in range(kills):
        with serve(folder) as client:
            started = time.monotonic()
            acknowledged.add(client.call("task_create", raw_user_request="first")["structuredContent"]["id"])
            seen.slowest = max(seen.slowest, time.monotonic() - started)
            acknowledged |= _killed_at_work(client, rng)
        seen.kills += 1
        assert acknowledged <= set(stored_ids(folder))
    with serve(folder) as client:
        tasks = client.call("task_list")["structuredContent"]["tasks"]
    _check_end(folder, acknowledged, [task["id"] for task in tasks])
    seen.acknowledged = len(acknowledged)
    return seen


def _killed_at_work(client: LineClient, rng: random.Random) -> set[str]:
    client.write(b"".join(client.call_line(n, "task_create", raw_user_request=f"任务 {n}") for n in range(CALLS)))
    answers = [client.receive() for _ in range(rng.randrange(CALLS))]
    time.sleep(rng.random() * 0.004)  # the moment of the kill, not a wait for something
    client.process.kill()
    answers += client.rest(is_killed=True)
    return {answer["result"]["structuredContent"]["id"] for answer in answers}


def _check_end(folder: Path, acknowledged: set[str], listed: list[str]) -> None:
    assert acknowledged <= set(listed)
    assert len(listed) == len(set(listed))
    assert stored_ids(folder) == listed
    assert entry_ids(folder) == listed
    text = (folder / "HEARTBEAT.md").read_text("utf-8")
    assert text.startswith("# Agent\n\n## Routine\n- [ ] 每天检查邮件\n\n## TODO – list below\n")
    assert text.endswith("\n\n## Notes\nkeep me\n")
    assert {path.name for path in folder.iterdir()} == KEPT


def main() -> None:
    """Run storms over two folders side by side and print what they showed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the present second")
    options = parser.parse_args()

    def run(part: int) -> Storm:
        with tempfile.TemporaryDirectory() as folder:
            kills = options.kills // 2 + (options.kills % 2 if part else 0)
            return storm(Path(folder), kills, random.Random(options.seed + part))

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(run, range(2)))
    print(
        f"seed {options.seed}: {sum(part.kills for part in parts)} kills, "
        f"{sum(part.acknowledged for part in parts)} acknowledged creates, 0 lost, 0 left over; "
        f"slowest first create after a kill {max(part.slowest for part in parts):.2f} s"
    )


if __name__ == "__main__":
    main()
