"""Run the conformance scripts of all servers, or of those that are named: ``run_all.py heartbeat tasks_v1``."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from inspector_cli import install

__all__ = ["main"]

FOLDER: Final = Path(__file__).resolve().parent
SCRIPTS: Final = sorted(
    path.stem for path in FOLDER.glob("*.py") if path.stem not in {Path(__file__).stem, "inspector_cli"}
)


def main(names: list[str]) -> int:
    """Run the scripts side by side and print what each says, in turn; return 1 when one of them failed, else 0."""
    if unknown := [name for name in names if name not in SCRIPTS]:
        sys.exit(f"There is no conformance script {', '.join(unknown)}; there are {', '.join(SCRIPTS)}.")
    install()
    failed = False
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for done in workers.map(_run, names or SCRIPTS):
            print(done.stdout, flush=True)
            failed = failed or done.returncode != 0
    return 1 if failed else 0


def _run(name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        check=False,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
