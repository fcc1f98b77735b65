"""What the documents of the workspace hold besides prose: blocks of code, and commands in blocks and in lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.packaging.projects import PROJECTS, ROOT

__all__ = ["DOCUMENTS", "Block", "Command", "blocks", "commands", "read_command"]

DOCUMENTS: Final = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob(".github/*.md")),
    *(project.folder / "README.md" for project in PROJECTS.values()),
    *sorted(ROOT.glob("examples/**/README.md")),
    *sorted(ROOT.glob("benchmarks/**/*.md")),
    *sorted(ROOT.glob("inspector/*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
]
"""Every document for people; the sample HEARTBEAT.md is data."""

_PROGRAMS: Final = frozenset(
    {"python", "python3", "hatchw", "hatch", "uv", "uvx", "pipx", "pip", "bash", "sh", "npx", "npm"}
)
"""What makes code within a line a command, if something follows it."""

_SHELLS: Final = frozenset({"sh", "console", "bash", "shell"})


class Block(NamedTuple):
    """A fenced block: its language, the text in it, and its title, if it has one."""

    language: str
    text: str
    title: str = ""


class Command(NamedTuple):
    """One command: the variables set before it, and its words."""

    environment: dict[str, str]
    words: list[str]


def blocks(document: Path) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    fences = [token for token in _tokens(document) if token.type == "fence"]
    infos = [it.info.strip().partition(" ") for it in fences]
    return [Block(info[0], it.content, info[2][7:-1]) for it, info in zip(fences, infos, strict=True)]


def commands(document: Path) -> list[tuple[bool, Command]]:
    """Return the commands in the blocks for a shell and those within lines, each with whether it is in a block."""
    in_blocks = [(True, read_command(line)) for line in _shell_lines(document)]
    return in_blocks + [(False, read_command(line)) for line in _commands_in_lines(document)]


def read_command(line: str) -> Command:
    """Return what a line for a shell says; a comment at its end is none of it."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    environment: dict[str, str] = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    return Command(environment, words)


@cache
def _tokens(document: Path) -> list[Token]:
    return MarkdownIt().enable("table").parse(document.read_text("utf-8"))


def _shell_lines(document: Path) -> Iterator[str]:
    for block in blocks(document):
        if block.language in _SHELLS:
            lines = block.text.replace("\\\n", " ").splitlines()
            yield from (line for line in lines if line.strip() and not line.startswith("#"))


def _commands_in_lines(document: Path) -> Iterator[str]:
    for token in _tokens(document):
        for code in token.children or ():
            if code.type == "code_inline":
                head, _, rest = code.content.partition(" ")
                if rest and (head in _PROGRAMS or head.endswith("-mcp")):
                    yield code.content
