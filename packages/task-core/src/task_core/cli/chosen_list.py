"""The list that a command works on when no setting in its environment names one (PE-2).

In this order: the project's own, as the server itself finds it; then the one that a client of the user has for the
server, for this project before for all projects; then the server's own default.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from task_core.bootstrap import BadSettings
from task_core.cli.settings import ServerSettings, hide_passwords, load_settings
from task_core.errors import TaskError
from task_core.store import Engine, StoreSettings
from task_core.text import escape_invisible

if TYPE_CHECKING:
    from task_core.cli.client_entries import OwnEntry
    from task_core.cli.program import Program

__all__ = ["ChosenList", "choose_list", "describe_place", "find_lists", "own_entries", "read_settings"]


class ChosenList(NamedTuple):
    """The settings with a list, and where they come from."""

    settings: Any
    """the settings of the program"""
    origin: str = ""
    """a sentence for people, all of it visible; empty if the environment names the list"""
    clients: Sequence[str] = ()
    """the names of the clients that have it"""

    def announce(self) -> Self:
        """Say on stderr which list it is and why, and return the same."""
        if self.origin:
            sys.stderr.write(f"{self.origin}.\n")
        return self


def choose_list(program: Program, client: str = "") -> ChosenList:
    """Return the list that a command of ``program`` works on; ``client`` names the one whose list is meant.

    Raises:
        BadSettings: the settings are bad, nothing says where the tasks are, the client has no entry for the program, or
            several clients have different lists for the same projects.
    """
    found = find_lists(program, client)
    first, others = found[0], [it for it in found[1:] if it.clients]
    if not client and first.clients and others:
        lines = [f"{program.name} has several lists; choose one with --client:"]
        lines += [f"  --client {it.clients[0]}: {it.origin}" for it in (first, *others)]
        raise BadSettings("\n".join(lines))
    return first


def find_lists(program: Program, client: str = "") -> list[ChosenList]:
    """Return the different lists of ``program``, the one that a command chooses first; of ``client`` only, if named.

    Lists of clients are those for this project, or if there are none, those for all projects.

    Raises:
        BadSettings: as ``choose_list``.
    """
    settings_type: type[ServerSettings] = program.settings_type()
    if not issubclass(settings_type, StoreSettings) or (not client and _environment_names_list(settings_type)):
        return [ChosenList(load_settings(settings_type))]
    usual = load_settings(settings_type, has_client=True)
    has_own = usual.has_own_list and not client
    own = [ChosenList(usual, f"{escape_invisible(describe_place(usual))}: the list of this project")] if has_own else []
    entries = [entry for entry in own_entries(program) if client in {"", entry.client}]
    if client and not entries:
        raise BadSettings(f"{client} has no entry for {program.name}: see {program.name} doctor for those that have.")
    nearest = [entry for entry in entries if entry.scope == entries[0].scope]
    if client:  # what is wrong with its entry is an error, not a reason to take another list
        return _distinct([_of_entry(settings_type, entry) for entry in nearest])
    found: list[ChosenList] = []
    for entry in nearest:
        with suppress(BadSettings):  # ``doctor`` says what is wrong with it
            found.append(_of_entry(settings_type, entry))
    kept = [it for it in found if it.settings.address.engine is not Engine.MEMORY]
    if kept and nearest[0].scope == "project" and any(it.settings.address.url for it in kept):
        # Whoever wrote that file is not to learn of the user, or to get tasks, before the user says so.
        raise BadSettings(f"{kept[0].origin}. To connect to a database that a file of the project names, add --client.")
    return _distinct([*own, *kept]) or [ChosenList(load_settings(settings_type))]


def own_entries(program: Program) -> list[OwnEntry]:
    """Return the entries of clients that start ``program``; none without mcp-client-install or a home folder."""
    if find_spec("mcp_client_install") is None:
        return []
    from task_core.cli.client_entries import find_own_entries  # noqa: PLC0415 - what it imports may not be installed

    return find_own_entries(program)


def _environment_names_list(settings_type: type[ServerSettings]) -> bool:
    names = {*dict(settings_type.in_project), getattr(settings_type, "store_variable", ""), "task_store"}
    return any(value and name.lower() in names for name, value in os.environ.items())


def _of_entry(settings_type: type[ServerSettings], entry: OwnEntry) -> ChosenList:
    """Return the list of an entry, or raise ``BadSettings`` if its settings name none."""
    try:
        settings = load_settings(settings_type, given=read_settings(entry.variables))
        place = escape_invisible(describe_place(settings))
    except (BadSettings, TaskError) as error:
        lines = map(escape_invisible, str(error).splitlines())
        raise BadSettings("\n".join(f"The entry of {entry.title}: {line}" for line in lines)) from None
    where = "in this project" if entry.scope == "project" else "for all projects"
    return ChosenList(settings, f"{place}: the list of {entry.title}, {where}", [entry.client])


def read_settings(variables: Mapping[str, str]) -> Mapping[str, object]:
    """Return the settings that the variables of a client's entry give, by their fields."""
    return {name.lower(): value for name, value in variables.items() if value}


def _distinct(lists: Sequence[ChosenList]) -> list[ChosenList]:
    found: dict[object, ChosenList] = {}
    for it in lists:
        key = (describe_place(it.settings), getattr(it.settings, "task_tenant", ""))
        first = found.setdefault(key, it)
        if first is not it and first.clients:  # the project's own list is chosen whoever else has it
            found[key] = first._replace(clients=[*first.clients, *it.clients])
    return [*found.values()]


def describe_place(settings: ServerSettings) -> str:
    """Return the path or the address of a list, without a password, or raise ``TaskError`` if nothing says it."""
    return hide_passwords(str(settings.address)).removeprefix("json:") if isinstance(settings, StoreSettings) else ""
