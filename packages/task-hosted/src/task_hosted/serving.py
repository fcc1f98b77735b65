"""Starts a hosted server from its settings (HO-1)."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING, Final, cast

from task_core.bootstrap import BadSettings, log_to_stderr
from task_core.cli.program import Program
from task_core.cli.settings import load_settings
from task_core.store import Engine
from task_hosted.service.app import HostedServer, run_hosted
from task_hosted.service.settings import HostedSettings

if TYPE_CHECKING:
    from task_core.cli.settings import StoreServerSettings
    from task_core.server.app import TaskServer
    from task_hosted.postgres import Pool
    from task_hosted.service.keys import IssuerKeys

__all__ = ["load_hosted", "serve_hosted"]

_TALKATIVE: Final = "mcp"
"""A logger that writes several lines per request at INFO, where one line per call is enough."""


def serve_hosted(program: Program, log_level: str | None, host: str, port: int) -> None:
    """Serve one server for each tenant until a signal comes, or raise ``BadSettings``."""
    settings = load_settings(program.settings_type())
    hosted = load_settings(HostedSettings)
    log_to_stderr(log_level or settings.log_level)
    is_debugging = logging.root.level == logging.DEBUG
    logging.getLogger(_TALKATIVE).setLevel(logging.NOTSET if is_debugging else logging.WARNING)
    server = load_hosted(program, settings, hosted)
    # What was imported stays: looking through it takes time, most of all at the end.
    gc.freeze()  # pragma: no cover - the rest in a process: tests/hosted/test_processes.py
    try:  # pragma: no cover - as above
        run_hosted(server, hosted, host, port)
    finally:  # pragma: no cover - as above
        server.end()


def load_hosted(
    program: Program, settings: StoreServerSettings, hosted: HostedSettings, keys: IssuerKeys | None = None
) -> HostedServer:
    """Return the hosted server of ``program``; ``keys`` are those of the issuer.

    It raises ``BadSettings`` if a setting is not for a hosted server.
    """
    _check(settings)

    def build(tenant: str) -> TaskServer:
        return program.build(settings.model_copy(update={"task_tenant": tenant}))

    pool = cast("Pool", settings.pool) if settings.address.engine is Engine.POSTGRESQL else None
    return HostedServer(hosted, program.build(settings), build, pool=pool, keys=keys)


def _check(settings: StoreServerSettings) -> None:
    if settings.address.engine not in {Engine.SQLITE, Engine.POSTGRESQL}:
        raise BadSettings(
            f"TASK_STORE is {settings.address}: with TASK_AUTH_ISSUER, the tasks must be in a database. "
            "Expected: sqlite:/path or postgresql://user@host/database."
        )
    for variable in sorted(settings.model_fields_set & {*settings.personal, "task_tenant"}):
        raise BadSettings(f"{variable.upper()} is for a server with one user: leave it out, or TASK_AUTH_ISSUER.")
