"""Changes of files, which are planned first, shown as a diff, and then made one by one.

A plan raises ``BadConfiguration`` if the file cannot be changed safely, and ``OSError`` if it cannot be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from mcp_client_install.clients import Client, program_of, words_of
from mcp_client_install.edits.documents import (
    History,
    add_entry,
    add_section,
    read_entries,
    read_entry,
    remove_entries,
    remove_section,
    trace,
)
from mcp_client_install.edits.json_edits import load
from mcp_client_install.files import TextFile, open_text, read_copies, restore, save
from mcp_client_install.hooks import Hook
from mcp_client_install.text import BadConfiguration, JsonValue, Key, escape_invisible, shorten

__all__ = ["Addition", "PlannedChange", "Server", "find_hooks", "plan_guide", "plan_install", "plan_uninstall"]

_LAUNCHER: Final = re.compile(r"uvx?|pipx|py|pythonw?[0-9.]*t?")
"""Programs that install or find the server that they start."""

_NAMING: Final = frozenset({"-m", "--module", "-c", "--"})
"""Words before the program that they start, or before code; any other option may have a value."""

_BESIDE: Final = re.compile(r"--with.*|-w|-P|--.*package|-c")
"""Options after which a name is not the program to start."""

_PLACE: Final = re.compile(r"[\\/:]")
"""Characters of paths and addresses that no name of a package has."""

_WIDTH: Final = 500
"""Characters of a line that are shown. A file with longer lines gets line breaks in the diff."""

_SECRET: Final = re.compile("key|token|secret|password|authorization", re.IGNORECASE)
"""Words in the names of variables whose values are secret."""

_TEXT: Final = re.compile(r"""("(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$))(\s*[:=])?""")
"""A string in a line of a configuration, with the sign after it if it is a key."""


class Server(NamedTuple):
    """A server to install."""

    command: str
    """The program that starts it, after which copies of files and sections for agents are named."""
    name: str
    """The name of its entry."""
    words: Sequence[str] | None = None
    """All words that start it, if any program may start it; none: whatever starts it."""
    hook: Sequence[str] = ()
    """The arguments of its command for the start of a session, before the client's name, if it has such a command."""

    def is_started_by(self, entry: object) -> bool:
        """Return whether an entry of a client starts this server, however it was installed.

        Its name among the words for another program, or in an address or a path, proves nothing.
        """
        words, _ = words_of(entry)
        program = program_of("".join(words[:1]))
        if self.words is not None:
            ours = [program_of("".join(self.words[:1])), *self.words[1:]]
            return entry is not None and (not self.words or [program, *words[1:]] == ours)
        if program == self.command or not _LAUNCHER.fullmatch(program):
            return program == self.command
        for before, word in pairwise(words):
            name = program_of(word)
            if name == self.command and not _PLACE.search(word) and not _BESIDE.fullmatch(before):
                return True
            is_option = word.startswith("-") or (before.startswith("-") and before not in _NAMING)
            if not is_option and name not in {"run", "tool"} and not _LAUNCHER.fullmatch(name):
                return False  # another program, which gets the words after it
        return False

    def is_run_by(self, words: Sequence[str], client: str) -> bool:
        """Return whether the ``words`` of a client's hook are the command of this server for the start of a session."""
        end = [*self.hook, client]
        return bool(self.hook) and [*words[-len(end) :]] == end and self.is_started_by({"command": [*words]})

    def arguments_in(self, entry: object) -> list[str]:
        """Return the arguments to start this server with: those that an entry has already, if it has the program."""
        if self.words is not None:
            return [*self.words[1:]]
        words, _ = words_of(entry)
        return words[1:] if words and program_of(words[0]) == self.command else []

    def may_be_in(self, data: bytes | None) -> bool:
        """Return whether a file may have an entry of this server, even if the file is damaged."""
        spellings = (self.command, self.command.replace("-", "_")) if self.words is None else (self.name,)
        return any(spelling.encode() in (data or b"") for spelling in spellings)


