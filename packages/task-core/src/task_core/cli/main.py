"""The command line that every server shares, and the edge of its process (CLI-1 to CLI-5).

A client waits for the first answer, and imports are nearly all of that time: what is slow is imported where needed.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from task_core.bootstrap import (
    LOG_LEVELS,
    BadSettings,
    Interrupt,
    advise_installing,
    find_parent,
    find_plugin,
    log_to_stderr,
)
from task_core.cli.program import COMMANDS, WRITE_COMMANDS, Program, run_with_options
from task_core.server.transports.greeting import NOTHING_HEARD, GreetingFile, answer_while_loading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from task_core.server.app import TaskServer

__all__ = ["postpone", "run"]

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""The addresses that ``--host`` accepts: other machines cannot reach them, so they need no authentication (CLI-2)."""


def run(program: Program, argv: Sequence[str] | None = None) -> None:
    """Read options and settings, build the server, and serve until the input ends or a signal comes, with exit code 0.

    Raises:
        SystemExit: with 2 for a bad option or setting, 1 if ``doctor`` finds a fault or a command fails, else 0.
    """
    words = [*(sys.argv[1:] if argv is None else argv)]
    optioned, stored = program.commands, ("restore", "migrate") if program.has_database else ("restore",)
    commands = ["serve", "doctor", *(stored if program.codec else ()), *optioned]
    parser = _parser(program.name, commands)
    options = parser.parse_args(words[:1] if {*optioned}.intersection(words[:1]) else words)
    if options.help or options.version:
        sys.stdout.write(_help(program, commands) if options.help else f"{program.name} {program.version()}\n")
        parser.exit()
    _prepare_process()
    if options.command == "doctor":
        from task_core.cli.doctor import run_doctor  # noqa: PLC0415 - serving does not need it

        parser.exit(run_doctor(program, program.version(), options.client))
    if options.command == "serve" and (options.file is not None or options.client):
        parser.error(f"serve takes neither a file nor a client: {options.file or options.client}")
    has_issuer = any(value and name.upper() == "TASK_AUTH_ISSUER" for name, value in os.environ.items())
    options.is_hosted = options.transport == "http" and has_issuer
    if options.host not in _LOOPBACK and not options.is_hosted:
        parser.error(
            f"--host {options.host}: without authentication HTTP serves this machine only; use {', '.join(_LOOPBACK)}, "
            "or set TASK_AUTH_ISSUER, TASK_PUBLIC_URL and TASK_ALLOWED_HOSTS"
        )
    try:
        with suppress(KeyboardInterrupt):
            if options.command in optioned:
                _take_signals_as_interrupts()
                gc.disable()  # as below
                parser.exit(run_with_options(program, options.command, words))
            if options.command != "serve":
                parser.exit(_run_command(program, options))
            _take_signals_as_interrupts()
            _serve(program, options)
    except BadSettings as error:
        parser.exit(2, f"{program.name}: {error}\n")
    _leave_threads_behind()


def _parser(name: str, commands: Sequence[str]) -> argparse.ArgumentParser:
    formatter, usage = argparse.RawTextHelpFormatter, "%(prog)s [COMMAND] [OPTIONS]"
    parser = argparse.ArgumentParser(name, usage, formatter_class=formatter, add_help=False)
    what = "\n".join(f"{command:9}  {text}" for command, text in COMMANDS.items() if command in commands)
    what += f"\nEach command before doctor has a help of its own: {name} install --help"
    parser.add_argument("command", nargs="?", choices=commands, metavar="COMMAND", default="serve", help=what)
    takes = [word for command, word in (("restore", "FILE"), ("migrate", "ROLE")) if command in commands]
    takes_help = "what the command takes, if anything" if takes else argparse.SUPPRESS
    parser.add_argument("file", nargs="?", metavar="|".join(takes), help=takes_help)
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="default: %(default)s")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve HTTP on (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8000, help="port to serve HTTP on (default: %(default)s)")
    parser.add_argument("--log-level", type=str.upper, choices=LOG_LEVELS, help="override LOG_LEVEL")
    if "restore" in commands:
        meaning = "the client whose list a command uses; doctor shows those that have the server"
        parser.add_argument("--client", default="", help=meaning)
    parser.set_defaults(client="")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("-h", "--help", action="store_true", help="show this help and exit")
    return parser


def _help(program: Program, commands: Sequence[str]) -> str:
    from task_core.cli.settings import describe_environment  # noqa: PLC0415 - serving does not need it

    if program.actions:
        from task_core.cli.write_commands import find_commands  # noqa: PLC0415 - serving does not need it

        known = find_commands(program.actions())
        commands = [command for command in commands if command not in WRITE_COMMANDS or command in known]
    parser = _parser(program.name, commands)
    parser.description = program.description()
    parser.epilog = describe_environment(program.settings_type())
    return parser.format_help()


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 65535, not '{text}'")
    return int(text)


