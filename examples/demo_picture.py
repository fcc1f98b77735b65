"""The demo as a picture: rich's SVG of a terminal, without fonts or anything else from another host."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import TerminalTheme

__all__ = ["draw", "recorder"]

COLUMNS: Final = 80
"""The width of the terminal in the picture."""

_DARK: Final = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [(139, 148, 158), (255, 123, 114), (86, 211, 100), (227, 179, 65), (121, 192, 255), (210, 168, 255)],
)
"""A window with its own dark background, which is read well on light and on dark pages; contrast at least 4.5."""

_FORMAT: Final = """\
<svg class="demo" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="The demo">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As ``rich.console.CONSOLE_SVG_FORMAT``, which loads a font from a foreign host."""


_LENGTH: Final = re.compile(r'textLength="[0-9.]+"([^>]*)>([^<]*)</text>')

_COLUMN: Final = 12.2
"""The width of a column in the picture of rich."""


def recorder() -> Console:
    """Return a console that shows and records; it does not depend on the terminal in which it runs."""
    return Console(
        record=True,
        width=COLUMNS,
        color_system="standard",
        force_terminal=True,
        legacy_windows=False,
        file=sys.stdout,
        _environ={},
    )


def draw(console: Console, path: Path) -> None:
    """Write what ``console`` recorded into the SVG file at ``path``."""
    svg = console.export_svg(title="python3 hatchw run demo", theme=_DARK, code_format=_FORMAT, unique_id="demo")
    path.write_text("".join(f"{line.rstrip()}\n" for line in _LENGTH.sub(_stretch, svg).splitlines() if line.strip()))


def _stretch(match: re.Match[str]) -> str:
    """Give a text the room that its characters need: rich counts one column for each, wide ones too."""
    between, text = match.groups()
    return f'textLength="{cell_len(unescape(text)) * _COLUMN:g}"{between}>{text}</text>'
