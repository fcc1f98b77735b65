"""``ctx doctor``: checks everything that ``ctx`` needs, and changes nothing."""

import re
from argparse import Namespace
from pathlib import Path
from typing import Final

from cortex_cli.commands.context import Context
from cortex_cli.commands.parsing import Parser
from cortex_cli.errors import CortexError, echo, make_error
from cortex_cli.output import Outcome, Table, write_outcome
from cortex_cli.system_keyring import Keyring

__all__ = ["add_to"]

_OLDEST_GIT: Final = (2, 30)


def add_to(parser: Parser) -> None:
    """Add what the command takes."""
    parser.set_defaults(run=_doctor)


def _doctor(context: Context, _options: Namespace) -> Outcome:
    checks = {"settings": _check_settings, "login": _check_login, "git": _check_git, "keyring": _check_keyring}
    findings: list[dict[str, object]] = []
    first: CortexError | None = None
    for name, check in checks.items():
        try:
            findings.append({"name": name, "ok": True, "message": check(context)})
        except CortexError as error:
            findings.append({"name": name, "ok": False, "message": error.message})
            first = first or error
    rows = [(str(item["name"]), "ok" if item["ok"] else "not ok", str(item["message"])) for item in findings]
    outcome = Outcome({"success": True, "checks": findings}, table=Table(("Check", "Result", "Found"), rows))
    if first is None:
        return outcome
    if not context.is_json:
        write_outcome(outcome, (), context.out, context.err)
    first.details["checks"] = findings
    raise first


def _check_settings(context: Context) -> str:
    context.settings()
    return f"The settings are in {context.folder}."


def _check_login(context: Context) -> str:
    backend = context.backend()
    user = backend.me()
    return f"Logged in to {backend.origin} as {user.name}."


def _check_git(context: Context) -> str:
    from cortex_cli.git import Git  # noqa: PLC0415 - only this check and the steps of the work need it

    found = Git(Path("/"), context.environment, context.deadline).run("version").line
    version = re.search(r"(\d+)\.(\d+)", found)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST_GIT:
        old = version[0] if version else found
        fault = f"Git {echo(old)} is too old" if old else "Git is not installed"
        raise make_error("GitMissing", words={"fault": fault}, found=old or None)
    return f"{found}."


def _check_keyring(_context: Context) -> str:
    if Keyring().exists():
        return "There is a keyring for the refresh token."
    return "No keyring was found, so the refresh token is kept in a file that only you can read."
