"""Options of ``install`` and ``uninstall``, and the values that they take."""

import argparse
import re
from collections.abc import Iterable
from typing import Final

from mcp_client_install.clients import CLIENTS
from mcp_client_install.edits.documents import GUIDES
from mcp_client_install.registration import Registration
from mcp_client_install.text import nearest

__all__ = ["make_own_parser", "make_parser", "suggest"]

_PAIR: Final = "NAME=VALUE"
_EPILOG: Final = f"Clients: {', '.join(CLIENTS)}."

_ACTIONS: Final = {
    "add": "Add a server, which COMMAND starts, to the configuration of clients.",
    "remove": "Remove a server from the configuration of clients, and restore what was there before.",
    "list": "List the servers that each client has.",
}
"""The actions of the own command."""


def make_parser(registration: Registration, action: str) -> argparse.ArgumentParser:
    """Return the parser of ``install`` or ``uninstall`` for a server."""
    is_install = action == "install"
    verb = "Add this server to" if is_install else "Remove this server from"
    description = f"{verb} the configuration of clients."
    parser = argparse.ArgumentParser(prog=f"{registration.command} {action}", description=description, epilog=_EPILOG)
    which = "default: all installed clients" if is_install else "default: all, and AGENTS.md and CLAUDE.md"
    parser.add_argument("clients", nargs="*", type=_client, metavar="CLIENT", help=which)
    parser.add_argument(
        "--name", type=_name, default=registration.entry, help="name of the entry (default: %(default)s)"
    )
    meaning = "also add a section about the server to this file of the project"
    if not is_install:
        meaning = "also remove the section about the server from this file of the project; without a name, from both"
    files = "|".join(GUIDES)
    parser.add_argument("--agents-file", nargs="?", const="", choices=("", *GUIDES), metavar=files, help=meaning)
    if is_install:
        meaning = "a setting; may be repeated"
        parser.add_argument("--set", action="append", default=[], type=_pair, metavar=_PAIR, help=meaning)
        extras, meaning = registration.extras, argparse.SUPPRESS
        if extras:
            meaning = f"{extras.question} Yes: also let clients run this server's command at the start of each session"
        parser.add_argument("--agents", action="store_true", help=meaning)
        if registration.commands():
            meaning = "only write a section about this server's commands, for agents without MCP, into that file"
            parser.add_argument("--commands", action="store_true", help=meaning)
        parser.set_defaults(commands=False)
    _add_common_options(parser, is_add=is_install)
    return parser


def make_own_parser(name: str, version: str) -> argparse.ArgumentParser:
    """Return the parser of the command ``name``, which installs any server."""
    description = "Add any MCP server to the configuration of clients, and remove it again."
    parser = argparse.ArgumentParser(prog=name, description=description, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"{name} {version}")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, text in _ACTIONS.items():
        is_add = action == "add"
        usage = f"{name} add NAME [options] -- COMMAND [ARG…]" if is_add else None
        own = actions.add_parser(action, usage=usage, help=text, description=text)
        if action != "list":
            kind = _name if is_add else str  # others may have given it any name
            own.add_argument("name", type=kind, metavar="NAME", help="name of the server in the configuration")
            own.set_defaults(agents_file=None, agents=False, commands=False)
        meaning = f"a client; may be repeated (default: {'all that are installed' if is_add else 'all'})"
        client = {"dest": "clients", "action": "append", "default": [], "type": _client, "metavar": "CLIENT"}
        own.add_argument("--client", **client, help=meaning)
        if is_add:
            meaning = "a variable in the environment of the server; may be repeated"
            own.add_argument("--env", dest="set", action="append", default=[], type=_pair, metavar=_PAIR, help=meaning)
        _add_common_options(own, is_add=is_add, makes_changes=action != "list")
    return parser


def _add_common_options(parser: argparse.ArgumentParser, *, is_add: bool, makes_changes: bool = True) -> None:
    where = "for all projects of this user (default unless asked), or for this one" if is_add else "default: both"
    parser.add_argument("--scope", choices=("user", "project"), help=where)
    if is_add:
        parser.add_argument("--print", action="store_true", help="print the configuration without writing it")
    if makes_changes:
        parser.add_argument("--dry-run", action="store_true", help="show the changes without making them")
        parser.add_argument("--yes", "-y", action="store_true", help="take the defaults without asking")


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown ``name``: those that are near, or else all."""
    near = nearest(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(known)}"


def _client(name: str) -> str:
    if name not in CLIENTS:
        raise argparse.ArgumentTypeError(f"there is no client '{name}'; {suggest(name, CLIENTS)}")
    return name


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise argparse.ArgumentTypeError(f"expected letters, digits, - and _, at most 40, not '{name}'")
    return name


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected {_PAIR}, not '{text}'")
    return name, value
