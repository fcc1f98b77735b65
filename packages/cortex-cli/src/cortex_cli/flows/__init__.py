"""Flows of ``ctx tasks start``, ``pr``, ``done`` and ``status``, step by step (CX-70 to CX-78)."""

from cortex_cli.flows.finish import complete
from cortex_cli.flows.repository_state import Flow
from cortex_cli.flows.start import start
from cortex_cli.flows.status import status
from cortex_cli.flows.submit import submit

__all__ = ["Flow", "complete", "start", "status", "submit"]
