"""Draws the pictures of a page when the site is built, so that no reader's browser must fetch a program for it."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

import mmdr

__all__ = ["draw", "replace_drawings"]

_BLOCK: Final = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WIDTH: Final = re.compile(r"max-width: ?([\d.]+)px")


def draw(text: str) -> tuple[str, bytes]:
    """Return the name of the picture that ``text`` describes, and the picture itself."""
    picture = mmdr.render(text).svg()
    width = _WIDTH.search(picture)
    assert width, "a picture says how wide it is"
    picture = picture.replace('width="100%"', f'width="{float(width[1]):.0f}"', 1)
    return f"drawings/{sha256(text.encode()).hexdigest()[:16]}.svg", picture.encode()


def replace_drawings(text: str, up: str) -> tuple[str, dict[str, bytes]]:
    """Return a page with a picture for each description of one, and the pictures by their names.

    ``up`` leads from the page to the top of the site.
    """
    pictures: dict[str, bytes] = {}

    def replace(match: re.Match[str]) -> str:
        name, picture = draw(match[1])
        pictures[name] = picture
        return f"![{_describe(match[1])}]({up}{name}){{ .drawing }}"

    return _BLOCK.sub(replace, text), pictures


def _describe(text: str) -> str:
    """Return what those who do not see the picture are to know: what leads where."""
    kind, *lines = text.splitlines()
    boxes = dict(re.findall(r'(\w+)\["([^"]+)"\]', text))
    arrows = [re.split(r" *-->|->> *", re.sub(r'\["[^"]+"\]', "", line)) for line in lines]
    said = [" to ".join(boxes.get(name.strip(), name.strip()) for name in arrow) for arrow in arrows]
    title = "Sequence" if kind.startswith("sequence") else "Flow"
    return f"{title}: {'; '.join(said).replace('<br/>', ', ').replace('[', '').replace(']', '')}"
