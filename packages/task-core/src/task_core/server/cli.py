"""The command line that every server shares, and the edge of its process (CLI-1 to CLI-5).

A client waits for the first answer of a process, and imports are nearly all of that: what takes long to import is
imported where it is needed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import signal
import sys
import threading
from contextlib import nullcontext, suppress
from time import monotonic
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from task_core.server.early import LOG_LEVELS, BadSettings
from task_core.server.greeting import NOTHING_HEARD, Greeting, greet_while

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from task_core.doctor import Check
    from task_core.server.app import TaskServer
    from task_core.server.settings import ServerSettings

__all__ = ["Program", "run"]

SettingsT = TypeVar("SettingsT", bound="ServerSettings")

_USAGE_ERROR: Final = 2
"""Exit code for a bad option or setting, the one that argparse has."""

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""The addresses that ``--host`` takes: what others cannot reach needs no authentication (CLI-2)."""

_MAX_PORT: Final = 65_535
"""The highest number of a TCP port; 0 lets the system choose."""

_COMMANDS: Final = ("serve", "doctor")
"""What a server can be told to do: serve, or say what is wrong with the set-up."""

_LAST_THREADS: Final = 0.1
"""Seconds that threads have to end after the server; idle ones need a few milliseconds."""


class Program(Generic[SettingsT]):
    """One server as a command, whose name is that of its distribution too.

    Its functions import what they need themselves, each no more than that. ``build`` may raise ``BadSettings``;
    ``checks`` is what ``doctor`` looks at; ``greeting`` is the file with the answers that are given while the rest
    is loading, without which there are none.
    """

    def __init__(
        self,
        name: str,
        description: str,
        *,
        settings_type: Callable[[], type[SettingsT]],
        build: Callable[[SettingsT], TaskServer],
        checks: Callable[[SettingsT], Iterable[Check]],
        greeting: Path | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.settings_type = settings_type
        self.build = build
        self.checks = checks
        self.greeting = greeting

    def version(self) -> str:
        """Return the version of the distribution."""
        from importlib.metadata import version  # noqa: PLC0415 - serving asks for no version here

        return version(self.name)


def run(program: Program[SettingsT], argv: Sequence[str] | None = None) -> None:
    """Read options and settings, build the server, and serve until the input ends or a signal comes.

    The exit code is 0 then, after SIGTERM, SIGINT and SIGHUP too. ``doctor`` prints what it finds instead, and the
    exit code is 1 when something is wrong.

    Raises:
        SystemExit: with 2 for a bad option or setting, and after everything that is no serving.
    """
    parser = _parser(program.name, program.description)
    options = parser.parse_args(argv)
    if options.help:
        parser.epilog = _environment(program.settings_type())
        parser.print_help()
        parser.exit()
    if options.version:
        sys.stdout.write(f"{program.name} {program.version()}\n")
        parser.exit()
    _prepare_process()
    if options.command == "doctor":
        parser.exit(_doctor(program))
    if options.host not in _LOOPBACK:
        parser.error(
            f"--host {options.host}: without authentication HTTP serves this machine only; use {', '.join(_LOOPBACK)}"
        )
    try:
        with suppress(KeyboardInterrupt):
            _take_signals_as_interrupts()
            _serve(program, options)
    except BadSettings as error:
        parser.exit(_USAGE_ERROR, f"{program.name}: {error}\n")
    _leave_threads_behind()


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False
    )
    what = "doctor checks the set-up and changes nothing (default: %(default)s)"
    parser.add_argument("command", nargs="?", choices=_COMMANDS, default="serve", help=what)
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="default: %(default)s")
    parser.add_argument("--host", default="127.0.0.1", help="address of this machine for HTTP (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8000, help="port for HTTP (default: %(default)s)")
    parser.add_argument("--log-level", type=str.upper, choices=LOG_LEVELS, help="takes the place of LOG_LEVEL")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("-h", "--help", action="store_true", help="show this help and exit")
    return parser


def _environment(settings_type: type[ServerSettings]) -> str:
    from task_core.server.settings import described  # noqa: PLC0415 - who serves shows no help

    lines = [f"  {name}\n      {text} ({default})" for name, text, default in described(settings_type)]
    return "\n".join(["environment variables:", *lines])


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"a number from 0 to {_MAX_PORT} was expected, not '{text}'")
    return int(text)


