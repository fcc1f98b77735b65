"""Which files of the repository are on the site, and where; a link between them leads there as it does in the checkout.

Pages are written for the checkout: a link is relative to its document. On the site the pages of ``docs`` are at the
top, and every other document that one of them links to gets a page too. A link to anything else, such as a module,
leads to a page that shows it: so the site is complete wherever the repository is, and without it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from tests.packaging.projects import ROOT

__all__ = ["DOCS", "find_documents", "find_links", "place_of", "rewrite_links", "show_source"]

DOCS: Final = ROOT / "docs"

SEEDS: Final = ("README.md", "SECURITY.md", "examples/clients/README.md")
"""Documents outside of ``docs`` that are on the site whether a page links to them or not."""

PICTURES: Final = frozenset({".png", ".svg"})

_LINK: Final = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_FENCE: Final = re.compile(r"^ *(```|~~~)")
_TEXT: Final = {"json", "toml", "py", "sh", "yaml", "cfg", "md", ""}
_UNSEEN: Final = frozenset({"__pycache__", "node_modules"})


def place_of(path: Path) -> str:
    """Return where the site has a file or folder of the repository, as mkdocs names a source."""
    name = path.relative_to(ROOT).as_posix()
    if name == "README.md":
        return "overview.md"
    if name.startswith("packages/") and path.name == "README.md":
        return f"servers/{path.parent.name}.md"
    if path.suffix == ".md" or path.suffix in PICTURES:
        return name.removeprefix("docs/")
    return f"files/{name}.md"


@cache
def find_documents() -> frozenset[Path]:
    """Return every file and folder that is on the site: those of ``docs``, and all that they lead to."""
    left = [*DOCS.rglob("*.md"), *(ROOT / name for name in SEEDS), *ROOT.glob("packages/*/README.md")]
    found: set[Path] = set()
    while left:
        path = left.pop()
        if path not in found and path.exists():  # mkdocs names a link that leads nowhere
            found.add(path)
            left += find_links(path)
    return frozenset(found)


def find_links(document: Path) -> Iterator[Path]:
    """Yield what a document links to in the repository; other files have no links."""
    if document.suffix == ".md":
        for line, is_code in _lines(document.read_text("utf-8")):
            for match in () if is_code else _LINK.finditer(line):
                yield _resolve(document, match["path"])


def rewrite_links(text: str, document: Path) -> str:
    """Return the text of a document with its links as the site needs them."""
    here = PurePosixPath(place_of(document)).parent

    def rewrite(match: re.Match[str]) -> str:
        place = os.path.relpath(place_of(_resolve(document, match["path"])), here)
        return place + (match["anchor"] or "")

    return "".join(line if is_code else _LINK.sub(rewrite, line) for line, is_code in _lines(text))


def show_source(path: Path) -> str:
    """Return a page that shows a file, or all files in a folder."""
    files = sorted(_files(path)) if path.is_dir() else [path]
    parts = [f"---\nsearch:\n  exclude: true\n---\n\n# `{path.relative_to(ROOT).as_posix()}`"]
    for file in files:
        title = f"## `{file.relative_to(path).as_posix()}`\n\n" if path.is_dir() else ""
        parts.append(f"{title}~~~~~~{file.suffix.removeprefix('.')}\n{file.read_text('utf-8')}\n~~~~~~")
    return "\n\n".join(parts)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        is_text = path.is_file() and path.suffix.removeprefix(".") in _TEXT
        if is_text and not _UNSEEN & {*path.parts}:
            yield path


def _resolve(document: Path, link: str) -> Path:
    return Path(os.path.normpath(document.parent / link))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is within a fenced block."""
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        yield line, bool(fence)
        if match and not fence:
            fence = match[1]
        elif match and match[1] == fence:
            fence = ""
