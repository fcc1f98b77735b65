"""Reads a bullet of the section: an entry of the server, or what a person wrote (HB-12, HB-15)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self

from heartbeat_mcp.mirror.brackets import parse_status, read_bracket
from heartbeat_mcp.mirror.entries import escape_id, unescape
from heartbeat_mcp.mirror.markdown import Block, BlockKind, dedent, scan
from heartbeat_mcp.models import HeartbeatStatus, HeartbeatTask
from heartbeat_mcp.recurrence import WORDS, parse_words

__all__ = ["Details", "FoundTask", "Item", "find_ids", "is_closing_comment", "parse_task", "read_item"]

_MARKER: Final = re.compile(r"[ \t]*[-+*][ \t]*")
_ANY_BRACKET: Final = re.compile(r"\A\[[^\[\]]*\][ \t]*")
_NAMED: Final = re.compile(rf"([a-z]+(?:-[a-z0-9]+)+)(?: {WORDS})?:(?:[ \t]|\Z)")
_AFTER_ID: Final = re.compile(rf"(?: {WORDS})?(?::(.*))?", re.DOTALL)
_MARKED: Final = re.compile(rf"(.*\S)[ \t]*{WORDS}")
_COMMENT: Final = re.compile(r"^[ \t]*<!--[ \t]*task_id:([^<>\n]*)-->$", re.MULTILINE)
_ANY_COMMENT: Final = re.compile(rb"<!--[ \t]*task_id:([^<>\r\n]*)-->")
_PLACEHOLDER: Final = re.compile(
    r"[\W_]*(?:n/?a|tbd|placeholder\b.*"
    r"|(?:none|nothing|empty|no (?:\w+ )?(?:tasks?|items?|to-?dos?))(?: here)?(?: yet| (?:for |right )?now| so far)?"
    r"|(?:your|first|add(?: your| a)?) tasks?(?: goes| go)?(?: here)?|暂?无|空|なし)?[\W_]*",
    re.IGNORECASE,
)
"""A text that only keeps a place, such as ``(none)``, or one without any word."""

_SURROGATE: Final = re.compile("[\\ud800-\\udfff]")
_FIELD: Final = re.compile(
    r"(?:\[(?:required|optional)\][ \t]*)?"
    r"(raw user request|raw reference|idea|status|result file|result)s?[ \t]*[:\uff1a][ \t]*(.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Details:
    """The lines of a bullet below its first one."""

    fields: dict[str, str]
    """The value of each field by its name in lower case."""
    ideas: tuple[str, ...]
    rest: str
    """All other lines."""


@dataclass(frozen=True)
class Item:
    """A top-level bullet of the section."""

    text: str
    """Its lines without blanks at their ends, joined by line feeds."""
    offset: int
    """The columns before its content."""
    status: HeartbeatStatus | None
    """The status that its bracket names."""
    is_template: bool
    """True if its bracket lists several statuses."""
    title: str
    """Its first line after the bracket."""
    closing_id: str | None
    """The id in its closing comment, None without such a comment."""

    @property
    def is_entry(self) -> bool:
        """True if first line and closing comment agree, as they do in each entry that the server writes (H5)."""
        return self.closing_id is not None and self._after_id(self.closing_id) is not None

    @property
    def is_well_formed(self) -> bool:
        """True if its bytes are valid UTF-8."""
        return _SURROGATE.search(self.text) is None

    @property
    def is_stray_field(self) -> bool:
        """True if it is a field of an entry, indented like one, but without the entry's first line."""
        first = self.text.partition("\n")[0]
        return first.startswith((" ", "\t")) and _FIELD.fullmatch(_content(first)) is not None

    @property
    def is_placeholder(self) -> bool:
        """True if it is one line that only keeps the place of a task."""
        return "\n" not in self.text and _PLACEHOLDER.fullmatch(self.title) is not None

    @property
    def named_id(self) -> str | None:
        """The id on the first line of a bullet that has a status but no closing comment."""
        named = _NAMED.match(self.title)
        return named[1] if named and self.status and self.closing_id is None else None

    @cached_property
    def details(self) -> Details:
        """The lines below the first one, sorted into fields, ideas and the rest."""
        return _read_details(self)

    def read_title(self, task_id: str | None) -> tuple[str, dict[str, str]]:
        """Return the text of the first line, and the schedule: after the id, or a rule with which a bullet ends."""
        after = self._after_id(task_id) if task_id else None
        if after:
            schedule, title = parse_words(after[1] or ""), (after[2] or "").strip(" \t")
            return title if schedule or not after[1] else f"({after[1]}) {title}", schedule
        marked = _MARKED.fullmatch(self.title)
        schedule = parse_words(marked[2] if marked else "")
        return (marked[1], schedule) if marked and {"every", "cron"} & schedule.keys() else (self.title, {})

    def says_the_same_as(self, other: Self) -> bool:
        """Return whether the two differ only in blanks, markers and the order of their fields."""
        return (self.status, self.title, self.details) == (other.status, other.title, other.details)

    def _after_id(self, task_id: str) -> re.Match[str] | None:
        """Return the schedule and the text after the id, if the title begins with that."""
        title, name = _ANY_BRACKET.sub("", self.title, count=1), escape_id(task_id)
        return _AFTER_ID.fullmatch(title, len(name)) if task_id and title.startswith(name) else None


