"""Run the conformance scripts of all servers, or of those that are named: ``run_all.py heartbeat tasks_v1``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["main"]

FOLDER: Final = Path(__file__).resolve().parent
SCRIPTS: Final = sorted(
    path.stem for path in FOLDER.glob("*.py") if path.stem not in {Path(__file__).stem, "inspector_cli"}
)


def main(names: list[str]) -> int:
    """Run the scripts one after another; return 1 when one of them failed, else 0."""
    if unknown := [name for name in names if name not in SCRIPTS]:
        sys.exit(f"There is no conformance script {', '.join(unknown)}; there are {', '.join(SCRIPTS)}.")
    exit_codes: list[int] = []
    for name in names or SCRIPTS:
        print(f"\n{name}", flush=True)
        exit_codes.append(subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], check=False).returncode)
    return 1 if any(exit_codes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
