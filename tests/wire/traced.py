"""A server and its client in one process, to see which of our modules a call that creates a task passes through.

``python -m tests.wire.traced PACKAGE FOLDER`` serves on stdio, keeps its files in FOLDER, and prints the steps of the
call. Every thread counts, and only functions that run do: the code that an import runs does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import FrameType

from tests.packaging.projects import ROOT
from tests.servers import ServerRecord, record_of
from tests.wire.line_client import INITIALIZE, Message

__all__ = ["Step", "traced"]

Step = list[str]
"""A call of another module: the modules on the way to it, outermost first."""


@cache
def traced(package: str) -> list[Step]:
    """Return the steps of a call that creates a task, in a process that has created others."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.wire.traced", package, folder]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=300, cwd=ROOT)
        steps: list[Step] = json.loads(done.stdout)
        return steps


class _Recorder:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.is_on = False

    def begin(self) -> None:
        """Record the calls of all threads from now on: to have profiled the imports too would take most of the time."""
        self.is_on = True
        if sys.version_info >= (3, 12):  # older ones can profile no thread that has begun
            threading.setprofile_all_threads(self.profile)

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if self.is_on and event == "call" and _module_of(frame.f_code.co_filename):
            way = [*_way_to(frame)][::-1]
            modules = [module for module, _ in way]
            is_within_module = modules[-1:] == modules[-2:-1]
            if not (is_within_module or any(function == "<module>" for _, function in way)):
                self.steps.append([module for module, _ in groupby(modules)])


def _way_to(frame: FrameType | None) -> Iterator[tuple[str, str]]:
    """Yield the modules on the way to a call, innermost first, each with its function."""
    while frame:
        if module := _module_of(frame.f_code.co_filename):
            yield module, frame.f_code.co_qualname
        frame = frame.f_back


@cache
def _module_of(file: str) -> str:
    """Return the name of our module in ``file``, or nothing if it is not ours."""
    head, _, name = file.rpartition("/src/")
    is_ours = "/packages/" in head and name.endswith(".py")
    return name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") if is_ours else ""


def _talk(record: ServerRecord, recorder: _Recorder, to_server: int, from_server: int) -> None:
    def send(method: str, params: Message, **request_id: int) -> None:
        message = {"jsonrpc": "2.0", **request_id, "method": method, "params": params}
        os.write(to_server, json.dumps(message).encode() + b"\n")

    with os.fdopen(from_server) as answers:
        send("initialize", INITIALIZE, id=0)
        answers.readline()
        send("notifications/initialized", {})
        for number in (1, 2, 3):  # the first ones load what is loaded late
            if number == 3:
                recorder.begin()
            send("tools/call", {"name": record.create, "arguments": {record.text: "Rest"}}, id=number)
            if '"isError":true' in (answer := answers.readline()):
                raise ValueError(answer)
        recorder.is_on = False
        os.close(to_server)


def main(package: str, folder: str) -> None:
    """Serve, with a thread as the client, and print the steps."""
    record = record_of(package)
    os.environ |= record.environment(Path(folder))
    sys.argv[1:] = []
    stdout, (source, to_server), (from_server, sink) = os.dup(1), os.pipe(), os.pipe()
    os.dup2(source, 0)
    os.dup2(sink, 1)
    run = import_module(f"{package}.__main__").main
    recorder = _Recorder()
    if sys.version_info < (3, 12):
        threading.setprofile(recorder.profile)
        sys.setprofile(recorder.profile)
    threading.Thread(target=_talk, args=(record, recorder, to_server, from_server), daemon=True).start()
    vars(os)["_exit"] = sys.exit  # else an idle thread would take the trace with it
    try:
        run()
    finally:
        sys.setprofile(None)
        os.write(stdout, json.dumps(recorder.steps).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
