"""Parts of a server that another distribution adds by an entry point, imported only when they are used."""

from functools import cache
from types import ModuleType
from typing import Final

__all__ = ["advise_installing", "find_plugin"]

_GROUP: Final = "task_core.plugins"
"""The group of the entry points; each names a module."""


@cache
def find_plugin(name: str) -> ModuleType | None:
    """Import and return the module that is registered as ``name``, or return None if there is none."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - it takes time, and few servers have plugins

    return next((entry.load() for entry in entry_points(group=_GROUP, name=name)), None)


def advise_installing(distribution: str) -> str:
    """Return the command that installs the plugins of a server."""
    return f"pip install '{distribution}[hosted]'"
