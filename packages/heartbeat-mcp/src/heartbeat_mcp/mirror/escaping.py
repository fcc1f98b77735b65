r"""Escapes text so that it is one line that forges nothing, and restores it (HB-10, HB-11, S3).

A line break becomes ``\n``, a backslash ``\\``, a first character that could open a block gets a backslash before it,
and whatever could open HTML becomes an entity. Control, bidi and tag characters become ``\u{…}``, as does a blank at
either end, which editors and renderers would drop. Agents read code spans raw, so nothing is escaped in them.
"""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["escape", "escape_within", "unescape"]

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CHARACTERS: Final = {name: character for character, name in _ENTITIES.items()}

_BLANK: Final = r"\u{20}"

_HIDDEN: Final = (
    "\\x00-\\x1f\\x7f-\\x9f"
    "\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff"
    "\\ud800-\\udfff\\U000e0000-\\U000e007f"
)
"""C0 and C1 controls, marks and overrides of direction, line and paragraph separators, the byte order mark, lone
surrogates and tags."""

_ANY_HIDDEN: Final = re.compile(f"[{_HIDDEN}]")

_SPECIAL: Final = re.compile(f"[\\\\{_HIDDEN}]|<(?=[A-Za-z/!?])|(?<=--)>|&(?=(?:amp|lt|gt);)")
"""The characters that are escaped outside code; what would be read back as an entity is among them."""

_SPECIAL_OR_BACKTICK: Final = re.compile(f"{_SPECIAL.pattern}|`")

_OPENER: Final = re.compile(r"([0-9]{1,9})(?=[.)](?:\s|\Z))|(?=[#*+=\[_~>-])")
"""The possible beginnings of a block: the number of a list item, or a character; HTML is escaped as entities."""

_RUN: Final = re.compile("`+")

_TOKEN: Final = re.compile(r"\\(?:(n)|u\{([0-9A-Fa-f]{1,6})\}|([!-/:-@\[-`{-~]))|&(?:amp|lt|gt);|(`+)")
"""An escape, or a run of backticks, which may open a code span."""


def escape(text: str) -> str:
    """Return ``text`` as one line that forms no Markdown block and no comment."""
    if "`" not in text:
        return _escape_plain(text, _SPECIAL)
    parts = [*_split_code(text)]
    last = len(parts) - 1
    line = "".join(
        _escape_part(part, is_code=number % 2 == 1, is_first=number == 0, is_last=number == last)
        for number, part in enumerate(parts)
    )
    # Backticks may pair in another way once the text is escaped, and a run of three may open a fence.
    is_right = unescape(line) == text and not parts[0].startswith("```")
    return line if is_right else _escape_plain(text, _SPECIAL_OR_BACKTICK)


def escape_within(text: str, limit: int) -> str:
    """Return ``text`` escaped in at most ``limit`` characters; shortened text ends in ``…``."""
    if len(text) <= limit and len(whole := escape(text)) <= limit:
        return whole
    # A longer beginning can be shorter when escaped, if it closes a code span: so the lengths are tried one by one.
    lines = (escape(text[:length] + "…") for length in range(min(limit - 1, len(text)), -1, -1))
    return next(line for line in lines if len(line) <= limit)


def unescape(line: str) -> str:
    """Return the text from which ``escape`` made ``line``; what is not an escape stays as it is."""
    parts, place = list[str](), 0
    while found := _TOKEN.search(line, place):
        parts.append(line[place : found.start()])
        place = found.end()
        if found[4]:
            place = _find_end_of_code(line, found) or place
            parts.append(line[found.start() : place])
        else:
            parts.append(_unescape_one(found))
    return "".join([*parts, line[place:]])


def _escape_part(text: str, *, is_code: bool, is_first: bool, is_last: bool) -> str:
    if not is_code:
        return _escape_plain(text, _SPECIAL, is_first=is_first, is_last=is_last)
    return _SPECIAL_OR_BACKTICK.sub(_escape_one, text) if _ANY_HIDDEN.search(text) else text


def _escape_plain(text: str, special: re.Pattern[str], *, is_first: bool = True, is_last: bool = True) -> str:
    start = _BLANK if is_first and text.startswith(" ") else ""
    text = text[1:] if start else text
    end = _BLANK if is_last and text.endswith(" ") else ""
    text = text[:-1] if end else text
    opener = _OPENER.match(text) if is_first and not start else None
    if opener:
        start, text = f"{opener[0]}\\", text[opener.end() :]
    return start + special.sub(_escape_one, text) + end


def _split_code(text: str) -> Iterator[str]:
    """Yield the parts of ``text``: by turns one that is not code, even if it is empty, and a code span."""
    start = place = 0
    while run := _RUN.search(text, place):
        end = _find_end_of_code(text, run)
        place = end or run.end()
        if end:
            yield text[start : run.start()]
            yield text[run.start() : end]
            start = end
    yield text[start:]


def _find_end_of_code(text: str, run: re.Match[str]) -> int:
    """Return where the code span ends that ``run`` opens: after the next run of as many backticks; 0 if none does."""
    runs = _RUN.finditer(text, run.end())
    return next((other.end() for other in runs if len(other[0]) == len(run[0])), 0)


def _escape_one(found: re.Match[str]) -> str:
    character = found[0]
    if character in _ENTITIES:
        return _ENTITIES[character]
    if character == "\n":
        return "\\n"
    return f"\\{character}" if character in "\\`" else f"\\u{{{ord(character):x}}}"


def _unescape_one(found: re.Match[str]) -> str:
    newline, code, punctuation, _ = found.groups()
    if newline:
        return "\n"
    if punctuation:
        return punctuation
    if not code:
        return _CHARACTERS[found[0]]
    number = int(code, 16)
    is_character = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if is_character else found[0]
