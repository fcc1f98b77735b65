"""The command line: parsers that raise our errors, and import nothing that only a terminal needs (CX-50, CX-97)."""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, HelpFormatter, Namespace
from collections.abc import Callable
from functools import partial
from typing import Final, NoReturn

from cortex_cli.commands.context import Context
from cortex_cli.errors import InvalidUsage, echo
from cortex_cli.models import MAX_ID
from cortex_cli.output import Outcome

__all__ = ["Action", "CommandGroup", "Parser", "positive_id"]

Action = Callable[[Context, Namespace], Outcome]
"""The function of a command."""

_WIDTH: Final = 100
"""Columns of help: asking the terminal would import shutil."""


class Parser(ArgumentParser):
    """A parser of ``ctx``; options cannot be abbreviated, so that a new one never changes what an old line means."""

    def __init__(self, prog: str, description: str) -> None:
        form = partial(HelpFormatter, width=_WIDTH, max_help_position=32)
        super().__init__(prog=prog, description=description, formatter_class=form, allow_abbrev=False)
        self.add_argument("--json", action="store_true", default=SUPPRESS, help="answer with one line of JSON")

    # The decorator for it is in typing since Python 3.12 only, and typing_extensions is too slow (CX-97).
    # pyrefly: ignore[missing-override-decorator]
    def error(self, message: str) -> NoReturn:
        """Raise ``InvalidUsage``; argparse calls this when the command line is wrong."""
        raise InvalidUsage(f"{echo(message[:1].upper() + message[1:])}. See '{self.prog} --help'.")


class CommandGroup:
    """The commands below a parser."""

    def __init__(self, parser: Parser) -> None:
        self._parsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog=parser.prog)

    def add(self, name: str, purpose: str) -> Parser:
        """Add a command and return its parser; ``purpose`` is one sentence without a period."""
        return self._parsers.add_parser(name, help=purpose, description=f"{purpose[:1].upper()}{purpose[1:]}.")

    def add_action(self, name: str, purpose: str, run: Action) -> Parser:
        """Add a command that ``run`` does, and return its parser."""
        parser = self.add(name, purpose)
        parser.set_defaults(run=run)
        return parser


def positive_id(text: str) -> int:
    """Return an id, an integer from 1 to 2147483647; raise ``ArgumentTypeError`` if ``text`` is not one."""
    if text.isascii() and text.isdecimal() and 0 < int(text[:11]) <= MAX_ID:
        return int(text)
    raise ArgumentTypeError("give the number of a task, a project or a user")
