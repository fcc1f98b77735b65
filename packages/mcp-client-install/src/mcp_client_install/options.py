"""Options of ``install`` and ``uninstall``, and the values that they take."""

import argparse
import re
from collections.abc import Iterable
from typing import Final

from mcp_client_install.clients import CLIENTS
from mcp_client_install.edits.guide import GUIDES
from mcp_client_install.text import nearest

__all__ = ["make_own_parser", "make_parser", "suggest"]

_PAIR: Final = "NAME=VALUE"

_ACTIONS: Final = {
    "add": (
        "add a server that a command starts",
        "Add a server, which COMMAND starts, to the configuration of clients.",
    ),
    "remove": (
        "remove a server, and restore what was there before",
        "Remove a server from the configuration of clients, and restore what was there before.",
    ),
    "list": ("list the servers of each client", "List the servers that each client has."),
}
"""The actions of the own command: a line for the list of them, and a description."""


def make_parser(name: str, entry: str, action: str) -> argparse.ArgumentParser:
    """Return the parser of ``install`` or ``uninstall``, for the server ``name`` whose entry is usually ``entry``."""
    is_install = action == "install"
    parser = argparse.ArgumentParser(
        prog=f"{name} {action}",
        description="Add this server to the configuration of clients."
        if is_install
        else "Remove this server from the configuration of clients, and restore what was there before.",
        epilog=f"Clients: {', '.join(CLIENTS)}.",
    )
    which = "default: all installed clients" if is_install else "default: all, and AGENTS.md and CLAUDE.md"
    parser.add_argument("clients", nargs="*", type=_client, metavar="CLIENT", help=which)
    scope = "user" if is_install else None
    where = "for all projects of this user (default), or for this one" if is_install else "default: both"
    parser.add_argument("--scope", choices=("user", "project"), default=scope, help=where)
    parser.add_argument("--name", type=_name, default=entry, help="name of the entry (default: %(default)s)")
    parser.add_argument(
        "--agents-file",
        nargs="?",
        const="",
        type=_guide,
        metavar="|".join(GUIDES),
        help="also add a section about the server to this file of the project"
        if is_install
        else "also remove the section about the server from this file of the project, or from both if none is named",
    )
    if is_install:
        parser.add_argument(
            "--set", action="append", default=[], type=_setting, metavar=_PAIR, help="a setting; may be repeated"
        )
        parser.add_argument("--print", action="store_true", help="print the configuration without writing it")
    _add_common_options(parser)
    return parser


def make_own_parser(name: str, version: str) -> argparse.ArgumentParser:
    """Return the parser of the command ``name``, which installs any server."""
    parser = argparse.ArgumentParser(
        prog=name,
        description="Add any MCP server to the configuration of clients, and remove it again.",
        epilog=f"Clients: {', '.join(CLIENTS)}.",
    )
    parser.add_argument("--version", action="version", version=f"{name} {version}")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for action, (text, description) in _ACTIONS.items():
        usage = f"{name} add NAME [options] -- COMMAND [ARG…]" if action == "add" else None
        _add_own_options(actions.add_parser(action, usage=usage, help=text, description=description), action)
    return parser


def _add_own_options(parser: argparse.ArgumentParser, action: str) -> None:
    is_add = action == "add"
    if action != "list":
        kind = _name if is_add else str  # others may have given it any name
        parser.add_argument("name", type=kind, metavar="NAME", help="name of the server in the configuration")
        parser.set_defaults(agents_file=None)
    which = "all that are installed" if is_add else "all"
    parser.add_argument(
        "--client",
        dest="clients",
        action="append",
        default=[],
        type=_client,
        metavar="CLIENT",
        help=f"a client; may be repeated (default: {which})",
    )
    where = "for all projects of this user (default), or for this one" if is_add else "default: both"
    parser.add_argument("--scope", choices=("user", "project"), default="user" if is_add else None, help=where)
    if is_add:
        meaning = "a variable in the environment of the server; may be repeated"
        parser.add_argument("--env", dest="set", action="append", default=[], type=_pair, metavar=_PAIR, help=meaning)
        parser.add_argument("--print", action="store_true", help="print the configuration without writing it")
    if action != "list":
        _add_common_options(parser)


def _add_common_options(parser: argparse.ArgumentParser) -> None:
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


def _guide(name: str) -> str:
    if name not in {"", *GUIDES}:
        raise argparse.ArgumentTypeError(
            f"expected {' or '.join(GUIDES)}, not '{name}'; name clients before --agents-file"
        )
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


def _setting(text: str) -> tuple[str, str]:
    name, value = _pair(text)
    return name.upper(), value
