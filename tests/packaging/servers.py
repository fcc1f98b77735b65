"""The servers as a user meets them: built in memory, or started as a client or a shell starts them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from task_core.cli.settings import describe_settings
from tests.servers import PROGRAMS, program_of

__all__ = ["COMMANDS", "PLACES", "Entry", "at_home", "installed", "variables"]

COMMANDS: Final = tuple(record.command for record in PROGRAMS)
"""The commands of the servers."""

PLACES: Final = ("/path/to/checkout/.venv/bin/", "/path/to/.venv/bin/", ".venv/bin/", "")
"""What the documents write before a command that was installed."""


def variables(name: str) -> set[str]:
    """Return the names of the settings of a server."""
    return {variable for variable, _, _ in describe_settings(program_of(name).settings_type)}


def installed(command: str) -> str:
    """Return where this installation has a server that a document shows the command of."""
    name = Path(command).name
    assert name in COMMANDS, f"{command} starts no server"
    assert command in {place + name for place in PLACES}, f"{command} is installed nowhere"
    return str(Path(sys.executable).with_name(name))


def at_home(folder: Path, **environment: str) -> dict[str, str]:
    """Return these variables, every path to something replaced by one in ``folder``, which is the home too."""
    values = {name: value.replace("/path/to", str(folder)) for name, value in environment.items()}
    for value in values.values():
        if value.endswith("/workspace"):
            Path(value).mkdir(exist_ok=True)
    ours = {variable for name in COMMANDS for variable in variables(name)}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return {**inherited, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), **values}


class Entry(BaseModel):
    """How the configuration of a client says that it starts a server."""

    model_config = ConfigDict(extra="forbid")

    type: str | None = None
    command: str
    args: list[str] = []
    env: dict[str, str] = {}