def _run_command(program: Program, options: argparse.Namespace) -> int:
    from task_core.cli.chosen_list import choose_list  # noqa: PLC0415 - it imports pydantic
    from task_core.cli.commands import run_store_command  # noqa: PLC0415 - serving does not need it

    return run_store_command(
        program, choose_list(program, options.client).announce().settings, options.command, options.file
    )


def _prepare_process() -> None:
    os.umask(0o077)
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # pragma: no cover - only a process of its own lacks one: tests/wire/test_stdio_life.py
            os.open(os.devnull, os.O_RDWR)  # else the next file, perhaps the store, becomes a standard stream
    # The replacement of a missing stream is never closed, and importing ``pathlib`` for it would take time.
    sys.stdout, sys.stderr = (it or open(os.devnull, "w") for it in (sys.stdout, sys.stderr))  # noqa: SIM115, PTH123


def _take_signals_as_interrupts() -> None:
    # Until the transport takes over, they end the process as SIGINT does; Windows lacks one of them.
    interrupt = Interrupt()
    for name in {"SIGTERM", "SIGHUP"}.intersection(dir(signal)):
        signal.signal(getattr(signal, name), interrupt)


def _serve(program: Program, options: argparse.Namespace) -> None:
    if options.is_hosted:  # pragma: no cover - only in a process of its own: tests/hosted/test_processes.py
        _serve_hosted(program, options)
        return
    is_http, parent, load = options.transport == "http", find_parent(), partial(_load_server, program, options)
    first = GreetingFile(program.greeting, os.environ)
    greeting = None if is_http else first.greeting()
    try:
        server, heard = answer_while_loading(load, greeting) if greeting else (load(), NOTHING_HEARD)
    except BadSettings:
        first.reject()
        raise
    first.accept()
    try:
        if is_http:
            from task_core.server.transports.asgi import run_http  # noqa: PLC0415 - it takes half a second

            run_http(server, options.host, options.port)
        else:
            from task_core.server.transports.stdio import run_stdio  # noqa: PLC0415 - it imports the SDK

            run_stdio(server, heard, parent)
    finally:
        server.end()


def _serve_hosted(program: Program, options: argparse.Namespace) -> None:
    """Serve one server for each tenant, by another distribution, until a signal comes (HO-1)."""
    if program.codec is None or not program.has_database:
        raise BadSettings(f"TASK_AUTH_ISSUER is set, but {program.name} works on the files of one user: leave it out.")
    service: Any = find_plugin("service")
    if service is None:
        advice = advise_installing(program.distribution or program.name)
        raise BadSettings(f"TASK_AUTH_ISSUER is set, but the service for many users is not installed: {advice}")
    service.serve_hosted(program, options.log_level, options.host, options.port)


def _load_server(program: Program, options: argparse.Namespace) -> TaskServer:
    # Imports create many objects and hardly any garbage: looking for it costs a tenth of a second at every start.
    gc.disable()
    try:
        from task_core.cli.settings import load_settings  # noqa: PLC0415 - it imports pydantic

        settings = load_settings(program.settings_type(), has_client=options.transport == "stdio")
        log_to_stderr(options.log_level or settings.log_level)
        for package in ("mcp", "mcp.server"):
            postpone(package)
        server = program.build(settings)
        if options.transport == "stdio" and os.isatty(0):  # pragma: no cover - tests/wire/test_stdio_life.py
            sys.stderr.write(
                f"{program.name} is waiting for an MCP client to write to stdin. Press Ctrl+C to end it.\n"
            )
        return server
    finally:
        gc.freeze()
        gc.enable()


def postpone(package: str) -> None:
    """Delay executing ``package`` until a name in it, other than one of its imported modules, is first looked up.

    The SDK's own imports are a quarter of all modules, and a server on stdio uses none of them. A package that is
    already imported stays as it is. Its parent must be imported or postponed before.
    """
    from importlib.util import find_spec, module_from_spec  # noqa: PLC0415 - after the greeting has begun

    if package in sys.modules:
        return
    spec: Any = find_spec(package)
    module = module_from_spec(spec)

    def run_first(name: str) -> object:
        del vars(module)["__getattr__"]
        spec.loader.exec_module(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = run_first
    sys.modules[package] = module


def _leave_threads_behind() -> None:
    """End the process at once if an abandoned call still hangs: the interpreter would wait for it (P3)."""
    deadline = monotonic() + 0.1  # idle ones need a few milliseconds
    awaited = [it for it in threading.enumerate() if not (it.daemon or it is threading.current_thread())]
    with suppress(KeyboardInterrupt):
        for thread in awaited:
            thread.join(max(0.0, deadline - monotonic()))
    if any(thread.is_alive() for thread in awaited):
        import logging  # noqa: PLC0415 - it would delay the first answer

        logging.shutdown()
        os._exit(0)
