"""Every act of every server."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tests.acts import Act
from tests.servers import SERVERS

__all__ = ["ACTS", "mark_of"]

_FOLDERS: Final = tuple(record.package.removesuffix("_mcp") for record in SERVERS)

ACTS: Final[dict[str, Act]] = {
    f"{folder}: {act.name}": act
    for folder in _FOLDERS
    if Path(__file__).with_name(folder).joinpath("acts.py").is_file()
    for act in import_module(f"tests.{folder}.acts").ACTS
}
"""By the names of the server and of the act."""

_DISTINCT: Final = (
    *("heartbeat: clean and create", "heartbeat: take in and create"),
    *("heartbeat: recover and create", "heartbeat: keep aside and create", "hierarchy: delete"),
)
"""Acts that write files in a way of their own; all others write other tasks in the way of a creation."""


def mark_of(name: str, turn: int | None = None) -> tuple[pytest.MarkDecorator, ...]:
    """Return the tier of an act's tests: creations have none, and what adds no way of writing is run by hand.

    With a ``turn``, 0 or 1, every second of the acts that add one is run by hand.
    """
    if ACTS[name].name == "create":
        return ()
    is_next = name in _DISTINCT and turn in {None, _DISTINCT.index(name) % 2}
    return (pytest.mark.long if is_next else pytest.mark.by_hand,)
