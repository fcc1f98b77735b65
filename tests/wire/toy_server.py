"""A small server on TaskServer, run as a real process by the tests of the transports."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from copy import copy
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from task_core.bootstrap import BadSettings
from task_core.cli.main import run
from task_core.cli.program import Program
from task_core.cli.settings import StoreServerSettings
from task_core.fields import Arguments, LongText, OneLine
from task_core.server.app import TaskServer
from task_core.store import Codec
from task_core.warning_list import WarningList


class ToySettings(StoreServerSettings):
    """The settings of the toy."""

    store_variable = "toy_path"

    toy_greeting: str = Field(default="", description="A greeting; 'rude' is refused, 'slow' never ends.")


class Echo(Arguments):
    """Arguments of the tools that repeat a text."""

    text: Annotated[LongText, Field(description="Text to repeat.")]


class Repeat(Arguments):
    """Arguments of repeat."""

    text: Annotated[OneLine, Field(description="Text to repeat.")]
    times: Annotated[int, Field(ge=1, le=1_000_000, description="How often.")]


class Wait(Arguments):
    """Arguments of the tools that take time."""

    seconds: Annotated[float, Field(ge=0, description="How long.")]


class Note(Arguments):
    """Arguments of note."""

    path: Annotated[OneLine, Field(description="File to write.")]
    seconds: Annotated[float, Field(ge=0, description="How long to wait before.")]


class Said(BaseModel):
    """What a tool has to say."""

    text: str


def build(settings: ToySettings) -> TaskServer:
    """Return the toy, or refuse to."""
    if settings.toy_greeting == "rude":
        raise BadSettings("TOY_GREETING is 'rude': be polite")
    closed = threading.Event()
    if limit := os.environ.get("TOY_UNANSWERED"):
        from task_core.server.transports import stdio  # noqa: PLC0415 - it would delay the first answer

        setattr(stdio, "_MAX_UNANSWERED", int(limit))  # noqa: B010 - a constant, which a test makes small
    if settings.toy_greeting == "slow":
        print("building", file=sys.stderr, flush=True)
        closed.wait()
    server = TaskServer(
        "toy", title="Toy", version="1.2.3", instructions="Call echo.", warnings=WarningList(), close=closed.set
    )
    _add_speakers(server)
    _add_waiters(server, closed)
    return server


def _add_speakers(server: TaskServer) -> None:
    @server.tool(title="Echo", read_only=True, idempotent=True)
    def echo(arguments: Echo) -> Said:
        """Repeat a text."""
        return Said(text=arguments.text)

    @server.tool(title="Repeat", read_only=True, whole=True)
    def repeat(arguments: Repeat) -> Said:
        """Repeat a text many times over."""
        return Said(text=arguments.text * arguments.times)

    @server.tool(title="Chatter")
    def chatter(arguments: Echo) -> Said:
        """Print a text, as a careless library would."""
        print(arguments.text)
        os.write(1, arguments.text.encode())
        return Said(text=str(os.read(0, 1)))

    @server.tool(title="Crash", destructive=True)
    def crash(arguments: Echo) -> Said:
        """Fail as a fault in a tool does."""
        raise RuntimeError(arguments.text)

    @server.tool(title="Umask", read_only=True)
    def umask(arguments: Echo) -> Said:
        """Tell which permissions new files do not get."""
        mask = os.umask(0o077)
        return Said(text=f"{arguments.text}{mask:o}")


def _add_waiters(server: TaskServer, closed: threading.Event) -> None:
    begun = itertools.count()

    @server.tool(title="Wait")
    def wait(arguments: Wait) -> Said:
        """Wait as a call for a locked store does: until it is free, or the store is closed."""
        next(begun)
        return Said(text="closed" if closed.wait(arguments.seconds) else "free")

    @server.tool(title="Waiting", read_only=True)
    def waiting(arguments: Echo) -> Said:
        """Tell how many calls of wait there were before."""
        return Said(text=f"{arguments.text}{copy(begun).__next__()}")

    @server.tool(title="Note")
    def note(arguments: Note) -> Said:
        """Write a file, after a while."""
        closed.wait(arguments.seconds)
        Path(arguments.path).write_text("done", "utf-8")
        return Said(text="done")

    @server.tool(title="Hang")
    def hang(arguments: Wait) -> Said:
        """Wait for what nothing ends."""
        threading.Event().wait(arguments.seconds)
        return Said(text="over")


def _no_codec() -> Codec[Any]:
    raise NotImplementedError  # there is nothing to export


def main() -> None:
    """Serve the toy."""
    program = Program(
        "mcp-task-core",
        settings_type=lambda: ToySettings,
        build=build,
        checks=lambda _: (),
        codec=_no_codec,
        greeting=os.environ.get("TOY_GREETING_FILE", ""),
    )
    run(program)


if __name__ == "__main__":
    main()
