"""A bullet of the section read back: an entry of the server, or what a person wrote (HB-12, HB-15)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from heartbeat_mcp.mirror.blocks import Block, BlockKind, scan
from heartbeat_mcp.mirror.cursor import dedent
from heartbeat_mcp.mirror.escape import escape, unescape
from heartbeat_mcp.models import Status, Task

__all__ = ["Details", "FoundTask", "Item", "find_ids", "found_task", "read_item"]

_BULLET: Final = re.compile(r"[ \t]*[-+*][ \t]*")
_BRACKET: Final = re.compile(r"\[([^\[\]]*)\](.*)")
_ANY_BRACKET: Final = re.compile(r"\A\[[^\[\]]*\][ \t]*")
_NAMED: Final = re.compile(r"([a-z]+(?:-[a-z0-9]+)+):[ \t]*")
_COMMENT: Final = re.compile(r"<!--[ \t]*task_id:([^<>\n]*)-->")
_COMMENT_BYTES: Final = re.compile(rb"<!--[ \t]*task_id:([^<>\r\n]*)-->")
_FIELD: Final = re.compile(
    r"(?:\[(?:required|optional)\][ \t]*)?"
    r"(raw user request|raw reference|idea|status|result file|result)s?[ \t]*[:：][ \t]*(.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FoundTask:
    """What stands in the section about one task."""

    id: str | None
    """None for one that was written by hand: the service makes an id"""
    status: Status
    raw_user_request: str
    raw_reference: str | None = None
    ideas: tuple[str, ...] = ()
    result: str | None = None
    result_file: str | None = None

    def agrees_with(self, task: Task) -> bool:
        """Whether ``task`` holds all that was found, so that nothing is lost when its entry takes the place of this."""
        return (
            self.status is task.status
            and self.raw_user_request == task.raw_user_request
            and (self.raw_reference or "") == (task.raw_reference or "")
            and self.ideas == task.ideas
            and (self.result or "") == (task.result or "")
            and (self.result_file or "") == (task.result_file or "")
        )


@dataclass(frozen=True)
class Details:
    """What stands in a bullet below its first line."""

    fields: dict[str, str]
    """by lower-case name"""
    ideas: tuple[str, ...]
    rest: str
    """everything that is no field"""


@dataclass(frozen=True)
class Item:
    """A top-level bullet of the section."""

    text: str
    """its lines without blanks at their ends, joined by line feeds"""
    offset: int
    """columns before its content"""
    status: Status | None
    """that its bracket names"""
    is_template: bool
    """whether its bracket lists several statuses"""
    title: str
    """its first line behind the bracket"""
    closing_id: str | None
    """the id in its closing comment, None without such a comment"""

    @property
    def is_entry(self) -> bool:
        """Whether the first line and the closing comment agree, as in what the server writes (H5)."""
        if not self.closing_id:
            return False
        title = _ANY_BRACKET.sub("", self.title, count=1)
        return f"{title}:".startswith(f"{escape(self.closing_id)}:")

    @cached_property
    def named_id(self) -> str | None:
        """The id that a bullet with a status but no closing comment gives on its first line."""
        named = _NAMED.match(self.title)
        return named[1] if named and self.status and self.closing_id is None else None

    @cached_property
    def details(self) -> Details:
        """What stands below the first line."""
        return _read_details(self)


def read_item(text: str, offset: int) -> Item:
    """Return the bullet ``text``, whose content begins ``offset`` columns from the margin."""
    first = text.partition("\n")[0]
    content = first[_marker_end(first) :]
    status, is_template, title = _read_bracket(content)
    closing = _find_comment(text)
    return Item(text, offset, status, is_template, title, closing)


def found_task(item: Item) -> FoundTask:
    """Return the task that ``item`` tells of; the text of an entry is unescaped, that of a person taken as it is."""
    return _from_entry(item) if item.is_entry else _from_person(item)


def find_ids(data: bytes) -> frozenset[str]:
    """Return every id that stands in a ``<!-- task_id: … -->`` comment anywhere in ``data`` (C4)."""
    found = (_id_of(match[1].decode(errors="replace")) for match in _COMMENT_BYTES.finditer(data))
    return frozenset(task_id for task_id in found if task_id)


def _id_of(text: str) -> str:
    return unescape(text.strip(" \t"))


def _find_comment(text: str) -> str | None:
    for found in _COMMENT.finditer(text):
        line_start = text.rfind("\n", 0, found.start()) + 1
        line_end = text.find("\n", found.end())
        is_alone = not text[line_start : found.start()].strip(" \t") and line_end in (-1, found.end())
        if is_alone:
            return _id_of(found[1])
    return None


def _marker_end(line: str) -> int:
    marker = _BULLET.match(line)
    return marker.end() if marker else 0


def _as_status(name: str) -> Status | None:
    try:
        return Status(name.strip())
    except ValueError:
        return None


def _read_bracket(content: str) -> tuple[Status | None, bool, str]:
    """Return the status in the bracket before the text, whether it is a template, and the text."""
    bracket = _BRACKET.match(content)
    if bracket is None:
        return None, False, content
    inside, rest = bracket[1].strip(), bracket[2]
    if inside in ("", "x", "X") and (not rest or rest[0] in " \t"):
        return Status.COMPLETE if inside else None, False, rest.strip(" \t")
    names = re.split(r"[/|,、]", inside)
    if len(names) > 1 and any(map(_as_status, names)):
        return None, True, rest
    status = _as_status(inside)
    if status is None or rest.startswith(("(", "[", ":")):
        return None, False, content
    return status, False, rest.strip(" \t")


def _read_details(item: Item) -> Details:
    """Sort the lines of ``item`` into fields, ideas and the rest, by the blocks that they form within it."""
    first, *below = item.text.encode(errors="surrogateescape").split(b"\n")
    lines = [first.strip(), *(dedent(line, item.offset) for line in below)]
    fields: dict[str, str] = {}
    ideas: list[str] = []
    rest = dict(enumerate(lines[1:], 1))
    for block in scan(lines):
        part = lines[block.start : block.end]
        if block.start and _read_field(block, part, fields, ideas) or _is_closing(item, part):
            for number in range(block.start, block.end):
                del rest[number]
    return Details(fields, tuple(ideas), _joined(rest.values()))


def _is_closing(item: Item, part: list[bytes]) -> bool:
    return item.closing_id is not None and len(part) == 1 and _COMMENT.fullmatch(_decoded(part[0])) is not None


def _read_field(block: Block, lines: list[bytes], fields: dict[str, str], ideas: list[str]) -> bool:
    """Put the bullet that ``lines`` are into ``fields`` or ``ideas`` if it is a field that has not been read yet."""
    if block.kind is not BlockKind.BULLET:
        return False
    first = _decoded(lines[0])
    field = _FIELD.fullmatch(first, _marker_end(first))
    if field is None or field[1].lower() in fields:
        return False
    name, value = field[1].lower(), field[2]
    below = [dedent(line, block.offset) for line in lines[1:]]
    if name == "idea":
        ideas.extend(_read_ideas(value, below))
    elif name == "status" and (below or not _as_status(value)):
        return False
    fields[name] = _joined([value.encode(errors="surrogateescape"), *below])
    return True


def _read_ideas(value: str, lines: list[bytes]) -> Iterator[str]:
    if value:
        yield value
    for block in scan(lines):
        first, *below = lines[block.start : block.end]
        if block.kind is BlockKind.BULLET:
            start = _marker_end(_decoded(first))
            yield _joined([first[start:], *(dedent(line, block.offset) for line in below)])
        else:
            yield _joined([first, *below])


def _decoded(line: bytes) -> str:
    return line.decode(errors="surrogateescape")


def _joined(lines: Iterable[bytes]) -> str:
    return _decoded(b"\n".join(lines)).strip("\n")


def _from_entry(item: Item) -> FoundTask:
    details = item.details
    title = item.title.partition(":")[2].strip(" \t")
    return _found(item, item.closing_id, unescape(details.fields.get(_REQUEST, title)), details.ideas, unescape)


def _from_person(item: Item) -> FoundTask:
    details = item.details
    request = details.fields.get(_REQUEST)
    if request is None:
        whole = "\n".join(part for part in (item.title, details.rest) if part)
        return _found(item, None, whole, details.ideas, str)
    title = _NAMED.sub("", item.title, count=1) if item.named_id else item.title
    more = () if request.startswith(title.rstrip("…")) else (title,)
    return _found(item, item.named_id, request, (*more, *details.ideas, *((details.rest,) if details.rest else ())), str)
