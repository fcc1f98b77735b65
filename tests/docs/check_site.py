"""Looks at the built site as a browser would: nothing from other hosts, and what Markdown says, as forges show it.

``hatch run docs:build`` runs it after the build, which has itself checked every link.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from typing_extensions import override

from tests.docs.repository import find_documents, place_of
from tests.packaging.projects import ROOT

__all__ = ["faults_of", "find_faults"]

SITE: Final = ROOT / "site"

COUNTED: Final = frozenset({"li", "tr", "h1", "h2", "h3", "img", "blockquote"})
"""Elements that a page must have as often as its document has them."""

LOADED: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements whose address a browser fetches by itself."""


class _Elements(HTMLParser):
    """Counts the elements of an article, and notes what the whole page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.loaded: list[str] = []
        self._depth = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag == "article"
        if self._depth:
            self.counts[tag] += 1
        found = dict(attrs)
        if tag in LOADED and found.get("rel") not in {"canonical", "alternate", "next", "prev"}:
            self.loaded.append(found.get(LOADED[tag]) or "")

    @override
    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "article"


def find_faults(site: Path = SITE) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with the site."""
    documents = {place_of(path): path for path in find_documents() if path.suffix == ".md"}
    for path in sorted(site.rglob("*.html")):
        place = path.relative_to(site).parent.as_posix() if path.name == "index.html" else path.name
        document = next((documents[name] for name in _names(place) if name in documents), None)
        text = path.read_text("utf-8")
        yield from (f"{place}: {fault}" for fault in faults_of(text, document.read_text("utf-8") if document else None))
    for folder in (".", "zh", "ja"):
        if not (site / folder / "sitemap.xml").exists():
            yield f"{folder} has no sitemap.xml, which the menu of languages loads"
    missing = [place for place in documents if not any((site / page).exists() for page in _pages(place))]
    yield from (f"{place} has no page" for place in missing)


def faults_of(page: str, document: str | None) -> Iterator[str]:
    """Yield what is wrong with a page, and how it differs from the document that it shows, if it shows one."""
    found = _Elements()
    found.feed(page)
    yield from (f"loads {address}" for address in found.loaded if re.match(r"(https?:)?//", address))
    if document is not None:
        wanted = _counts(document)
        for name in sorted(COUNTED):
            if found.counts[name] != wanted.get(name, 0):
                yield f"has {found.counts[name]} × <{name}> for {wanted.get(name, 0)} in its document"


def _counts(document: str) -> Mapping[str, int]:
    text = re.sub(r"^```mermaid\n.*?^```$", "![drawing](drawing)", document, flags=re.MULTILINE | re.DOTALL)
    found = _Elements()
    found.feed(f"<article>{MarkdownIt().enable('table').render(text)}</article>")
    return found.counts


def _names(place: str) -> tuple[str, ...]:
    return ("index.md", "README.md") if place == "." else (f"{place}.md", f"{place}/index.md", f"{place}/README.md")


def _pages(place: str) -> tuple[str, ...]:
    stem = re.sub(r"(^|/)(index|README)$", "", place.removesuffix(".md"))
    return (f"{stem}/index.html".lstrip("/"),)


if __name__ == "__main__":
    faults = [*find_faults()]
    print("\n".join(faults) or "Nothing is wrong with the site.")
    sys.exit(bool(faults))
