"""How records become the bytes of a document, and a document records again (ST-1, L1, L2).

Records are frozen, so the bytes of each are made once and kept as ``lines`` says. Of a document that stands just as it
would be written, they are taken from there: such a document is read line by line, what is known of it not at all.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from operator import is_
from typing import Final, Generic, TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json
from typing_extensions import override

from task_core.models import Record
from task_core.store.lines import SEPARATOR, Lines, Piece
from task_core.strict_json import NotJson, TooDeep, read
from task_core.text import escape_invisible, shorten

__all__ = ["Codec", "Damaged", "Decoded", "Kept", "ListCodec", "Newer", "in_pieces", "is_nested_deeper"]

RecordT = TypeVar("RecordT", bound=Record)

_BOM: Final = b"\xef\xbb\xbf"

_LIST_END: Final = b"\n]"
"""After the last task of a list."""

_ECHO_LIMIT: Final = 100
"""Characters of an id or a key of the document that a warning repeats at most."""

_MAX_DEPTH: Final = 190
"""Levels of a document: an answer puts some of its own around a task, and clients stop reading near 200."""

_TASK_DEPTH: Final = _MAX_DEPTH - 2
"""Levels that a task may nest within the object and the list around it."""


class Damaged(ValueError):
    """A document cannot be understood as a whole."""


class Newer(Exception):
    """A document has a format version that this server does not know yet."""

    def __init__(self, found: int, supported: int) -> None:
        super().__init__(found, supported)
        self.found = found
        self.supported = supported


@dataclass(frozen=True)
class Kept:
    """What a document holds besides its records, to be written back as it was."""

    fields: Mapping[str, JsonValue] = field(default_factory=dict)
    """Unknown fields of the document."""
    unread: tuple[JsonValue, ...] = ()
    """Tasks that are not valid, in their order."""


@dataclass(frozen=True)
class Decoded(Generic[RecordT]):
    """What a document holds."""

    records: Mapping[str, RecordT] = field(default_factory=dict)
    """By id, in stored order."""
    kept: Kept = field(default_factory=Kept)
    faults: tuple[str, ...] = ()
    """What was put right or left out, in a sentence each."""
    lines: Lines | None = field(default=None, compare=False)
    """The encoded records, where the document holds them just as they would be written."""


class Codec(ABC, Generic[RecordT]):
    """Maps the records of one server to its own document format."""

    def decode(self, data: bytes, last: Decoded[RecordT] | None = None) -> Decoded[RecordT]:
        """Return what the document holds; what it held at ``last`` and still holds is taken from there.

        Raises:
            Damaged: it is not a document of this server.
            Newer: a newer version of the server wrote it.
        """
        written = self.decode_written(data, last or Decoded())
        return self.decode_any(data) if written is None else written

    @abstractmethod
    def decode_written(self, data: bytes, last: Decoded[RecordT]) -> Decoded[RecordT] | None:
        """Return what ``decode_any`` would, when the document is byte for byte what is written for it, else None.

        That is proof enough of strict JSON: what is written repeats no key and holds no half of a character.
        """

    @abstractmethod
    def decode_any(self, data: bytes) -> Decoded[RecordT]:
        """Return what the document holds, however it is laid out.

        Raises:
            Damaged: it is not a document of this server.
            Newer: a newer version of the server wrote it.
        """

    @abstractmethod
    def pieces(self, lines: Lines, kept: Kept) -> Sequence[bytes]:
        """Return the document that holds the encoded records, in order, as pieces to be written in turn."""

    def assemble(self, lines: Lines, kept: Kept) -> bytes:
        """Return the document of ``pieces`` as a whole."""
        return b"".join(self.pieces(lines, kept))

    def encode(self, record: RecordT) -> bytes:
        """Return the bytes that stand for ``record`` in the document."""
        return record.to_json()


class ListCodec(Codec[RecordT]):
    """A document ``{"version", "tasks": [one task a line]}``, with an index of positions where a server wants one."""

    def __init__(self, record_type: type[RecordT], *, version: int = 1, index_field: str | None = None) -> None:
        self._record_type = record_type
        self._version = version
        self._index_field = index_field
        self._index = _Index()
        self._head = b'{\n"version": %d,\n"tasks": [\n' % version

    @override
    def decode_any(self, data: bytes) -> Decoded[RecordT]:
        """Return the tasks; one that is not valid is kept unread, and a repeated id gets a number behind it."""
        document = _parse(data)
        if not isinstance(document, dict):
            raise Damaged("it is not a JSON object")
        self._check_version(document.get("version", self._version))
        items = document.get("tasks")
        if not isinstance(items, list):
            raise Damaged("'tasks' is not a list")
        ours = {"version", "tasks", self._index_field}
        fields = {name: value for name, value in document.items() if name not in ours}
        return self._decode_items(items, fields)

    @override
    def decode_written(self, data: bytes, last: Decoded[RecordT]) -> Decoded[RecordT] | None:
        """Read a document with a task a line and nothing else that was not there at ``last``."""
        end = data.find(_LIST_END, len(self._head))
        # Tasks that are not valid would have to be told anew.
        if last.kept.unread or not data.startswith(self._head) or end < 0:
            return None
        known = last.lines or Lines()
        first, others, final = known.found_in(data, len(self._head), end)
        changed = known.pieces[len(first) : len(known.pieces) - len(final)]
        by_line = {line: last.records[name] for piece in changed for name, line in piece.lines()}
        between = {}
        for line in others:
            record = by_line.get(line) or self._written(line)
            if record is None:
                return None
            between[record.id] = record
        lines = Lines.joined((*first, *Lines.of(dict(zip(between, others, strict=False))).pieces, *final))
        records = {name: between.get(name) or last.records[name] for name in lines}
        is_each_once = len(records) == len(lines) and len(between) == len(others)
        if not is_each_once or data[end:] != self._tail(lines, last.kept):
            return None
        return Decoded(records, last.kept, lines=lines)

    @override
    def pieces(self, lines: Lines, kept: Kept) -> Sequence[bytes]:
        """Return the document, with the unread tasks after the others and the unknown fields last."""
        return in_pieces(self._head, [*lines.data, *map(_dump, kept.unread)], self._tail(lines, kept))

    def _tail(self, lines: Lines, kept: Kept) -> bytes:
        parts = [_LIST_END]
        if self._index_field:
            parts += [b",\n", _dump(self._index_field), b": ", self._index.of(lines.pieces)]
        for name, value in kept.fields.items():
            parts += [b",\n", _dump(name), b": ", _dump(value)]
        return b"".join([*parts, b"\n}\n"])

    def _written(self, line: bytes) -> RecordT | None:
        """Return the record that is written as just this line, if there is one."""
        try:
            record = self._record_type.model_validate_json(line)
            is_as_written = self.encode(record) == line and not is_nested_deeper(line, _TASK_DEPTH)
        except ValueError:
            return None
        return record if is_as_written else None

    def _check_version(self, found: JsonValue) -> None:
        if isinstance(found, bool) or not isinstance(found, int) or found < 1:
            raise Damaged("'version' is not a positive whole number")
        if found > self._version:
            raise Newer(found, self._version)

    def _decode_items(self, items: Sequence[JsonValue], fields: Mapping[str, JsonValue]) -> Decoded[RecordT]:
        valid: list[RecordT] = []
        unread: list[JsonValue] = []
        faults: list[str] = []
        for position, item in enumerate(items, start=1):
            try:
                valid.append(self._record_type.model_validate(item))
            except ValidationError as error:
                unread.append(item)
                faults.append(f"Task {position} is not valid ({_first_fault(error)}); it was kept in the file unread.")
        return Decoded(_by_unique_id(valid, faults), Kept(fields, tuple(unread)), tuple(faults))


class _Index:
    """Encodes ids with their positions; those of pieces that stand where they stood before are not encoded again."""

    def __init__(self) -> None:
        # One value, since other threads read documents meanwhile.
        self._last: tuple[Sequence[Piece], Sequence[bytes]] = (), ()

    def of(self, pieces: Sequence[Piece]) -> bytes:
        """Return the object that maps each id to its position, counted from 0."""
        before, known = self._last
        same = sum(1 for _ in takewhile(bool, map(is_, before, pieces)))
        texts = list(known[:same])
        position = sum(len(piece.sizes) for piece in pieces[:same])
        for piece in pieces[same:]:
            texts.append(to_json(dict(zip(piece.sizes, count(position), strict=False)))[1:-1])
            position += len(piece.sizes)
        self._last = pieces, texts
        return b"{" + b",".join(texts) + b"}"


def in_pieces(head: bytes, pieces: Sequence[bytes], tail: bytes) -> Sequence[bytes]:
    """Return ``head``, the ``pieces`` with commas in between, and ``tail``, without joining any of it."""
    if not pieces:
        return [head + tail.removeprefix(b"\n")]
    separated = [SEPARATOR] * (2 * len(pieces) - 1)
    separated[::2] = pieces
    return [head, *separated, tail]


def is_nested_deeper(line: bytes, max_depth: int) -> bool:
    """Return whether ``line``, which is JSON, nests deeper than ``max_depth`` levels."""
    if line.count(b"[") + line.count(b"{") <= max_depth:
        return False
    try:
        read(line, max_depth=max_depth)
    except TooDeep:
        return True
    return False


def _by_unique_id(items: Sequence[RecordT], faults: list[str]) -> Mapping[str, RecordT]:
    """Return the records by id; one whose id stood before gets an id that no other has."""
    taken = {record.id for record in items}
    records: dict[str, RecordT] = {}
    for record in items:
        name = record.id
        if name in records:
            name = next(free for free in _numbered(record.id) if free not in taken)
            faults.append(f"The id '{_echo(record.id)}' stood twice; the second task is now '{_echo(name)}'.")
            taken.add(name)
        records[name] = record if name == record.id else record.changed(id=name)
    return records


def _parse(data: bytes) -> JsonValue:
    try:
        reading = read(data.removeprefix(_BOM), max_depth=_MAX_DEPTH)
    except NotJson as error:
        raise Damaged(str(error)) from error
    if reading.duplicate_keys:
        raise Damaged(f"the key '{_echo(reading.duplicate_keys[0])}' stands twice in one object")
    if reading.has_lone_surrogate:
        raise Damaged("it holds half of a character")
    return reading.value


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _echo(text: str) -> str:
    return escape_invisible(shorten(text, _ECHO_LIMIT))


def _numbered(name: str) -> Iterator[str]:
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"])) or "task"
    return f"{where}: {first['msg']}"
