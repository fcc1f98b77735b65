"""Every act of every server."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from tests.acts import Act
from tests.servers import SERVERS

__all__ = ["ACTS"]

_FOLDERS: Final = tuple(record.package.removesuffix("_mcp") for record in SERVERS)

ACTS: Final[dict[str, Act]] = {
    f"{folder}: {act.name}": act
    for folder in _FOLDERS
    if Path(__file__).with_name(folder).joinpath("acts.py").is_file()
    for act in import_module(f"tests.{folder}.acts").ACTS
}
"""By the names of the server and of the act."""
