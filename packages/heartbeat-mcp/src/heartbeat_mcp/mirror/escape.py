r"""Text as one line of Markdown that can forge nothing, and back (HB-11).

A line break becomes ``\n``, a backslash ``\\``, a first character that could open a block gets a backslash before it,
``&``, ``<`` and ``>`` become entities, and control, bidi and tag characters ``\u{…}`` (S3), as does a blank at
either end, which editors and renderers would drop.
"""

import re
from bisect import bisect_right
from typing import Final

__all__ = ["escape", "escape_within", "unescape"]

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CHARACTERS: Final = {name: character for character, name in _ENTITIES.items()}

_SPECIAL: Final = re.compile(
    "[\\\\&<>\\x00-\\x1f\\x7f-\\x9f"
    "\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff"
    "\\ud800-\\udfff\\U000e0000-\\U000e007f]"
    "|\\A | \\Z"
)
"""What must be escaped: C0 and C1 controls, marks and overrides of direction, line and paragraph separators,
the byte order mark, lone surrogates, tags, and a blank at either end."""

_OPENER: Final = re.compile(r"([0-9]{1,9})(?=[.)](?:\s|\Z))|(?=[#*+=\[_`~-])")
"""What a block could begin with: the number of a list item, or a character; the others are escaped as entities."""

_ESCAPED: Final = re.compile(r"\\(?:(n)|u\{([0-9A-Fa-f]{1,6})\}|([!-/:-@\[-`{-~]))|&(?:amp|lt|gt);")


def escape(text: str) -> str:
    """Return ``text`` as one line that forms no Markdown block and no comment."""
    opener = _OPENER.match(text)
    if opener is None:
        return _SPECIAL.sub(_escape_one, text)
    return f"{opener[0]}\\{_SPECIAL.sub(_escape_one, text[opener.end() :])}"


def escape_within(text: str, limit: int) -> str:
    """Return ``text`` escaped in at most ``limit`` characters; shortened text ends in ``…``."""
    whole = escape(text if len(text) <= limit else text[: limit - 1] + "…")
    if len(whole) <= limit:
        return whole
    longest = bisect_right(range(limit), limit, key=lambda length: len(escape(text[:length] + "…")))
    return escape(text[: longest - 1] + "…")


def unescape(line: str) -> str:
    """Return the text from which ``escape`` made ``line``; what is not an escape stays as it is."""
    return _ESCAPED.sub(_unescape_one, line)


def _escape_one(found: re.Match[str]) -> str:
    character = found[0]
    if character in _ENTITIES:
        return _ENTITIES[character]
    if character == "\n":
        return "\\n"
    return "\\\\" if character == "\\" else f"\\u{{{ord(character):x}}}"


def _unescape_one(found: re.Match[str]) -> str:
    newline, code, punctuation = found.groups()
    if newline:
        return "\n"
    if punctuation:
        return punctuation
    if not code:
        return _CHARACTERS[found[0]]
    number = int(code, 16)
    is_character = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if is_character else found[0]