def _doctor(program: Program[SettingsT]) -> int:
    from task_core.server.doctor import run_doctor  # noqa: PLC0415 - who serves needs no doctor

    return run_doctor(program.name, program.version(), program.settings_type(), program.checks)


def _prepare_process() -> None:
    os.umask(0o077)
    for descriptor in range(3):
        _open_if_closed(descriptor)


def _take_signals_as_interrupts() -> None:
    # Until the transport takes over they end the process as SIGINT does; Windows lacks one of them.
    for name in {"SIGTERM", "SIGHUP"}.intersection(dir(signal)):
        signal.signal(getattr(signal, name), signal.default_int_handler)


def _open_if_closed(descriptor: int) -> None:
    """Keep the next file that is opened, the store perhaps, from becoming a standard stream."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)


def _serve(program: Program[SettingsT], options: argparse.Namespace) -> None:
    is_http = options.transport == "http"

    def load() -> TaskServer:
        return _loaded(program, options.log_level, http=is_http)

    greeting = None if is_http else _greeting(program)
    server, heard = greet_while(load, greeting) if greeting else (load(), NOTHING_HEARD)
    try:
        if is_http:
            from task_core.server.http import run_http  # noqa: PLC0415 - half a second that stdio does without

            run_http(server.sdk, server.close, options.host, options.port)
        else:
            from task_core.server.stdio import run_stdio  # noqa: PLC0415 - it imports the SDK

            run_stdio(server.sdk, server.close, heard)
    finally:
        server.end()


def _greeting(program: Program[SettingsT]) -> Greeting | None:
    """Return the greeting where the settings are beyond doubt: who greets must be able to serve (CLI-3).

    Values are that match the pattern of their setting, and for the file an absolute path in a folder that exists.
    """
    if program.greeting is None:
        return None
    description = json.loads(program.greeting.read_bytes())
    given = {name.upper(): value for name, value in os.environ.items() if value}
    patterns = {name: pattern for name, pattern in description["settings"].items() if name in given}
    is_plain = all(_is_plain(given[name], pattern) for name, pattern in patterns.items())
    return Greeting(description) if is_plain and patterns.keys() >= set(description["required_settings"]) else None


def _is_plain(value: str, pattern: str | None) -> bool:
    return _is_in_a_folder(value) if pattern is None else re.fullmatch(pattern, value) is not None


def _is_in_a_folder(path: str) -> bool:
    folder, name = os.path.split(path)
    return bool(name) and os.path.isabs(path) and os.path.isdir(folder)  # noqa: PTH112, PTH117 - these never raise


def _loaded(program: Program[SettingsT], log_level: str | None, *, http: bool) -> TaskServer:
    # Imports make many objects and hardly any garbage: looking for it costs a tenth of a second at every start.
    gc.disable()
    try:
        from task_core.server.postponed import postpone, without  # noqa: PLC0415 - after the greeting has begun
        from task_core.server.settings import load_settings  # noqa: PLC0415 - it imports pydantic

        settings = load_settings(program.settings_type())
        _log_to_stderr(log_level or settings.log_level)
        for package in ("mcp", "mcp.server"):
            postpone(package)
        # One of the SDK's libraries imports it for the case that it is what serves HTTP.
        with nullcontext() if http else without("uvicorn"):
            return program.build(settings)
    finally:
        gc.freeze()
        gc.enable()


def _log_to_stderr(level: str) -> None:
    import logging  # noqa: PLC0415 - the first answer waits for no logging

    logging.basicConfig(stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def _leave_threads_behind() -> None:
    """End the process at once when a call that was given up still hangs: the interpreter would wait for it (P3)."""
    deadline = monotonic() + _LAST_THREADS
    with suppress(KeyboardInterrupt):
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - monotonic()))
    if threading.active_count() > 1:
        import logging  # noqa: PLC0415 - the first answer waits for no logging

        logging.shutdown()
        os._exit(0)