def read_item(text: str, offset: int) -> Item:
    """Return the bullet ``text``, whose content begins ``offset`` columns from the margin."""
    status, is_template, title = read_bracket(_content(text.partition("\n")[0]))
    closing = _COMMENT.search(text)
    return Item(text, offset, status, is_template, title, _read_id(closing[1]) if closing else None)


def is_closing_comment(line: bytes) -> bool:
    """Return whether ``line`` is the comment that closes an entry."""
    return _COMMENT.fullmatch(line.decode(errors="surrogateescape")) is not None


def find_ids(data: bytes) -> frozenset[str]:
    """Return every id in a ``<!-- task_id: … -->`` comment anywhere in ``data`` (C4)."""
    found = (_read_id(comment.decode(errors="replace")) for comment in _ANY_COMMENT.findall(data))
    return frozenset(task_id for task_id in found if task_id)


def _read_id(comment: str) -> str:
    return unescape(comment.strip(" \t"))


def _content(line: str) -> str:
    marker = _MARKER.match(line)
    return line[marker.end() :] if marker else line


def _read_details(item: Item) -> Details:
    """Sort the lines of ``item`` into fields, ideas and the rest, by the blocks that they form within it."""
    first, *below = _COMMENT.sub("", item.text, count=1).split("\n")
    lines = [_encode(_content(first)), *(dedent(_encode(line), item.offset) for line in below)]
    fields: dict[str, str] = {}
    ideas: list[str] = []
    rest = dict(enumerate(lines))
    del rest[0]
    for block in scan(lines):
        if block.start and _read_field(block, lines[block.start : block.end], fields, ideas):
            for number in range(block.start, block.end):
                del rest[number]
    return Details(fields, tuple(ideas), _join_lines(rest.values()))


def _read_field(block: Block, lines: list[bytes], fields: dict[str, str], ideas: list[str]) -> bool:
    """Add the bullet in ``lines`` to ``fields`` or ``ideas``, if it is a field that was not read before."""
    field = _FIELD.fullmatch(_content(_decode(lines[0]))) if block.kind is BlockKind.BULLET else None
    if field is None or (name := field[1].lower()) in fields:
        return False
    below = list(_read_lines_below(block, lines))
    if name == "idea":
        fields[name] = ""
        ideas.extend(_read_ideas(field[2], below))
        return True
    value = _join_lines([_encode(field[2]), *below])
    if name == "status" and parse_status(value) is None:
        return False
    fields[name] = value
    return True


def _read_ideas(value: str, lines: list[bytes]) -> Iterator[str]:
    if value:
        yield value
    for block in scan(lines):
        part = lines[block.start : block.end]
        if block.kind is BlockKind.BULLET:
            part = [_encode(_content(_decode(part[0]))), *_read_lines_below(block, part)]
        yield _join_lines(part)


def _read_lines_below(block: Block, lines: list[bytes]) -> Iterator[bytes]:
    return (dedent(line, block.offset) for line in lines[1:])


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _decode(line: bytes) -> str:
    return line.decode(errors="surrogateescape")


def _join_lines(lines: Iterable[bytes]) -> str:
    return _decode(b"\n".join(lines)).strip("\n")


@dataclass(frozen=True)
class FoundTask:
    """One task as the section describes it."""

    id: str | None
    """None if it was written by hand: the service makes an id"""
    status: HeartbeatStatus
    raw_user_request: str
    raw_reference: str | None = None
    ideas: tuple[str, ...] = ()
    result: str | None = None
    result_file: str | None = None
    extra_fields: Mapping[str, str] = field(default_factory=dict)
    """Its schedule."""

    def agrees_with(self, task: HeartbeatTask) -> bool:
        """Return whether ``task`` holds all that was found, so that its entry can replace this."""
        mine = {name: value for name, value in vars(self).items() if name not in ("id", "extra_fields")}
        is_same = all((getattr(task, name) or None) == (value or None) for name, value in mine.items())
        return is_same and self.extra_fields.items() <= task.extra_fields.items()


def parse_task(item: Item, *, takes_name: bool = False) -> FoundTask:
    """Return the task that ``item`` describes; with ``takes_name`` an id written by hand is accepted.

    Text of an entry is unescaped, what a person wrote is taken as it is, and all of both: what is not a field becomes
    part of the request, or an idea if the request has a field of its own.
    """
    details = item.details
    request = details.fields.get("raw user request")
    read: Callable[[str], str] = str
    task_id = None
    if item.is_entry:
        read, task_id = unescape, item.closing_id
    elif takes_name and request is not None:
        task_id = item.named_id
    title, schedule = item.read_title(task_id)
    ideas = details.ideas
    if request is None:
        request = "\n".join(filter(None, (title, details.rest)))
    else:
        is_cut = read(request).lstrip().startswith(read(title).removesuffix("…"))
        ideas = tuple(filter(None, ("" if is_cut else title, *ideas, details.rest)))

    def text(value: str) -> str:
        return read(value.encode(errors="surrogateescape").decode(errors="replace"))

    fields = details.fields
    return FoundTask(
        task_id,
        item.status or parse_status(fields.get("status", "")) or HeartbeatStatus.PENDING,
        text(request),
        text(fields.get("raw reference", "")) or None,
        tuple(map(text, ideas)),
        text(fields.get("result", "")) or None,
        text(fields.get("result file", "")) or None,
        schedule,
    )
