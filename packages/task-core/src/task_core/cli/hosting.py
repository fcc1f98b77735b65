"""The start of a server for many users, which another distribution provides (HO-1)."""

from collections.abc import Iterable
from typing import Any

from task_core.bootstrap import BadSettings
from task_core.cli.program import Program
from task_core.plugins import advise_installing, find_plugin

__all__ = ["explain_loopback", "serve_hosted"]


def explain_loopback(program: Program[Any], addresses: Iterable[str]) -> str:
    """Return why no other address than these is served, and what would change that."""
    missing = _advise_if_missing(program)
    return (
        f"without authentication HTTP serves this machine only; use {', '.join(addresses)}, or "
        f"{f'run {missing}, and ' if missing else ''}set TASK_AUTH_ISSUER, TASK_PUBLIC_URL and TASK_ALLOWED_HOSTS"
    )


def serve_hosted(program: Program[Any], log_level: str | None, host: str, port: int) -> None:
    """Serve one server for each tenant until a signal comes.

    Raises:
        BadSettings: the server cannot be hosted, or not with these settings.
    """
    if program.codec is None or not program.has_database:
        raise BadSettings(f"TASK_AUTH_ISSUER is set, but {program.name} works on the files of one user: leave it out.")
    if missing := _advise_if_missing(program):
        raise BadSettings(f"TASK_AUTH_ISSUER is set, but the service for many users is not installed: {missing}")
    service = find_plugin("service")
    assert service  # noqa: S101 - for the type checker: it is not missing
    service.serve_hosted(program, log_level, host, port)


def _advise_if_missing(program: Program[Any]) -> str:
    """Return the command that installs the service for many users, or nothing if it is installed."""
    return "" if find_plugin("service") else advise_installing(program.distribution or program.name)
