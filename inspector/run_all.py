"""Run the conformance cases of all servers, or of those that are named: ``heartbeat tasks-v1``.

Prints one table of all cases and returns a non-zero exit code when a case fails.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

from inspector.every_server import tour
from inspector.report import Part, run
from tests.servers import PROGRAMS, ProgramRecord, ServerRecord

__all__ = ["main"]


def parts_of(record: ProgramRecord) -> list[Part]:
    """Return what every server with a store must pass, and what the script of this one adds, if it has one."""
    script = f"inspector.{record.name.replace('-', '_')}"
    own = import_module(script).PARTS if find_spec(script) else ()
    return [*own, *(tour(record) if isinstance(record, ServerRecord) else ())]


def main(names: list[str]) -> int:
    """Run the cases side by side and return the exit code."""
    known = {record.name: record for record in PROGRAMS}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"There is no server {', '.join(unknown)}; there are {', '.join(known)}.")
    return run([part for name in names or known for part in parts_of(known[name])])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