class PlannedChange(NamedTuple):
    """A planned change of one file."""

    file: TextFile
    data: bytes | None
    """The new content; None removes the file."""
    server: Server
    client: Client | None = None
    """The client whose file it is; None for AGENTS.md and CLAUDE.md."""
    project: Path | None = None
    """The folder of the project that the file is for, if it is for one."""
    needs_copy: bool = False
    """True if the old file is kept beside the new one."""
    is_removal: bool = False
    """True if the server is removed."""

    @property
    def is_needed(self) -> bool:
        """True if anything changes."""
        return self.data != self.file.data

    def make(self) -> list[Path]:
        """Make the change, and return the copies that were made or stay; after an ``OSError`` nothing has changed."""
        command = self.server.command
        if self.is_removal or self.data is None:
            return restore(self.file, self.data, command, self.project)
        return save(self.file, self.data, command, is_private=not self.project, needs_copy=self.needs_copy)

    def show(self, hide: Callable[[str], str]) -> Iterator[str]:
        """Yield the lines of a unified diff; what ``hide`` knows as secret is left out of each.

        The settings of other servers are around ours, and often secret, so their texts are left out too.
        """
        old, new = (_lines(data, self.client) for data in (self.file.data, self.data))
        path = str(self.file.path)
        names = ("/dev/null" if self.file.data is None else path, "/dev/null" if self.data is None else path)
        ours = self._own_texts()
        for number, line in enumerate(unified_diff(old, new, *names, lineterm="")):
            is_configuration = self.client and number > 1
            shown = _TEXT.sub(lambda found: found[0] if found[2] or found[1] in ours else '"…"', line)
            shown = hide(shown if is_configuration else line)
            yield shorten("\t".join(map(escape_invisible, shown.split("\t"))), _WIDTH)

    def _own_texts(self) -> set[str]:
        """Return the strings of the entry as they are written, except secrets."""
        client, texts, hooks = self.client, set[str](), list[JsonValue]()
        if client is None:
            return texts
        for data in (self.file.data, self.data):
            words, variables = words_of(read_entry(data, client.suffix, [client.member, self.server.name]))
            texts |= {*words, *(value for name, value in variables.items() if not _SECRET.search(name))}
            found = find_hooks(data, client, self.server)
            hooks += [read_entry(data, client.suffix, command.whole) for command in found]
        texts.add(client.transport)
        in_hooks = _TEXT.finditer(json.dumps(hooks, ensure_ascii=False))
        return {*(json.dumps(text, ensure_ascii=False) for text in texts), *(found[1] for found in in_hooks)}


class _HookCommand(NamedTuple):
    words: list[str]
    place: tuple[Key, ...]
    whole: tuple[Key, ...]
    """The place of the item around it, if nothing else is in that; otherwise its own."""


def find_hooks(data: bytes | None, client: Client, server: Server) -> Iterator[_HookCommand]:
    """Yield the commands of the client's hook that are the server's."""
    if not (hook := client.hook):
        return
    for path, item in read_entries(data, client.suffix, hook.path).items():
        commands = [((*path, *place), words) for place, words in hook.commands(item)]
        ours = [(place, words) for place, words in commands if server.is_run_by(words, hook.client)]
        for place, words in ours:
            yield _HookCommand(words, place, path if len(ours) == len(commands) else place)


