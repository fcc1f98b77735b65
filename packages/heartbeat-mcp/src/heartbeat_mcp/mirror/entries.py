r"""The entries of the section: renders them, escapes their text, and remembers them in receipts.

A line break in a text becomes ``\n``, a backslash ``\\``, a first character that could open a block gets a backslash
before it, and whatever could open HTML becomes an entity. Control, bidi and tag characters become ``\u{…}`` (S3), as
does a blank at either end, which editors and renderers would drop (HB-10, HB-11). Agents read code spans raw, so
nothing is escaped in them. The receipts, kept in the store in the same transaction as the tasks, record the digest of
each entry that the server wrote (HB-12).
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from hashlib import blake2b
from typing import Final, NamedTuple, Self

from pydantic import JsonValue

from heartbeat_mcp.models import SECTION, HeartbeatTask

__all__ = [
    "Entry",
    "Receipts",
    "digest_of",
    "escape",
    "escape_id",
    "escape_within",
    "is_overflow",
    "overflow_line",
    "render_entry",
    "unescape",
]

_MAX_SUMMARY: Final = 80
"""Characters of the request that the first line of an entry shows (HB-10)."""

_MAX_TEXT: Final = 400
"""Characters of the request, the result and each idea that an entry shows (HB-10)."""

_FIRST_LINE: Final = re.compile(r"\S[^\n\v\f\r\x85\u2028\u2029]{0,80}")
_OVERFLOW: Final = re.compile(rb"\((\d{1,9}) more tasks?: task_list shows (?:it|them)\)")


class Entry(NamedTuple):
    """The entry of a task in the section: its lines, joined by line feeds."""

    task_id: str
    is_running: bool
    text: bytes


def render_entry(task: HeartbeatTask) -> bytes:
    """Return the entry for ``task``, its lines joined by line feeds."""
    task_id = escape_id(task.id)
    shown = f" ({task.schedule_words})" if task.schedule_words else ""
    status = task.status.value
    ideas = [f"    - {escape_within(idea, _MAX_TEXT)}" for idea in task.ideas if idea]
    lines = [
        f"- [{status}] {task_id}{shown}: {_summary(task.raw_user_request)}".rstrip(" "),
        *_line("Raw User Request", escape_within(task.raw_user_request, _MAX_TEXT)),
        *_line("Raw Reference", escape(task.raw_reference or "")),
        *(["  - Idea:", *ideas] if ideas else []),
        f"  - Status: {status}",
        *_line("Result", escape_within(task.result or "", _MAX_TEXT)),
        *_line("Result File", escape(task.result_file or "")),
        f"  <!-- task_id: {task_id} -->",
    ]
    return "\n".join(lines).encode()


def _summary(request: str) -> str:
    first = _FIRST_LINE.search(request)
    return escape_within(first[0].rstrip(), _MAX_SUMMARY) if first else ""


def _line(name: str, value: str) -> list[str]:
    return [f"  - {name}: {value}"] if value else []


def overflow_line(count: int) -> bytes:
    """Return the line that replaces the ``count`` tasks for which there was no room (HB-14)."""
    return b"(%d more task%s: task_list shows %s)" % (count, *((b"", b"it") if count == 1 else (b"s", b"them")))


def is_overflow(line: bytes) -> bool:
    """Return whether ``line`` replaces tasks for which there was no room."""
    return _OVERFLOW.fullmatch(line) is not None


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

_SPECIAL_IN_ID: Final = re.compile(f"{_SPECIAL_OR_BACKTICK.pattern}|[<>]")
"""The characters that are escaped in an id: a comment with one of the last two is not read back as an entry's end."""

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


def escape_id(task_id: str) -> str:
    """Return an id as ``escape`` does, but safe within a comment too."""
    return _escape_plain(task_id, _SPECIAL_IN_ID)


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
    opener = _OPENER.match(text) if is_first and not start and not special.match(text) else None
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


_DIGEST_BYTES: Final = 6

_BULLET: Final = "-"
"""The prefix of the digest of a bullet that became the task."""

_LATER: Final = "+"
"""The prefix of the digest of an entry that may not be in the file yet, because its task may not be due."""


class Receipts:
    """The immutable receipts of one committed state: for each id its digests as one text, separated by blanks."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.stored = stored

    @classmethod
    def from_fields(cls, fields: Mapping[str, JsonValue]) -> Self | None:
        """Return the receipts that a store holds, or None if no server ever wrote the section."""
        found = fields.get(SECTION)
        if not isinstance(found, dict):
            return None
        return cls({task_id: text for task_id, text in found.items() if isinstance(text, str)})

    def knows(self, task_id: str, text: bytes) -> bool:
        """Return whether the server wrote ``text`` as the entry of the task."""
        return digest_of(text) in self.stored.get(task_id, "").replace(_LATER, "").split()

    def bullets(self, shown: Container[str]) -> Counter[str]:
        """Return, by digest, how many tasks were made from a bullet that may still be in the file.

        A task ``shown`` as an entry does not count: the entry replaced the bullet.
        """
        found = (word for task_id, text in self.stored.items() if task_id not in shown for word in text.split())
        return Counter(word.removeprefix(_BULLET) for word in found if word.startswith(_BULLET))

    def find_bullets(self) -> list[str]:
        """Return the ids of the tasks that have a bullet noted."""
        return [task_id for task_id, text in self.stored.items() if _BULLET in text]

    def build_next(
        self, tasks: Mapping[str, HeartbeatTask | None], shown: Mapping[str, bytes], bullets: Mapping[str, bytes] | None
    ) -> Self:
        """Return the receipts once ``tasks`` are as given, None for one that is gone.

        ``shown`` are the entries that are in the file now, by id, and ``bullets`` those that became tasks in this call,
        beside the ones that are noted; None if no such bullet is in the file any more.
        """
        stored = dict(self.stored)
        for task_id, task in tasks.items():
            digests: list[str] = [digest_of(shown[task_id])] if task_id in shown else []
            if bullets is not None:
                digests += [word for word in self.stored.get(task_id, "").split() if word.startswith(_BULLET)]
                digests += [_BULLET + digest_of(bullets[task_id])] if task_id in bullets else []
            if task is not None and task.is_active:
                digest = digest_of(render_entry(task))
                digests.append(digest if task.starts is None or digest in digests else _LATER + digest)
            stored[task_id] = " ".join(dict.fromkeys(digests))
            if not digests:
                del stored[task_id]
        return Receipts(stored)

    def find_missing(self, shown: Container[str]) -> list[str]:
        """Return the ids of the tasks that had an entry, or were about to get one, and are not ``shown``."""
        waiting = (_BULLET, _LATER)
        found = [task_id for task_id, text in self.stored.items() if not any(mark in text for mark in waiting)]
        return [task_id for task_id in found if task_id not in shown]

    def find_outdated(self, shown: Mapping[str, bytes], active: Container[str]) -> list[str]:
        """Return the ids of the tasks whose receipts name an entry that is not ``shown`` any more, or is now."""
        hidden = self.stored.keys() - shown.keys()
        gone = [task_id for task_id in hidden if task_id not in active or " " in self.stored[task_id]]
        return gone + [task_id for task_id in shown if _LATER in self.stored.get(task_id, "")]


def digest_of(text: bytes) -> str:
    """Return the digest of an entry or a bullet, its lines joined by line feeds."""
    return blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()
