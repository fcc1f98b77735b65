"""Parts of the pages that runs write: tables, the facts of a run, and blocks between marks."""

import os
import platform
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---") -> str:
    """Return a table in Markdown; ``align`` is the mark of every column but the first."""
    lines = [head, ["---", *[align] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def facts(command: str, *packages: str, **others: str) -> str:
    """Return a table with the command, versions and machine of this run, and ``others``."""
    found = {
        "command": f"`{command}`",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Python": platform.python_version(),
        **{name: version(name) for name in packages},
        "system": f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores",
        **others,
    }
    return table(("this run", ""), found.items())


def fill(page: Path, **parts: str) -> None:
    """Put each part between the marks on the page that name it."""
    text = page.read_text("utf-8")
    for name, part in parts.items():
        block = re.compile(rf"(<!-- from the run: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = block.sub(lambda found, part=part: f"{found[1]}\n{part}\n\n{found[2]}", text)
    page.write_text(text, "utf-8")
