"""The results of trying a server on a copy of one real file, and a client that notes what was refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from task_core.doctor import Check, Level
from task_core.server.app import TaskServer
from tests.tool_client import OpenClient, ToolFailed

__all__ = ["Caller", "Outcome"]


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


class Caller:
    """Calls tools over one client, with the same arguments beside those of each call; notes what was refused."""

    def __init__(self, server: TaskServer) -> None:
        self._client = OpenClient(server)
        self.outcome = Outcome("")
        self.every: dict[str, JsonValue] = {}

    async def call(self, tool: str, **arguments: JsonValue) -> dict[str, Any] | None:
        """Return the structured answer, or None if the call was refused."""
        given = {name.removesuffix("_"): it for name, it in arguments.items()}
        try:
            return await self._client.call(tool, {**self.every, **given})
        except ToolFailed as error:
            self.outcome.refuse(f"{tool}: {error}")
            return None

    async def close(self) -> None:
        """End the client."""
        await self._client.close()
