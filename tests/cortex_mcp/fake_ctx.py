"""A fake ``ctx``: gives the answers that a test recorded beside it, and notes how it was called.

It runs with the standard library alone, as a program of its own; ``ctx_fixture.py`` writes what it plays.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

LIFE_SECONDS = 120
"""After these seconds it ends by itself: when a test is killed, nobody else is left to end it."""

HOME = Path(os.environ.get("CTX_FOLDER") or Path(sys.argv[0]).parent)


def note(**facts: object) -> None:
    """Append one line in one write, since several of these run at a time."""
    line = json.dumps({"pid": os.getpid(), **facts}) + "\n"
    descriptor = os.open(HOME / "calls.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def spawn(*, stubborn: bool) -> None:
    """Start a process that goes on by itself, and holds stdout open; its end is bounded as ``LIFE_SECONDS`` says."""
    trap = "trap '' TERM; " if stubborn else ""
    child = subprocess.Popen(["/bin/sh", "-c", f"{trap}for _ in $(seq {LIFE_SECONDS}0); do sleep 0.1; done"])
    note(grandchild=child.pid)


def follow() -> None:
    """Print what is appended to the file of events, until stdin ends."""
    import select  # noqa: PLC0415 - only this needs it

    path, shown = HOME / "events", 0
    while not select.select([0], [], [], 0.02)[0]:
        data = path.read_bytes() if path.exists() else b""
        os.write(1, data[shown:])
        shown = len(data)
        if (HOME / "stop").exists():
            return


def write_output(behavior: dict[str, Any]) -> None:
    """Write what the behavior has."""
    sys.stderr.write(behavior.get("stderr", ""))
    if "spawn" in behavior:
        spawn(stubborn=behavior["spawn"] == "stubborn")
    if "answer" in behavior:
        sys.stdout.write(json.dumps(behavior["answer"]) + "\n")
    sys.stdout.write(behavior.get("raw", ""))
    for _ in range(behavior.get("megabytes", 0)):
        sys.stdout.write("x" * 2**20)
    sys.stdout.flush()


def run_behavior(behavior: dict[str, Any]) -> None:
    """Wait, hang, die or follow, as the behavior says."""
    while behavior.get("wait_for") and not (HOME / behavior["wait_for"]).exists():
        signal.sigtimedwait([signal.SIGUSR1], 0.01)
    while behavior.get("hang"):
        signal.pause()
    if "signal" in behavior:
        os.kill(os.getpid(), behavior["signal"])
    if behavior.get("follow"):
        follow()


def main() -> int:
    """Note the call, play its behavior, and return the exit code."""
    signal.alarm(LIFE_SECONDS)
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    behaviors: dict[str, Any] = json.loads((HOME / "behaviors.json").read_text("utf-8"))
    is_read = "--message-file" in sys.argv
    note(
        argv=sys.argv[1:],
        directory=os.getcwd(),
        environment=dict(os.environ),
        stdin=sys.stdin.read() if is_read else None,
        is_leader=os.getsid(0) == os.getpid(),
    )
    behavior = behaviors.get(" ".join(words[:2])) or behaviors.get(" ".join(words[:1]))
    if behavior is None:
        return 99
    if behavior.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note(stubborn=True)
    write_output(behavior)
    run_behavior(behavior)
    note(ended=True)
    return int(behavior.get("exit", 0))


sys.exit(main())
