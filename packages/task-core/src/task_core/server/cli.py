"""The command line that every server shares, and the edge of its process (CLI-1 to CLI-5)."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from task_core.server.settings import LOG_LEVELS, BadSettings, ServerSettings, described, load_settings

if TYPE_CHECKING:
    from task_core.server.app import TaskServer

__all__ = ["run"]

SettingsT = TypeVar("SettingsT", bound=ServerSettings)

_USAGE_ERROR: Final = 2
"""Exit code for a bad option or setting, the one that argparse has."""

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""The addresses that ``--host`` takes: what others cannot reach needs no authentication (CLI-2)."""

_MAX_PORT: Final = 65_535
"""The highest number of a TCP port; 0 lets the system choose."""

_LAST_THREADS: Final = 0.1
"""Seconds that threads have to end after the server; idle ones need a few milliseconds."""


def run(
    name: str,
    version: str,
    description: str,
    settings_type: type[SettingsT],
    build: Callable[[SettingsT], TaskServer],
    argv: Sequence[str] | None = None,
) -> None:
    """Read options and settings, build the server, and serve until the input ends or a signal comes.

    The exit code is 0 then, after SIGTERM, SIGINT and SIGHUP too. ``build`` imports what is heavy itself, so that
    ``--help``, ``--version`` and a refused setting answer at once; it may raise ``BadSettings``.

    Raises:
        SystemExit: with 2 for a bad option or setting, with 0 after ``--help`` and ``--version``.
    """
    parser = _parser(name, version, description, settings_type)
    options = parser.parse_args(argv)
    if options.host not in _LOOPBACK:
        parser.error(
            f"--host {options.host}: without authentication HTTP serves this machine only; use {', '.join(_LOOPBACK)}"
        )
    try:
        settings = load_settings(settings_type)
        _prepare_process(options.log_level or settings.log_level)
        _serve(_built(build, settings), options)
    except BadSettings as error:
        parser.exit(_USAGE_ERROR, f"{name}: {error}\n")
    except KeyboardInterrupt:
        parser.exit()
    _leave_threads_behind()


def _parser(name: str, version: str, description: str, settings_type: type[ServerSettings]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name,
        description=description,
        epilog=_environment(settings_type),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="default: %(default)s")
    parser.add_argument("--host", default="127.0.0.1", help="address for HTTP, of this machine (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8000, help="port for HTTP (default: %(default)s)")
    parser.add_argument("--log-level", type=str.upper, choices=LOG_LEVELS, help="takes the place of LOG_LEVEL")
    parser.add_argument("--version", action="version", version=f"{name} {version}")
    return parser


def _environment(settings_type: type[ServerSettings]) -> str:
    lines = [f"  {name}\n      {text} ({default})" for name, text, default in described(settings_type)]
    return "\n".join(["environment variables:", *lines])


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise argparse.ArgumentTypeError(f"a number from 0 to {_MAX_PORT} was expected, not '{text}'")
    return int(text)


def _prepare_process(log_level: str) -> None:
    os.umask(0o077)
    for descriptor in range(3):
        _open_if_closed(descriptor)
    logging.basicConfig(stream=sys.stderr, level=log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def _open_if_closed(descriptor: int) -> None:
    """Keep the next file that is opened, the store perhaps, from becoming a standard stream."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)


def _built(build: Callable[[SettingsT], TaskServer], settings: SettingsT) -> TaskServer:
    # Imports make many objects and hardly any garbage: looking for it costs a tenth of a second at every start.
    gc.disable()
    try:
        return build(settings)
    finally:
        gc.freeze()
        gc.enable()


def _serve(server: TaskServer, options: argparse.Namespace) -> None:
    if options.transport == "http":
        from task_core.server.http import run_http  # noqa: PLC0415 - half a second that stdio does without

        run_http(server.sdk, server.close, options.host, options.port)
    else:
        from task_core.server.stdio import run_stdio  # noqa: PLC0415 - not before --help and --version are answered

        run_stdio(server.sdk, server.close)


def _leave_threads_behind() -> None:
    """End the process at once when a call that was given up still hangs: the interpreter would wait for it (P3)."""
    deadline = monotonic() + _LAST_THREADS
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - monotonic()))
    if threading.active_count() > 1:
        logging.shutdown()
        os._exit(0)
