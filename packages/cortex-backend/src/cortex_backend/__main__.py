"""The command ``cortex-backend``: serve, migrate, and the accounts of users (CX-36)."""

import argparse
import getpass
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Final

from cortex_backend.clock import utc_now
from cortex_backend.database import CortexDatabase, DatabaseRefused, open_database
from cortex_backend.problems import Problem
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import AccountRefused, Accounts
from cortex_backend.settings import BackendSettings, SettingsError, describe_settings, load_settings

__all__ = ["main"]

_NAME: Final = "cortex-backend"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command that ``argv``, or the command line, names.

    It exits with 2 for a bad option or setting, and with 1 if the command cannot be done.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    os.umask(0o077)
    try:
        settings = load_settings()
        logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        run: Callable[[BackendSettings, argparse.Namespace], None] = options.run
        run(settings, options)
    except SettingsError as error:
        parser.exit(2, f"{_NAME}: {error}\n")
    except (AccountRefused, DatabaseRefused, OSError) as error:
        parser.exit(1, f"{_NAME}: {error}\n")
    except UnicodeError:
        parser.exit(1, f"{_NAME}: An argument or the password is not UTF-8. Correct it, then try again.\n")
    except Problem as error:
        parser.exit(1, f"{_NAME}: {error.detail}\n")
    except KeyboardInterrupt:
        parser.exit(130)


def _parser() -> argparse.ArgumentParser:
    lines = [f"  {name}\n      {text}" for name, text in describe_settings()]
    parser = argparse.ArgumentParser(
        prog=_NAME,
        description="The backend of Cortex: projects and tasks of a team, over REST.",
        epilog="\n".join(["environment variables:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{_NAME} {version('cortex-tasks-backend')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="answer requests until a signal comes")
    serve.add_argument("--host", default="127.0.0.1", help="address to serve on (default: %(default)s)")
    serve.add_argument("--port", type=_port, default=8000, help="port to serve on; 0: any (default: %(default)s)")
    serve.add_argument("--behind-tls-proxy", action="store_true", help="a proxy in front of the backend speaks TLS")
    serve.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate, to speak TLS")
    serve.add_argument("--tls-key", type=Path, metavar="FILE", help="key of the certificate")
    serve.set_defaults(run=_serve)
    commands.add_parser("migrate", help="bring the database up to date").set_defaults(run=_migrate)
    user = commands.add_parser("user", help="add, disable, or give another password to a user")
    actions = user.add_subparsers(required=True, metavar="ACTION")
    for action, text in (
        ("add", "add a user, or enable a disabled one again"),
        ("disable", "refuse a user's logins, and end all sessions"),
        ("password", "give a user another password, and end all sessions"),
    ):
        command = actions.add_parser(action, help=text)
        command.add_argument("email", metavar="EMAIL")
        if action == "add":
            command.add_argument("--name", default="", help="the name that others see (default: from the e-mail)")
        if action != "disable":
            command.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        command.set_defaults(run=_change_user, action=action)
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 65535, not '{text}'")
    return int(text)


def _serve(settings: BackendSettings, options: argparse.Namespace) -> None:
    from cortex_backend.serving import Serving, serve  # noqa: PLC0415 - the other commands need no web server

    serve(settings, Serving(options.host, options.port, options.tls_cert, options.tls_key, options.behind_tls_proxy))


def _migrate(settings: BackendSettings, _: argparse.Namespace) -> None:
    with closing(CortexDatabase(settings.database_url)) as database:
        database.migrate()
    print("The database is up to date.")


def _change_user(settings: BackendSettings, options: argparse.Namespace) -> None:
    password = "" if options.action == "disable" else _ask_password(options)
    with closing(open_database(settings.database_url)) as database:
        accounts = Accounts(database, Passwords(), utc_now)
        if options.action == "add":
            done = f"Added user {accounts.add(options.email, options.name, password)}."
        elif options.action == "disable":
            accounts.disable(options.email)
            done = "Disabled the user, and ended all sessions."
        else:
            accounts.set_password(options.email, password)
            done = "Changed the password, and ended all sessions."
    print(done)


def _ask_password(options: argparse.Namespace) -> str:
    if options.password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    try:
        with warnings.catch_warnings(action="error", category=getpass.GetPassWarning):  # it would show what is typed
            password = getpass.getpass("Password: ")
            if getpass.getpass("Again: ") != password:
                raise AccountRefused("The two passwords differ. Try again.")
    except (EOFError, getpass.GetPassWarning):
        raise AccountRefused("Cannot ask for the password without a terminal. Give --password-stdin.") from None
    return password


if __name__ == "__main__":
    main()
