"""A server and its client in one process, to see which of our modules a call passes through.

``python -m tests.wire.traced PACKAGE FOLDER`` serves on stdio, keeps its files in FOLDER, and prints a ``Trace``. Every
thread counts, and only functions that run do: what an import runs does not.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import FrameType
from typing import Final

from tests.packaging.projects import ROOT
from tests.servers import ServerRecord, record_of
from tests.wire.line_client import INITIALIZE, Message

__all__ = ["DISK", "Step", "Trace", "traced"]

DISK: Final = "disk"
"""The module of a call to the operating system."""

_SYSTEM_CALLS: Final[dict[object, str]] = {
    call: call.__name__
    for call in (os.open, os.stat, os.write, os.fsync, os.rename, os.replace, os.link, os.unlink, fcntl.flock)
}

Step = list[tuple[str, str]]
"""A call of another module: the modules on the way to it, outermost first, each with the function that was called."""

Trace = dict[str, list[Step]]
"""The steps of ``start`` (to the first answer of a tool), ``create``, ``look`` (after an edit by hand) and ``end``."""


@cache
def traced(package: str) -> Trace:
    """Return what the package's server does in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.wire.traced", package, folder]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=300, cwd=ROOT)
        trace: Trace = json.loads(done.stdout)
        return trace


class _Recorder:
    def __init__(self) -> None:
        self.trace: Trace = {}
        self.begin("start")

    def begin(self, name: str) -> None:
        self._steps = self.trace.setdefault(name, [])

    def profile(self, frame: FrameType, event: str, called: object) -> None:
        if event == "call" and _module_of(frame.f_code.co_filename):
            self._add(_way_to(frame))
        elif event == "c_call" and (name := _SYSTEM_CALLS.get(called)) and (way := _way_to(frame)):
            self._add([*way, (DISK, name)])

    def _add(self, way: Step) -> None:
        step = [next(same) for _, same in groupby(way, itemgetter(0))]
        is_within_module = step[-1] != way[-1]
        if not (is_within_module or any(function == "<module>" for _, function in way)):
            self._steps.append(step)


def _way_to(frame: FrameType | None) -> Step:
    way: Step = []
    while frame:
        if module := _module_of(frame.f_code.co_filename):
            way.insert(0, (module, frame.f_code.co_qualname))
        frame = frame.f_back
    return way


@cache
def _module_of(file: str) -> str:
    """Return the name of our module in ``file``, or nothing if it is not ours."""
    head, _, name = file.rpartition("/src/")
    is_ours = "/packages/" in head and name.endswith(".py")
    return name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") if is_ours else ""


def _talk(record: ServerRecord, file: Path, recorder: _Recorder, to_server: int, from_server: int) -> None:
    def send(method: str, params: Message, **request_id: int) -> None:
        message = {"jsonrpc": "2.0", **request_id, "method": method, "params": params}
        os.write(to_server, json.dumps(message).encode() + b"\n")

    with os.fdopen(from_server) as answers:
        send("initialize", INITIALIZE, id=0)
        answers.readline()
        send("notifications/initialized", {})
        for number, name in enumerate(("start", "warm", "create", "look"), 1):
            if name == "look" and file.suffix == ".md":
                file.write_text(file.read_text("utf-8").replace("\n", "\n- Feed the cat\n", 1), "utf-8")
                os.utime(file, (time.time() - 60,) * 2)  # a minute ago: nobody is writing it any more
            recorder.begin(name)
            is_list = name in {"start", "look"}
            tool = record.list if is_list else record.create
            arguments: dict[str, str] = {record.text: "Rest"} if tool == record.create else {}
            send("tools/call", {"name": tool, "arguments": arguments}, id=number)
            if '"isError":true' in (answer := answers.readline()):
                raise ValueError(answer)
        recorder.begin("end")
        os.close(to_server)


def main(package: str, folder: str) -> None:
    """Serve, with a thread as the client, and print the trace."""
    record = record_of(package)
    file = Path(folder) / record.file
    os.environ |= record.environment(Path(folder))
    sys.argv[1:] = []
    stdout, (source, to_server), (from_server, sink) = os.dup(1), os.pipe(), os.pipe()
    os.dup2(source, 0)
    os.dup2(sink, 1)
    run = import_module(f"{package}.__main__").main
    recorder = _Recorder()
    threading.setprofile(recorder.profile)
    threading.Thread(target=_talk, args=(record, file, recorder, to_server, from_server), daemon=True).start()
    vars(os)["_exit"] = sys.exit  # else an idle thread would take the trace with it
    sys.setprofile(recorder.profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        os.write(stdout, json.dumps(recorder.trace).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
