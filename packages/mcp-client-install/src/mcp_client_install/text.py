"""Text: a block at its end, line breaks, invisible characters, near names, and the error of a configuration."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final, TypeAlias
from unicodedata import category

__all__ = [
    "BadConfiguration",
    "JsonValue",
    "Key",
    "append_block",
    "cut_block",
    "decode",
    "escape_invisible",
    "line_break",
    "nearest",
    "nest",
    "shorten",
]

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"
"""Any value in JSON."""

Key: TypeAlias = str | int
"""The name of a member of an object, or the place of one in a list."""

_BREAK: Final = re.compile(r"\r\n|\n|\r")
_FIRST_BREAK: Final = re.compile(r"\A(?:\r\n|\n|\r)")
_LAST_BREAK: Final = re.compile(r"(?:\r\n|\n|\r)\Z")

_INVISIBLE: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""The categories of invisible or misleading characters."""

_JOINERS: Final = "\u200c\u200d"
"""Characters that stay: scripts and emoji need them."""


class BadConfiguration(ValueError):
    """The file cannot be changed safely, so it is left as it is; the message says why, and ``cure`` what to do."""

    def __init__(self, why: str, cure: str = "Correct that and run the command again.") -> None:
        super().__init__(why)
        self.cure = cure


def decode(data: bytes | None) -> str:
    """Return the text of a file, where None is no file; raise ``BadConfiguration`` unless it is UTF-8."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadConfiguration("it is not UTF-8 text") from error


def nest(path: Iterable[Key], value: Any) -> Any:  # noqa: ANN401 - any JSON or TOML
    """Return ``value`` as the only member of an object or list for each key of ``path``, the first outermost."""
    for key in [*path][::-1]:
        value = {key: value} if isinstance(key, str) else [value]
    return value


def line_break(text: str) -> str:
    """Return the line break after the first line of ``text``, or a line feed if it has only one line."""
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def append_block(text: str, block: str) -> str:
    """Return ``text`` with ``block``, whose lines end in line feeds, after a blank line; ``cut_block`` undoes it.

    A text whose last line is not ended stays one: so its former end is known.
    """
    end = line_break(text)
    block = block.replace("\n", end)
    if text and not text.endswith(("\n", "\r")):
        return f"{text}{end}{end}{block.removesuffix(end)}"
    return f"{text}{end if text else ''}{block}"


def cut_block(text: str, start: int, stop: int) -> str:
    """Return ``text`` without the lines from ``start`` to ``stop``, and without a blank line next to them."""
    before, after = text[:start], text[stop:]
    if not before:
        return _FIRST_BREAK.sub("", after)
    if not text[start:stop].endswith(("\n", "\r")):
        return _LAST_BREAK.sub("", _LAST_BREAK.sub("", before)) + after
    shorter = _LAST_BREAK.sub("", before)
    is_blank_line = shorter.endswith(("\n", "\r"))
    return (shorter if is_blank_line else before) + after


def escape_invisible(text: str) -> str:
    r"""Return ``text`` with control, direction, tag and zero-width characters as ``\u{…}``, line breaks included."""
    return "".join(f"\\u{{{ord(it):x}}}" if category(it) in _INVISIBLE and it not in _JOINERS else it for it in text)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, in any case, nearest first."""
    folded = {other.casefold(): other for other in known}
    return [folded[other] for other in get_close_matches(name.casefold()[:200], list(folded))]


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters; shortened text ends in ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
