"""Options of ``install`` and ``uninstall``, and the values that they take."""

import argparse
import re
from collections.abc import Iterable
from typing import Final

from mcp_client_install.clients import CLIENTS
from mcp_client_install.edits.guide import GUIDES
from mcp_client_install.text import nearest

__all__ = ["add_common_options", "make_parser", "parse_client", "parse_name", "parse_pair", "suggest"]

_PAIR: Final = "NAME=VALUE"


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
    parser.add_argument("clients", nargs="*", type=parse_client, metavar="CLIENT", help=which)
    scope = "user" if is_install else None
    where = "for all projects of this user (default), or for this one" if is_install else "default: both"
    parser.add_argument("--scope", choices=("user", "project"), default=scope, help=where)
    parser.add_argument("--name", type=parse_name, default=entry, help="name of the entry (default: %(default)s)")
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
            "--set", action="append", default=[], type=_parse_setting, metavar=_PAIR, help="a setting; may be repeated"
        )
        parser.add_argument("--print", action="store_true", help="print the configuration without writing it")
    add_common_options(parser)
    return parser


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that changes files."""
    parser.add_argument("--dry-run", action="store_true", help="show the changes without making them")
    parser.add_argument("--yes", "-y", action="store_true", help="take the defaults without asking")


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown ``name``: those that are near, or else all."""
    near = nearest(name, known)
    return f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(known)}"


def parse_client(name: str) -> str:
    """Return ``name`` if a client has it.

    Raises:
        ArgumentTypeError: there is no such client.
    """
    if name not in CLIENTS:
        raise argparse.ArgumentTypeError(f"there is no client '{name}'; {suggest(name, CLIENTS)}")
    return name


def _guide(name: str) -> str:
    if name not in {"", *GUIDES}:
        raise argparse.ArgumentTypeError(
            f"expected {' or '.join(GUIDES)}, not '{name}'; name clients before --agents-file"
        )
    return name


def parse_name(name: str) -> str:
    """Return ``name`` if every client takes it for the name of a server.

    Raises:
        ArgumentTypeError: it is too long, or has other characters.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise argparse.ArgumentTypeError(f"expected letters, digits, - and _, at most 40, not '{name}'")
    return name


def parse_pair(text: str) -> tuple[str, str]:
    """Return the name and the value of a variable.

    Raises:
        ArgumentTypeError: there is no value.
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"expected {_PAIR}, not '{text}'")
    return name, value


def _parse_setting(text: str) -> tuple[str, str]:
    name, value = parse_pair(text)
    return name.upper(), value
