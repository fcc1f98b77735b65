"""The command ``ctx``."""

import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import FrameType
from typing import Final, NoReturn

from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import CommandGroup, Parser
from cortex_cli.errors import USAGE, CortexError, InvalidUsage, cancelled
from cortex_cli.output import write_failure, write_json, write_outcome

__all__ = ["GROUPS", "main", "run"]

GROUPS: Final = {
    "auth": ("auth", "log in and out"),
    "tasks": ("tasks", "see, create, change, start, submit and finish tasks"),
    "projects": ("projects", "see, create and change projects"),
    "members": ("members", "invite people to a project, and accept invitations"),
    "events": ("events", "show what happened to tasks"),
    "config": ("settings", "see and change settings"),
    "doctor": ("doctor", "check the set-up without changing anything"),
    "version": ("version", "show the version"),
}
"""The groups of commands, each with its module and its purpose."""


class _Terminated(BaseException):
    """SIGTERM arrived: unwinding takes back what the command began."""


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated


def _parser_for(arguments: Sequence[str]) -> Parser:
    """Return the parser, with the commands of the one group that is called: the others cost time (CX-97)."""
    parser = Parser("ctx", "The tasks of your team, with their branches and pull requests.")
    commands = CommandGroup(parser)
    wanted = next((argument for argument in arguments if not argument.startswith("-")), "")
    for name, (module, purpose) in GROUPS.items():
        group = commands.add(name, purpose)
        if name == wanted:
            import_module(f"cortex_cli.commands.{module}").add_to(group)
    return parser


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run one command, write its answer, and return its exit code (CX-51, CX-54)."""
    is_json = "--json" in arguments[: arguments.index("--")] if "--" in arguments else "--json" in arguments
    warnings: list[str] = []
    try:
        options = _parser_for(arguments).parse_args(arguments)
        context = Context(environment, sys.stdin, sys.stdout, sys.stderr, is_json=is_json)
        warnings = context.warnings
        outcome = options.run(context, options)
    except CortexError as error:
        return _fail(error, warnings, is_json=is_json)
    except UnicodeError:
        error = InvalidUsage("An argument or the input is not UTF-8. Correct it, then call again.")
        return _fail(error, warnings, is_json=is_json)
    except KeyboardInterrupt:
        return _fail(cancelled(128 + signal.SIGINT), warnings, is_json=is_json)
    except _Terminated:
        return _fail(cancelled(128 + signal.SIGTERM), warnings, is_json=is_json)
    if is_json:
        write_json({**outcome.answer, **({"warnings": warnings} if warnings else {})}, sys.stdout)
    else:
        write_outcome(outcome, warnings, sys.stdout, sys.stderr)
    return 0


def _fail(error: CortexError, warnings: Sequence[str], *, is_json: bool) -> int:
    if is_json:
        answer = {"success": False, "error": error.message, "code": error.code, "details": error.details}
        write_json({**answer, **({"warnings": warnings} if warnings else {})}, sys.stdout)
    else:
        write_failure(error, warnings, sys.stderr)
    return error.exit_code


def main() -> NoReturn:
    """Run the command line of this process, then end it."""
    signal.signal(signal.SIGTERM, _terminate)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started this closed it
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # so that every title can be written
    try:
        code = run(sys.argv[1:], os.environ)
    except OSError as error:  # stdout is closed or full; Python would try again at exit, and fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + 13  # as SIGPIPE ends other programs
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"ctx: The answer cannot be written: {error.strerror}.\n")
            code = USAGE
    sys.exit(code)


if __name__ == "__main__":
    main()
