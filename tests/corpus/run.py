"""Try the servers on copies of real files, and report what they refuse, change elsewhere, or lose.

``python3 hatchw run corpus FOLDER`` takes every Task Master project (a folder with ``.taskmaster`` or with
``tasks/tasks.json``), every other ``tasks*.json``, and every ``HEARTBEAT*.md`` and Markdown file in a folder
``heartbeat``. The exit code is 1 if something was lost, or changed outside the section or the changed items.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.corpus.heartbeats import try_heartbeat
from tests.corpus.outcomes import Outcome
from tests.corpus.projects import try_project

__all__ = ["main", "try_folder"]

_TASKS: Final = Path(".taskmaster", "tasks", "tasks.json")

_SHOWN: Final = 5
"""Findings of one kind that the report lists for each file."""


class Case(NamedTuple):
    """One file or folder to be tried."""

    path: Path
    is_project: bool


def main() -> int:
    """Try every file in a folder, print the report, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--all", action="store_true", help="show every finding, not the first five of each kind")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    logging.disable()  # warnings of the servers
    outcomes = asyncio.run(try_folder(options.folder))
    if not outcomes:
        parser.error(f"there are no Task Master projects and no HEARTBEAT.md in {options.folder}")
    for line in _report(outcomes, sys.maxsize if options.all else _SHOWN):
        print(line)
    return int(any(outcome.outside or outcome.lost for outcome in outcomes))


async def try_folder(folder: Path) -> list[Outcome]:
    """Try a copy of every project and HEARTBEAT.md in ``folder``, by their paths."""
    outcomes = []
    for case in _find_cases(folder):
        outcomes.append(outcome := Outcome(str(case.path.relative_to(folder))))
        # A pass over HEARTBEAT.md that was under way at the end may still write.
        with tempfile.TemporaryDirectory(prefix="corpus-", ignore_cleanup_errors=True) as scratch:
            root = Path(scratch, case.path.name)  # refusals name the folder
            root.mkdir()
            if not case.is_project:
                await try_heartbeat(_copy(case.path, root / "HEARTBEAT.md"), outcome)
                continue
            for file in _files(case.path):  # and nothing else that a project may hold
                _copy(file, root / (file.relative_to(case.path) if case.path.is_dir() else _TASKS))
            try_project(root, outcome)
    return outcomes


def _find_cases(folder: Path) -> Iterator[Case]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    roots = {_root(path) for path in paths} - {None}
    yield from (Case(root, is_project=True) for root in sorted(filter(None, roots)))
    for path in paths:
        name = path.name.casefold()
        if path.suffix == ".json" and name.startswith("tasks") and not _root(path):
            yield Case(path, is_project=True)
        elif path.suffix == ".md" and (name.startswith("heartbeat") or path.parent.name.casefold() == "heartbeat"):
            yield Case(path, is_project=False)


def _root(path: Path) -> Path | None:
    """Return the folder of the project that a file belongs to, if there is one."""
    if (inner := next((it for it in path.parents if it.name == ".taskmaster"), None)) is not None:
        return inner.parent
    return path.parents[1] if path.parts[-2:] == ("tasks", "tasks.json") else None


def _files(path: Path) -> Iterator[Path]:
    """Yield the files of Task Master in a project, or a tasks file alone."""
    if path.is_file():
        yield path
    for name in (".taskmaster", "tasks"):
        yield from (file for file in (path / name).rglob("*") if file.is_file())


def _copy(path: Path, to: Path) -> Path:
    """Copy a file without its access, so that the copy can be changed, and return the copy."""
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(path.read_bytes())
    return to


def _report(outcomes: Sequence[Outcome], shown: int) -> Iterator[str]:
    width = max(len(outcome.name) for outcome in outcomes)
    yield f"{'file':<{width}}  refused  outside  lost"
    for it in outcomes:
        yield f"{it.name:<{width}}  {len(it.refused):>7}  {len(it.outside):>7}  {len(it.lost):>4}"
    for it in outcomes:
        for kind, found in (("refused", it.refused), ("outside", it.outside), ("lost", it.lost)):
            yield from (f"{it.name}: {kind}: {text}" for text in found[:shown])
            if len(found) > shown:
                yield f"{it.name}: {kind}: {len(found) - shown} more"


if __name__ == "__main__":
    sys.exit(main())
