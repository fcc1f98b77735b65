"""Shows the changes to a person, and asks before it makes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from mcp_client_install.files import describe
from mcp_client_install.plans import Change
from mcp_client_install.text import BadConfiguration

__all__ = ["Console", "InstallFailed", "Plan"]

Plan = Callable[[], Change | None]
"""Plans the change of one file, or returns None if nothing changes there."""


class InstallFailed(Exception):
    """The command did nothing; the message says why and what to do."""


class Console(NamedTuple):
    """Asks before a command changes anything."""

    can_ask: bool
    """True if somebody can answer."""
    is_agreed: bool
    """True if changes are made without a question."""
    is_dry: bool
    """True if nothing is changed."""
    hide: Callable[[str], str]
    """Replaces the secrets in a line."""

    def ask(self, question: str) -> str:
        """Return the answer to a question, without the blanks around it; it is empty at the end of the input."""
        sys.stderr.write(question)
        sys.stderr.flush()
        return sys.stdin.readline().strip()

    def agrees(self, question: str) -> bool:
        """Return whether the answer is yes."""
        return self.ask(f"{question} [y/N] ").lower() in {"y", "yes"}

    def carry_out(self, plans: Mapping[Path, Plan]) -> set[Path]:
        """Show the changes of files, ask, and make them; return the files, without links, of which it was not possible.

        Raises:
            InstallFailed: there was nobody to ask, or they did not agree.
        """
        first: dict[Path, tuple[Path, Plan]] = {}
        for path, plan in plans.items():
            first.setdefault(Path(os.path.realpath(path)), (path, plan))  # links may give one file several names
        results = {real: _plan(path, plan) for real, (path, plan) in first.items()}
        changes = [change for change in results.values() if isinstance(change, Change) and change.is_needed]
        for change in changes:
            sys.stdout.write("".join(f"{line}\n" for line in change.show(self.hide)))
        refused = {real for real, result in results.items() if result is False}
        if not changes and not refused:
            sys.stdout.write("There is nothing to change.\n")
        if changes and not self.is_dry:
            self._require_consent()
            refused |= {change.file.path for change in changes if not _make(change)}
        return refused

    def _require_consent(self) -> None:
        sys.stdout.flush()
        if self.is_agreed:
            return
        if not self.can_ask:
            raise InstallFailed("there is no terminal to ask on: pass --yes to make the changes")
        if not self.agrees("Make these changes?"):
            raise InstallFailed("nothing has changed")


def _plan(path: Path, plan: Plan) -> Change | bool | None:
    """Return the change of a file, or False if it is not possible."""
    try:
        return plan()
    except (BadConfiguration, OSError) as error:
        return _refuse(path, error)


def _make(change: Change) -> bool:
    """Make a change, and return whether that was possible."""
    path = change.file.path
    try:
        copies = change.make()
    except OSError as error:
        return _refuse(path, error)
    done = "Removed" if change.data is None else "Wrote"
    names = ", ".join(copy.name for copy in copies)
    sys.stdout.write(f"{done} {path}.{f' The old file is kept as {names}.' if names else ''}\n")
    return True


def _refuse(path: Path, error: Exception) -> bool:
    cure = getattr(error, "cure", "Fix the cause and run the command again.")
    sys.stderr.write(f"{path}: {describe(error)}. The file was not changed. {cure}\n")
    return False
