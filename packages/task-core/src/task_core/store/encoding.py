"""How records become the bytes of a document, and a document records again (ST-1, L1, L2).

Records are frozen, so the bytes of each are made once and joined anew at each save.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from pydantic import JsonValue, ValidationError

from task_core.models import Record
from task_core.strict_json import NotJson, read
from task_core.text import escape_invisible, shorten

__all__ = ["Codec", "Damaged", "Decoded", "Kept", "ListCodec", "Newer"]

RecordT = TypeVar("RecordT", bound=Record)

_BOM: Final = b"\xef\xbb\xbf"

_ECHO_LIMIT: Final = 100
"""Characters of an id or a key of the document that a warning repeats at most."""


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


class Codec(ABC, Generic[RecordT]):
    """Maps the records of one server to its own document format."""

    @abstractmethod
    def decode(self, data: bytes) -> Decoded[RecordT]:
        """Return what the document holds.

        Raises:
            Damaged: it is not a document of this server.
            Newer: a newer version of the server wrote it.
        """

    @abstractmethod
    def assemble(self, lines: Mapping[str, bytes], kept: Kept) -> bytes:
        """Return the document that holds the encoded records, by id and in order."""

    def encode(self, record: RecordT) -> bytes:
        """Return the bytes that stand for ``record`` in the document."""
        return record.to_json()


class ListCodec(Codec[RecordT]):
    """A document ``{"version", "tasks": [one task a line]}``, with an index of positions where a server wants one."""

    def __init__(self, record_type: type[RecordT], *, version: int = 1, index_field: str | None = None) -> None:
        self._record_type = record_type
        self._version = version
        self._index_field = index_field

    def decode(self, data: bytes) -> Decoded[RecordT]:
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

    def assemble(self, lines: Mapping[str, bytes], kept: Kept) -> bytes:
        """Return the document, with the unread tasks after the others and the unknown fields last."""
        tasks = b",\n".join([*lines.values(), *(_dump(item) for item in kept.unread)])
        parts = [b'{\n"version": %d,\n"tasks": [' % self._version, b"\n", tasks, b"\n]" if tasks else b"]"]
        if self._index_field:
            index = {record_id: position for position, record_id in enumerate(lines)}
            parts += [b",\n", _dump(self._index_field), b": ", _dump(index)]
        for name, value in kept.fields.items():
            parts += [b",\n", _dump(name), b": ", _dump(value)]
        return b"".join([*parts, b"\n}\n"])

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
        reading = read(data.removeprefix(_BOM))
    except NotJson as error:
        raise Damaged(str(error)) from error
    if reading.duplicate_keys:
        raise Damaged(f"the key '{_echo(reading.duplicate_keys[0])}' stands twice in one object")
    if reading.has_lone_surrogate:
        raise Damaged("it holds half of a character")
    return reading.value


def _dump(value: JsonValue | Mapping[str, int]) -> bytes:
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
