"""Count the bytes that a model reads in a session of 40 calls: ``hatch run bench:session [OLDER CHECKOUT]``."""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.wire import Call, Client
from tests.servers import MADE, record_of

ROOT: Final = Path(__file__).resolve().parents[1]

SESSIONS: Final = json.loads((ROOT / "benchmarks" / "session.json").read_text("utf-8"))
"""By server the calls and how often they are repeated; ``MADE`` stands for the id of the last new task."""


def count_bytes(name: str, checkout: Path = ROOT) -> int:
    """Return the bytes of the texts in the answers of the server of a checkout."""
    record, made, total = record_of(name), "", 0
    path = os.pathsep.join(map(str, checkout.glob("packages/*/src")))
    with TemporaryDirectory() as folder:
        environment = record.environment(Path(folder)) | {"PYTHONPATH": path, "TASK_MASTER_TOOLS": "standard"}
        with Client(record.module_command, environment) as client:
            for tool, arguments in SESSIONS[name]["calls"] * SESSIONS[name]["times"]:
                given = json.loads(json.dumps(arguments).replace(MADE, made))
                result = json.loads(client.exchange(client.tool_line(Call(tool, given))))["result"]
                total += sum(len(part["text"].encode()) for part in result["content"])
                made = record.task_id(result["structuredContent"]) if tool == record.create else made
    return total


if __name__ == "__main__":
    for server in SESSIONS:
        counts = [f"{count_bytes(server, checkout):,}" for checkout in (*map(Path, sys.argv[1:]), ROOT)]
        print(f"| {server} | {' | '.join(counts)} |")
