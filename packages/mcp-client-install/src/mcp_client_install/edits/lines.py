"""Parts that configurations in every language share: the error, the line breaks, and a block at the end of a text."""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

__all__ = ["BadConfiguration", "JsonValue", "append_block", "cut_block", "decode", "line_break", "nest", "position"]

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"
"""Any value in JSON."""

_BREAK: Final = re.compile(r"\r\n|\n|\r")
_FIRST_BREAK: Final = re.compile(r"\A(?:\r\n|\n|\r)")
_LAST_BREAK: Final = re.compile(r"(?:\r\n|\n|\r)\Z")


class BadConfiguration(ValueError):
    """The file cannot be changed safely, so it is left as it is; the message says why, and ``cure`` what to do."""

    def __init__(self, why: str, cure: str = "Correct that and run the command again.") -> None:
        super().__init__(why)
        self.cure = cure


def decode(data: bytes | None) -> str:
    """Return the text of a file; None is the content of no file.

    Raises:
        BadConfiguration: it is not UTF-8.
    """
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadConfiguration("it is not UTF-8 text") from error


def nest(path: Iterable[str], value: Any) -> Any:  # noqa: ANN401 - any JSON or TOML
    """Return ``value`` within an object for each key of ``path``, the first outermost."""
    for key in [*path][::-1]:
        value = {key: value}
    return value


def line_break(text: str) -> str:
    """Return the line break after the first line of ``text``, or a line feed if it has only one line."""
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def position(text: str, at: int) -> str:
    """Return the line and column of the character ``at``, for people."""
    before = _BREAK.split(text[:at])
    return f"line {len(before)}, column {len(before[-1]) + 1}"


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
