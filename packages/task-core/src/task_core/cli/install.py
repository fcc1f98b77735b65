"""The commands ``install`` and ``uninstall``, for which a server requires mcp-client-install."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from task_core.bootstrap import BadSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from task_core.cli.program import Program

__all__ = ["run_install"]


def run_install(program: Program[Any], arguments: Sequence[str]) -> int:
    """Carry out ``install`` or ``uninstall``, the first of the ``arguments``, and return the exit code.

    Raises:
        BadSettings: a setting is missing or bad, or mcp-client-install is not there.
        SystemExit: with 2 for a bad option.
    """
    if find_spec("mcp_client_install") is None:
        raise BadSettings(f"{arguments[0]} needs the package mcp-client-install: pip install mcp-client-install")
    from mcp_client_install.installer import run  # noqa: PLC0415 - a server may do without it
    from mcp_client_install.registration import BadSetting  # noqa: PLC0415 - as above
    from task_core.cli.registration import ProgramRegistration  # noqa: PLC0415 - as above

    try:
        return run(ProgramRegistration(program), arguments)
    except BadSetting as error:
        raise BadSettings(str(error)) from error
