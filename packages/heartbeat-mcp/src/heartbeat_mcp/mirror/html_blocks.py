"""How HTML blocks begin and end (CommonMark 0.31, section 4.6)."""

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["HtmlStart", "find_html_start"]

_BLOCK_TAGS: Final = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
)
"""Names of the tags that begin a block whenever they are first on a line."""


@dataclass(frozen=True)
class HtmlStart:
    """What begins an HTML block, and what ends it."""

    opening: re.Pattern[bytes]
    closing: re.Pattern[bytes] | None = None
    """Ends the block on the line where it matches; without it, a blank line ends the block."""
    interrupts: bool = True
    """Whether the block may begin right after the text of a paragraph."""


_NAME: Final = rb"[a-z][a-z0-9-]*"
_ATTRIBUTE: Final = rb"""[ \t]+[a-z_:][a-z0-9_.:-]*(?:[ \t]*=[ \t]*(?:[^ \t"'=<>`]+|'[^']*'|"[^"]*"))?"""

_STARTS: Final = (
    HtmlStart(
        re.compile(rb"<(?:script|pre|style|textarea)(?:[ \t>]|\Z)", re.IGNORECASE),
        re.compile(rb"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    HtmlStart(re.compile(rb"<!--"), re.compile(rb"-->")),
    HtmlStart(re.compile(rb"<\?"), re.compile(rb"\?>")),
    HtmlStart(re.compile(rb"<![a-z]", re.IGNORECASE), re.compile(rb">")),
    HtmlStart(re.compile(rb"<!\[CDATA\["), re.compile(rb"\]\]>")),
    HtmlStart(re.compile(rb"</?(?:%s)(?:[ \t]|/?>|\Z)" % b"|".join(_BLOCK_TAGS.encode().split()), re.IGNORECASE)),
    HtmlStart(
        re.compile(rb"(?:<%s(?:%s)*[ \t]*/?>|</%s[ \t]*>)[ \t]*\Z" % (_NAME, _ATTRIBUTE, _NAME), re.IGNORECASE),
        interrupts=False,
    ),
)
"""The seven kinds, in the order in which they are tried."""


def find_html_start(line: bytes, position: int) -> HtmlStart | None:
    """Return the kind of HTML block that begins at ``position`` of ``line``, if one does."""
    return next((start for start in _STARTS if start.opening.match(line, position)), None)
