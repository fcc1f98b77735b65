"""``ctx version``: identifies this ``ctx`` for people and for programs that find one on the path (CX-87)."""

from argparse import Namespace

from cortex_cli import VERSION
from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import Parser
from cortex_cli.output import Outcome

__all__ = ["add_to"]


def add_to(parser: Parser) -> None:
    """Add what the command takes."""
    parser.set_defaults(run=_version)


def _version(_context: Context, _options: Namespace) -> Outcome:
    # The protocol is the version of the commands and answers that programs rely on.
    answer = {"success": True, "program": "cortex", "protocol": 1, "version": VERSION}
    return Outcome(answer, f"ctx {VERSION}")
