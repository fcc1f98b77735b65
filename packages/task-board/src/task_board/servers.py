"""Installed servers, and the stores that the command line names."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Final, cast

from task_board.stores import BoardStore
from task_core.bootstrap import BadSettings
from task_core.cli.chosen_list import find_lists
from task_core.cli.program import Program
from task_core.cli.settings import StoreServerSettings, hide_passwords, load_settings
from task_core.errors import TaskError
from task_core.store.open import Engine
from task_core.text import nearest
from task_core.view import BoardActions

__all__ = ["find_servers", "open_stores"]

_CORE: Final = re.compile(r"mcp-task-core\b")

_ADDRESS: Final = re.compile(r"(json|sqlite|postgresql|memory):|[a-z][a-z0-9+.-]+://")
"""The beginning of an address, of a store or of something that the server refuses, in place of a path."""

_NEAR: Final = 0.75
"""The similarity, from 0 to 1, from which on a server is suggested for an unknown name."""


def find_servers() -> dict[str, str]:
    """Return the package of each installed server that the board can show, by its command."""
    found: dict[str, str] = {}
    for script in entry_points(group="console_scripts"):
        package = script.module.removesuffix(".__main__")
        is_ours = script.dist is not None and any(map(_CORE.match, script.dist.requires or ()))
        if is_ours and find_spec(package) and _has_actions(package):
            found[script.name] = package
    return dict(sorted(found.items()))


def _has_actions(package: str) -> bool:
    name = f"{package}.view"
    return find_spec(name) is not None and hasattr(import_module(name), "ACTIONS")


def open_stores(named: Sequence[str], servers: Mapping[str, str]) -> tuple[list[BoardStore], list[str]]:
    """Return the stores that are ``named``, ``SERVER`` or ``SERVER=PATH``; otherwise all of them (PE-6).

    Those of a ``SERVER`` without a path are all that its own commands would find. The other result has a line for each
    server that was left out, with the reason. It raises ``BadSettings`` if there is no such server, its settings are
    bad, or no store is left.
    """
    stores: list[BoardStore] = []
    left_out: list[str] = []
    for word in named or servers:
        command, sign, place = word.partition("=")
        if sign and not place:
            raise BadSettings(f"'{word}' names no store: write {word}PATH, or {command} for the one that is set.")
        program = Program.of(_find_package(command, servers))
        try:
            for settings in _find_settings(program, place):
                stores.append(_open_store(program, settings, {store.key for store in stores}, is_named=bool(named)))
        except (BadSettings, TaskError) as error:
            if named:
                raise BadSettings(f"{hide_passwords(word)}: {error}") from None
            left_out.append(f"{command} is left out: {error}")
    if not stores:
        names = ", ".join(servers) or "none is installed"
        raise BadSettings("\n".join([f"Name a store, as SERVER=PATH. The servers are: {names}.", *left_out]))
    return stores, left_out


def _find_package(command: str, servers: Mapping[str, str]) -> str:
    for name in (command, f"{command}-mcp"):
        if name in servers:
            return servers[name]
    near = nearest(f"{command}-mcp", servers, cutoff=_NEAR)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise BadSettings(f"'{command}' is not an installed server with a board.{hint} There are: {', '.join(servers)}.")


def _find_settings(program: Program, place: str) -> list[StoreServerSettings]:
    """Return the settings with the store at ``place``, or else those of all that a command would find."""
    settings_type: type[StoreServerSettings] = program.settings_type()
    actions = _actions_of(settings_type)
    if not place:
        return [it.settings.model_copy(update=actions.settings).located() for it in find_lists(program)]
    others = ["task_store", "task_tenant"] if actions.path == settings_type.store_variable else []
    setting = actions.path
    if _ADDRESS.match(place) and "task_store" in settings_type.model_fields:
        setting, others = "task_store", [settings_type.store_variable]
    with _without(others):
        return [load_settings(settings_type, given={**actions.settings, setting: _resolve(place)}).located()]


def _actions_of(settings_type: type[StoreServerSettings]) -> BoardActions:
    return import_module(f"{settings_type.__module__.rpartition('.')[0]}.view").ACTIONS


def _open_store(program: Program, settings: StoreServerSettings, taken: set[str], *, is_named: bool) -> BoardStore:
    actions = _actions_of(type(settings))
    engine, path, _ = settings.address
    server = program.build(settings)
    if server.store is None or (path is None and engine is not Engine.POSTGRESQL):
        raise BadSettings(f"Set {actions.path.upper()}: nothing says where the tasks are.")
    if path is not None and not is_named and not path.parent.is_dir():
        raise BadSettings(f"there is no folder {path.parent}.")
    view = cast("Any", program.view)(settings)
    name = program.name.removesuffix("-mcp")
    key = next(key for key in (name, *map(f"{name}-{{}}".format, range(2, len(taken) + 3))) if key not in taken)
    mirror = getattr(settings, actions.mirror) if actions.mirror else None
    return BoardStore(key, str(path or "PostgreSQL"), path, mirror, actions, view, server, server.store)


def _resolve(place: str) -> str:
    """Return a path, or the address of a file, with the path made absolute."""
    engine = found[0] if (found := _ADDRESS.match(place)) else ""
    path = place.removeprefix(engine)
    if engine not in {"", "json:", "sqlite:"} or path[:1] in {"", "~"}:
        return place
    return engine + os.path.abspath(path)  # noqa: PTH100 - without links


@contextmanager
def _without(settings: Iterable[str]) -> Iterator[None]:
    """Hide settings in the environment: the command line names the store that they name too."""
    kept = {name: os.environ.pop(name) for name in [*os.environ] if name.lower() in settings}
    try:
        yield
    finally:
        os.environ.update(kept)
