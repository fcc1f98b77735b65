"""Target 8: what a list of tasks costs the command ``ctx``, with a backend on the loopback address (CX-97)."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.backend import EMAIL, PASSWORD, prepare
from benchmarks.bench import Bench
from benchmarks.rows import Row, Unit
from benchmarks.series import in_turn

__all__ = ["measure"]

LIMIT: Final = 8.0
"""How many times an empty Python a list may cost."""

CTX: Final = str(shutil.which("ctx", path=Path(sys.executable).parent))
LIST: Final = "ctx tasks list --json"
EMPTY: Final = "python -c pass"


def measure(bench: Bench) -> list[Row]:
    """Return the row: processor time of the process of a list, and of an empty Python."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    with _served(folder) as url:
        environment = {**os.environ, "CTX_CONFIG_DIR": str(folder / "ctx")}
        login = (CTX, "auth", "login", f"--url={url}", f"--email={EMAIL}", "--password-stdin", "--insecure-storage")
        subprocess.run([*login, "--json"], input=PASSWORD, text=True, env=environment, check=True, capture_output=True)
        commands = {LIST: (CTX, *LIST.split()[1:]), EMPTY: (sys.executable, *EMPTY.split()[1:])}
        works = {name: partial(_cpu_seconds, command, environment) for name, command in commands.items()}
        found = in_turn(works, bench.pick(15, 2))
    return [Row(8, LIST, "cortex-cli", Unit.MILLISECONDS, found[LIST], found[EMPTY], LIMIT, EMPTY)]


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    settings = prepare(folder)
    keys = settings.secret_keys.get_secret_value() if settings.secret_keys else ""
    environment = {**os.environ, "CORTEX_DATABASE_URL": settings.database_url, "CORTEX_SECRET_KEYS": keys}
    command = [sys.executable, "-m", "cortex_backend", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process.stdout.readline().split()[-1] if process.stdout else ""
        finally:
            process.terminate()


def _cpu_seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the processor time of a process, with that of its children."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
