"""The programs that ``package.json`` pins: their installation, and a Node new enough to run them.

Nothing outside the standard library is needed on the Python side.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["FOLDER", "install", "node_command", "server_command"]

FOLDER: Final = Path(__file__).resolve().parent
"""Where ``package.json`` and its lock file are."""

STAMP: Final = FOLDER / "node_modules" / ".installed-from"


def install() -> None:
    """Install what ``package-lock.json`` pins, unless just that is installed already."""
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text("utf-8") == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("The Inspector is installed by npm, which comes with Node; npm was not found on PATH.")
    # No package of the lock file needs its install script, so none of them runs.
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=FOLDER, check=True, stdin=subprocess.DEVNULL)
    STAMP.write_text(wanted, "utf-8")


def node_command(script: str) -> list[str]:
    """Return the command that runs ``script``, a path inside ``node_modules``, in the pinned Node."""
    node = shutil.which("node", path=str(FOLDER / "node_modules" / ".bin"))
    if node is None:
        sys.exit("There is no pinned Node for this machine; see the optional dependencies in package.json.")
    return [node, str(FOLDER / "node_modules" / script)]


def server_command(name: str) -> str:
    """Return the path of the console script ``name`` that is installed beside the running Python."""
    command = shutil.which(name, path=str(Path(sys.executable).parent))
    if command is None:
        sys.exit(f"The console script '{name}' is not installed in this environment.")
    return command