def _lines(data: bytes | None, client: Client | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    if client and client.suffix == ".json" and any(len(line) > _WIDTH for line in text.splitlines()):
        text = json.dumps(load(text.removeprefix("\ufeff")), ensure_ascii=False, indent=2)
    return text.splitlines()


class Addition(NamedTuple):
    """A server as it is added to a file of a client."""

    client: Client
    """The client, with its hook only if that is in this file."""
    server: Server
    command: str
    """The program of the entry and of the hook; an entry keeps the arguments that it has already."""
    variables: Mapping[str, str] | None
    """The settings in the entry; None if the file is not for entries."""
    adds_hook: bool
    """True if the hook is added; one that is there is brought up to date."""

    def make(self, data: bytes | None) -> bytes | None:
        """Return the content of a file with the server. An entry of that name for another server is not replaced."""
        client, server = self.client, self.server
        if self.variables is not None:
            where = [client.member, server.name]
            known = read_entry(data, client.suffix, where)
            if known is not None and not server.is_started_by(known):
                word = "".join(words_of(known)[0][:1])  # the others may be secret
                other = f"another server ({shorten(escape_invisible(word), 60)})" if word else "another server"
                why = f"'{server.name}' already starts {other}"
                name = "--name" if server.words is None else "name"
                raise BadConfiguration(why, f"Choose another {name}, or remove that entry.")
            entry = client.entry([self.command, *server.arguments_in(known)], self.variables)
            data = add_entry(data, client.suffix, where, entry)
        return self._make_hook(data, client.hook) if client.hook else data

    def _make_hook(self, data: bytes | None, hook: Hook) -> bytes | None:
        words, suffix = [self.command, *self.server.hook, hook.client], self.client.suffix
        found = [*find_hooks(data, self.client, self.server)]
        for known in found:
            lines = {name: line for name, line in hook.command(words).items() if name not in hook.options}
            data = add_entry(data, suffix, known.place, lines)
        if found or not self.adds_hook:
            return data
        place = [*hook.path, len(read_entries(data, suffix, hook.path))]
        return add_entry(data, suffix, place, hook.item(words), hook.head)


def plan_install(path: Path, addition: Addition, project: Path | None = None) -> PlannedChange | None:
    """Return the change that adds a server to a file or brings it up to date there, or None if nothing is added.

    ``project``: the folder of the project that the file is for, if it is for one.
    """
    file, (client, server, *_) = open_text(path), addition
    if addition.variables is None and not addition.adds_hook and not server.may_be_in(file.data):
        return None  # even if the file is damaged
    data = addition.make(file.data)
    former, present = (_own_commands(it, client, server) for it in (file.data, data))
    is_kept = all(words in present for words in former) and _trace(file, client, server) is not None
    needs_copy = former != present and not is_kept
    return _checked(PlannedChange(file, data, server, client, project, needs_copy=needs_copy))


def _own_commands(data: bytes | None, client: Client, server: Server) -> list[list[str]]:
    words, _ = words_of(read_entry(data, client.suffix, [client.member, server.name]))
    return [it for it in (words, *(command.words for command in find_hooks(data, client, server))) if it]


def plan_uninstall(client: Client, path: Path, server: Server, project: Path | None = None) -> PlannedChange | None:
    """Return the change that removes the entry and the hook from the file of a client, or None if it has none."""
    file = open_text(path)
    where = (client.member, server.name)
    if not server.may_be_in(file.data):
        return None  # even if the file is damaged
    places: list[tuple[Key, ...]] = [command.whole for command in find_hooks(file.data, client, server)]
    if server.is_started_by(read_entry(file.data, client.suffix, where)):
        places.insert(0, where)
    if not places:
        return None
    head = client.hook.head if client.hook else None
    history = _trace(file, client, server)
    data = remove_entries(file.data or b"", history, client.suffix, [*dict.fromkeys(places)], head)
    return _checked(PlannedChange(file, data, server, client, project, is_removal=True))


def _trace(file: TextFile, client: Client, server: Server) -> History | None:
    copies = read_copies(file.path, server.command) if file.data is not None else []
    path, head = (client.hook.path, client.hook.head) if client.hook else ((), None)
    return trace(file.data, copies, client.suffix, client.member, path, head)


def plan_guide(path: Path, server: Server, body: str | None, project: Path) -> PlannedChange:
    """Return the change that puts a section with ``body`` into a file for agents of a project; None removes it."""
    file = open_text(path)
    name = f"{server.command} {server.name}"
    if body is None:
        data = remove_section(file.data, name) if file.data else file.data
    else:
        data = add_section(file.data, name, body)
    return _checked(PlannedChange(file, data, server, project=project, is_removal=body is None))


def _checked(change: PlannedChange) -> PlannedChange:
    """Return a change, if no link leads out of its project: the author of that could point a link anywhere."""
    project = change.project
    if project and change.is_needed and not change.file.path.is_relative_to(os.path.realpath(project)):
        raise BadConfiguration(f"a link leads out of the project, to {escape_invisible(str(change.file.path))}")
    return change
