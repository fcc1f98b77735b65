"""Shows the changes to a person, and asks before it makes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_client_install.files import describe
from mcp_client_install.plans import PlannedChange
from mcp_client_install.text import BadConfiguration

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["Console", "InstallFailed", "Plan"]

Plan = Callable[[], PlannedChange | None]
"""Plans the change of one file, or returns None if nothing changes there."""


class InstallFailed(Exception):
    """The command did nothing; the message says why and what to do."""


class Console:
    """Asks before a command changes anything."""

    def __init__(self, options: Namespace, hide: Callable[[str], str]) -> None:
        """``hide`` replaces the secrets in a line."""
        self._options = options
        self._hide = hide
        self.can_ask = not options.yes and sys.stdin is not None and sys.stdin.isatty()  # None: it is closed
        """True if somebody can answer."""

    def ask(self, question: str) -> str:
        """Return the answer to a question, without the blanks around it, or raise ``InstallFailed`` without one."""
        sys.stderr.write(question)
        sys.stderr.flush()
        if not (answer := sys.stdin.readline()):
            sys.stderr.write("\n")
            raise InstallFailed("nothing has changed")
        return answer.strip()

    def agrees(self, question: str) -> bool:
        """Return whether the answer is yes."""
        return self.ask(f"{question} [y/N] ").lower() in {"y", "yes"}

    def carry_out(self, plans: Mapping[Path, Plan]) -> set[Path]:
        """Show the changes of files, ask, and make them; return the files, without links, of which it was not possible.

        It raises ``InstallFailed`` if there was nobody to ask, or they did not agree.
        """
        changes: dict[Path, PlannedChange] = {}
        seen, refused = set[Path](), set[Path]()
        for path, plan in plans.items():
            real = Path(os.path.realpath(path))  # links may give one file several names
            if real in seen:
                continue
            seen.add(real)
            try:
                change = plan()
            except (BadConfiguration, OSError) as error:
                refused.add(real)
                _report(path, error)
                continue
            if change and change.is_needed:
                changes[real] = change
                sys.stdout.write("".join(f"{line}\n" for line in change.show(self._hide)))
        if not changes and not refused:
            sys.stdout.write("There is nothing to change.\n")
        if changes and not self._options.dry_run:
            self._require_consent()
            refused |= {real for real, change in changes.items() if not _make(change)}
        return refused

    def _require_consent(self) -> None:
        sys.stdout.flush()
        if self._options.yes:
            return
        if not self.can_ask:
            raise InstallFailed("there is no terminal to ask on: pass --yes to make the changes")
        if not self.agrees("Make these changes?"):
            raise InstallFailed("nothing has changed")


def _make(change: PlannedChange) -> bool:
    """Make a change, and return whether that was possible."""
    path = change.file.path
    try:
        copies = change.make()
    except OSError as error:
        _report(path, error)
        return False
    done = "Removed" if change.data is None else "Wrote"
    names = ", ".join(copy.name for copy in copies)
    sys.stdout.write(f"{done} {path}.{f' The old file is kept as {names}.' if names else ''}\n")
    return True


def _report(path: Path, error: Exception) -> None:
    cure = getattr(error, "cure", "Fix the cause and run the command again.")
    sys.stderr.write(f"{path}: {describe(error)}. The file was not changed. {cure}\n")
