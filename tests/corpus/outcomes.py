"""The result of trying a server on a copy of one real file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from task_core.doctor import Check, Level

__all__ = ["Outcome"]


@dataclass
class Outcome:
    """The result for one project or HEARTBEAT.md; a line of text for each finding."""

    name: str
    refused: list[str] = field(default_factory=list)
    """calls that failed, and faults that doctor reports"""
    outside: list[str] = field(default_factory=list)
    """places that changed although no call was about them"""
    lost: list[str] = field(default_factory=list)
    """values and lines that are nowhere any more"""

    def refuse(self, text: str) -> None:
        """Note a refusal once."""
        if text not in self.refused:
            self.refused.append(text)

    def read_doctor(self, checks: Iterable[Check]) -> None:
        """Run the checks of doctor, but for those of other programs, and note the faults that they find."""
        for check in checks:
            for finding in check.look() if check.subject != "programs" else ():
                if finding.level is Level.WRONG:
                    self.refuse(f"doctor: {finding.text}")
