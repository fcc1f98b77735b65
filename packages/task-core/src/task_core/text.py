"""Text for people and models: short forms, invisible characters made visible, near names."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise
from typing import Final
from unicodedata import normalize

__all__ = ["address_people", "end_sentence", "escape_invisible", "fold", "nearest", "pluralize", "shorten"]

_INVISIBLE: Final = re.compile(
    "["
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    r"\u2028\u2029"  # line and paragraph separators
    r"\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # zero width
    r"\U000e0000-\U000e007f"  # tags
    r"\ud800-\udfff"  # halves of a character, which UTF-8 cannot write
    "]"
)
"""Characters that are invisible or misleading (S3). The joiners U+200C and U+200D stay: scripts and emoji need them."""

_QUOTED: Final = re.compile(r"(?<!\w)'[^']*'(?!\w)")

_PROTOCOL: Final = re.compile(r"`|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w*|call again")
"""The name of a tool or an argument, or another word that only a model understands."""

_LONGEST_NAME: Final = 200
"""Characters of a name that are compared: ids are shorter, and the cost grows with the square of the length."""


def address_people(message: str) -> str:
    """Return the message of an error, which tells a model what to do, as it is for the user.

    Sentences after the first that name a tool or an argument, outside quotes, are left out.
    """
    message = re.sub(r"Ask the user to ([a-z])", lambda found: found[1].upper(), message)
    message = re.sub(r"Call \w+( \([^)]*\))? to create", "Ask your agent to create", message)
    message = re.sub(r"(Correct the arguments|Correct '\w+') and call again: ", "", message)
    message = re.sub(r"[;,] then call again\b", "; then try again", message).replace("Call again", "Try again")
    message = message.replace("This argument is", "This is")
    plain = _QUOTED.sub(lambda found: "'" * len(found[0]), message)
    ends = [0, *(found.end() for found in re.finditer(r"[.?!] (?=[A-Z'])", plain)), len(message)]
    kept = [message[start:end] for start, end in pairwise(ends) if not (start and _PROTOCOL.search(plain[start:end]))]
    return "".join(kept).rstrip()


def end_sentence(text: str) -> str:
    """Return ``text`` with a period, unless it ends in one or in another mark of that kind."""
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun, which is in the plural unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten(text: str, limit: int) -> str:
    """Return ``text`` in at most ``limit`` characters, one or more; shortened text ends in ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def fold(text: str) -> str:
    """Return ``text`` in the form in which words are searched: NFKC, case folded, without NUL."""
    return normalize("NFKC", normalize("NFKC", text).casefold()).replace("\0", " ")


def escape_invisible(text: str) -> str:
    r"""Return ``text`` with control, bidi, tag and zero-width characters as ``\u{…}``, line breaks included (S3).

    A backslash stays as it is; to read the text back, escape backslashes first.
    """
    return _INVISIBLE.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", text)


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return the up to three ``known`` names that are most like ``name``, in any case, nearest first (ERR-4).

    Names less alike than ``cutoff``, from 0 to 1, are left out. Equally near ones are in reverse alphabetical order.
    """
    folded = {other.casefold(): other for other in known}
    wanted = shorten(name, _LONGEST_NAME).casefold()
    return [folded[other] for other in get_close_matches(wanted, list(folded), n=3, cutoff=cutoff)]
