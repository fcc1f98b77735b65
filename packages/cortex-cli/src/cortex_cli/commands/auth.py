"""``ctx auth``: log in and out, and see where (CX-50, CX-60)."""

from argparse import Namespace
from socket import gethostname

from cortex_cli.backend import Backend
from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import CommandGroup, Parser
from cortex_cli.config import server_origin
from cortex_cli.credentials import StoredLogin
from cortex_cli.errors import UNREACHABLE, BackendRefused, CortexError, InvalidUsage, NotLoggedIn
from cortex_cli.models import CortexUser, LoginSession, as_json
from cortex_cli.output import Outcome, Table

__all__ = ["add_to"]


def add_to(parser: Parser) -> None:
    """Add the commands of the group."""
    commands = CommandGroup(parser)
    login = commands.add_action("login", "log in to a Cortex server", _login)
    login.add_argument("--url", metavar="URL", help="the server, such as https://cortex.example.org")
    login.add_argument("--email", metavar="E-MAIL", help="who logs in")
    login.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    login.add_argument(
        "--insecure-storage", action="store_true", help="keep the login in a file even if there is a keyring"
    )
    logout = commands.add_action("logout", "revoke the login, then forget it", _logout)
    logout.add_argument("--all", action="store_true", help="revoke the logins on all devices")
    commands.add_action("status", "show who is logged in, and where", _status)
    commands.add_action("sessions", "list the logins on all devices", _sessions)
    commands.add_action("password", "change the password", _password)


def _login(context: Context, options: Namespace) -> Outcome:
    url = options.url or context.settings().url or context.ask("Server", "--url")
    api = context.api(server_origin(url, "--url"))
    email = options.email or context.ask("E-mail", "--email")
    if options.password_stdin:
        password = context.stdin.readline().rstrip("\r\n")
    else:
        password = context.ask("Password", "--password-stdin", is_secret=True)
    credentials = context.credentials(api)
    login = credentials.log_in(email, password, gethostname(), is_insecure=options.insecure_storage)
    if "CTX_URL" not in context.environment:
        context.config.change("url", api.origin)
    return Outcome(
        _describe(api.origin, login.user, login),
        f"Logged in to {api.origin} as {login.user.name}. {_place(context, login)}",
    )


def _place(context: Context, login: StoredLogin) -> str:
    if login.storage == "keyring":
        return "The refresh token is in the keyring."
    return f"The refresh token is in {context.folder / 'credentials.json'}."


def _describe(origin: str, user: CortexUser, login: StoredLogin | None) -> dict[str, object]:
    return {
        "success": True,
        "url": origin,
        "user": as_json(user),
        "session_expires_at": login and login.session_expires_at,
        "storage": login.storage if login else "environment",
    }


def _stored_login(context: Context) -> StoredLogin | None:
    return None if context.environment.get("CTX_TOKEN") else context.credentials(context.api()).login()


def _status(context: Context, _options: Namespace) -> Outcome:
    login = _stored_login(context)
    backend = context.backend()
    user = backend.me()
    place = _place(context, login) if login else "The token is in CTX_TOKEN."
    return Outcome(
        _describe(backend.origin, user, login), f"Logged in to {backend.origin} as {user.name} ({user.email}). {place}"
    )


def _logout(context: Context, options: Namespace) -> Outcome:
    _stored_login(context)
    backend = context.backend()
    try:
        if options.all:
            # The one of this login last: without it, the others could not be ended.
            for session in sorted(_list_sessions(backend), key=lambda found: found.is_current):
                _end_session(backend, session.id)
        else:
            backend.call("POST", "/auth/logout")
    except NotLoggedIn:
        pass  # the server has forgotten it already
    except CortexError as error:
        if error.exit_code != UNREACHABLE:
            raise
        context.warnings.append(f"The login ends on this machine only: {error.message}")
    if not context.environment.get("CTX_TOKEN"):
        context.credentials(context.api()).forget()
    return Outcome({"success": True, "url": backend.origin}, f"Logged out of {backend.origin}.")


def _list_sessions(backend: Backend) -> list[LoginSession]:
    return backend.call("GET", "/auth/sessions").read_list(LoginSession, "sessions")


def _end_session(backend: Backend, session_id: int | str) -> None:
    try:
        backend.call("DELETE", f"/auth/sessions/{session_id}")
    except BackendRefused as error:
        if error.status != 404:  # then it has ended by itself
            raise


def _sessions(context: Context, _options: Namespace) -> Outcome:
    sessions = _list_sessions(context.backend())
    rows = [
        (str(session.id), session.device or "", session.last_used_at or "", session.expires_at or "")
        for session in sessions
    ]
    return Outcome(
        {"success": True, "sessions": as_json(tuple(sessions))},
        table=Table(("ID", "Device", "Last used", "Ends"), rows),
    )


def _password(context: Context, _options: Namespace) -> Outcome:
    old = context.ask("Old password", "both passwords in a terminal", is_secret=True)
    new = context.ask("New password", "both passwords in a terminal", is_secret=True)
    if context.ask("New password again", "both passwords in a terminal", is_secret=True) != new:
        raise InvalidUsage("The new passwords differ, so nothing was changed. Try again.")
    context.backend().call("POST", "/auth/password", body={"old": old, "new": new})
    return Outcome({"success": True}, "The password is changed.")
