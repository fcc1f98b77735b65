"""How records become the bytes of a document, and how a document becomes records again (ST-1, ST-3, L2).

If a document is exactly as a server writes it, blocks that are known already are reused; any other document goes
through the strict reader as a whole. A block is a root with everything below it, or a record of a list.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json
from typing_extensions import override

from task_core.errors import StoreNewer
from task_core.files import ProcessLock
from task_core.models import Record
from task_core.store.base import ROOTS, Kind
from task_core.store.collection import Node
from task_core.store.document.source import Source
from task_core.strict_json import read

__all__ = ["Codec", "Decoded", "LineCodec", "ListCodec", "has_few_levels"]

RecordT = TypeVar("RecordT", bound=Record)

_SEPARATOR: Final = b",\n"
"""Between two blocks of a document."""


@dataclass(frozen=True)
class Decoded(Generic[RecordT]):
    """What a document holds."""

    blocks: dict[str, bytes] = field(default_factory=dict)
    """the bytes of each block as they would be written, by the id of its root, in order"""
    fresh: dict[str, list[tuple[RecordT, str]]] = field(default_factory=dict)
    """the records of each block that was not known, with their parents, parents first, siblings in order"""
    fields: Mapping[str, JsonValue] = field(default_factory=dict)
    """what the document holds beside its records"""
    notes: tuple[str, ...] = ()
    """a sentence for each thing that a person wrote but the server reads differently"""


class Codec(ABC, Generic[RecordT]):
    """Maps the records of one kind to the server's own document format, and says how that document is shared."""

    head: bytes
    """what comes before the first block"""
    own_fields: tuple[str, ...] = ()
    """the fields beside the records that the server itself keeps there"""
    is_private: bool = True
    """whether a new document is for its owner only (S4), or for whoever has access to its folder"""
    noun: str = "task"
    """what a record is"""

    def __init__(self, kind: Kind[RecordT]) -> None:
        self.kind = kind

    def lock(self, path: Path) -> ProcessLock:
        """Return the lock of the document that ``path`` leads to."""
        # It belongs to the real file, so that processes that reach the store through links share it.
        return ProcessLock.beside(Path(os.path.realpath(path)))

    def decode(self, source: Source, known: Mapping[bytes, str] | None = None) -> Decoded[RecordT]:  # noqa: ARG002
        """Return what the document holds; ``known`` maps the bytes of known blocks to the ids of their roots.

        Raises:
            StoreDamaged: it is not a complete, valid document of this server.
            StoreNewer: a newer version of the server wrote it.
        """
        return self.decode_any(source)

    def encode(self, nodes: Sequence[Node]) -> dict[str, bytes]:
        """Return the bytes of every block of ``nodes``, siblings in order."""
        children: dict[str, list[Node]] = {}
        for node in nodes:
            children.setdefault(node.parent, []).append(node)
        blocks: dict[str, bytes] = {}
        for root in children.get(ROOTS, []):
            below = [root]
            for node in below:
                below.extend(children.get(node.id, []))
            blocks[root.id] = self.block(below)
        return blocks

    @abstractmethod
    def document(self, blocks: Mapping[str, bytes], fields: Mapping[str, JsonValue]) -> bytes:
        """Return the document of these blocks, in their order."""

    @abstractmethod
    def block(self, nodes: Sequence[Node]) -> bytes:
        """Return the bytes of one block: its root, and everything below that, parents first and siblings in order."""

    @abstractmethod
    def decode_any(self, source: Source) -> Decoded[RecordT]:
        """Return what the document holds, whatever its layout; it raises what ``decode`` does."""


class LineCodec(Codec[RecordT]):
    """A document of blocks on their own lines, between a head and a tail: only its changed blocks are read again."""

    @override
    def decode(self, source: Source, known: Mapping[bytes, str] | None = None) -> Decoded[RecordT]:
        return self._decode_written(source.data, known or {}) or self.decode_any(source)

    @override
    def document(self, blocks: Mapping[str, bytes], fields: Mapping[str, JsonValue]) -> bytes:
        parts = [*blocks.values()] or [b""]
        parts[0] = (self.head if blocks else self.head.rstrip(b"\n")) + parts[0]
        parts[-1] += self.tail(blocks, fields)
        return _SEPARATOR.join(parts)  # one copy of what may be megabytes

    def is_consistent(self, blocks: Iterable[bytes]) -> bool:  # noqa: ARG002 - most blocks are independent
        """Return whether blocks that are each valid may be in one document together."""
        return True

    @abstractmethod
    def tail(self, roots: Iterable[str], fields: Mapping[str, JsonValue]) -> bytes:
        """Return what comes after the last block, from the end of its line on."""

    @abstractmethod
    def read_block(self, block: bytes) -> list[tuple[RecordT, str]]:
        """Return the records that are written as exactly this block, with their parents, or raise ``ValueError``."""

    @abstractmethod
    def find_tail(self, data: bytes) -> int:
        """Return where the tail of a written document would begin, or -1."""

    @abstractmethod
    def read_tail(self, tail: bytes) -> Mapping[str, JsonValue]:
        """Return the fields of a document that may have been written with this tail, or raise ``ValueError``."""

    def _decode_written(self, data: bytes, known: Mapping[bytes, str]) -> Decoded[RecordT] | None:
        """Return what ``decode_any`` would, if the document is byte for byte as it would be written, else None.

        That proves strict JSON: what is written repeats no key and has no lone surrogate.
        """
        end = self.find_tail(data)
        if end < 0 or not data.startswith(self.head):
            return None
        first, *others = data[len(self.head) : end].split(_SEPARATOR + b"{")
        found = [first, *(b"{" + other for other in others)]
        blocks: dict[str, bytes] = {}
        fresh: dict[str, list[tuple[RecordT, str]]] = {}
        try:
            for block in found:
                root = known.get(block)
                if root is None:
                    records = self.read_block(block)
                    root = records[0][0].id
                    fresh[root] = records
                blocks[root] = block
            fields = self.read_tail(data[end:])
            is_as_written = len(blocks) == len(found) and data[end:] == self.tail(blocks, fields)
        except ValueError:
            return None
        ids = [record.id for records in fresh.values() for record, _ in records]
        is_whole = is_as_written and len({*ids}) == len(ids) and self.is_consistent(found)
        return Decoded(blocks, fresh, fields) if is_whole else None


class ListCodec(LineCodec[RecordT]):
    """A document ``{"version", "tasks": [one task a line]}``, with an index of positions if a server wants one."""

    def __init__(
        self,
        kind: Kind[RecordT],
        *,
        index_field: str | None = None,
        own_fields: tuple[str, ...] = (),
        foreign_fields: tuple[str, ...] = (),
    ) -> None:
        """Keep every unknown field beside the records, but take no document with one of ``foreign_fields``."""
        super().__init__(kind)
        self.head = b'{\n"version": %d,\n"tasks": [\n' % kind.version
        self.own_fields = own_fields
        self._index_field = index_field
        self._foreign_fields = foreign_fields

    @override
    def decode_any(self, source: Source) -> Decoded[RecordT]:
        document = source.value()
        if not isinstance(document, dict):
            raise source.wrong((), "an object with 'version' and 'tasks'")
        version = document.get("version", 1)
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise source.wrong(("version",), "a positive whole number")
        if version > self.kind.version:
            raise StoreNewer(source.name, version, self.kind.version)
        items = document.get("tasks")
        if not isinstance(items, list):
            raise source.wrong(("tasks",), "a list of tasks under 'tasks'")
        ours = {"version", "tasks", self._index_field}
        fields = {name: value for name, value in document.items() if name not in ours}
        for name in fields:
            # Without our mark, an unknown field is a sign that another program writes this file (ST-3).
            if name in self._foreign_fields or not ("version" in document or name in self.own_fields):
                raise source.wrong((), f"a document of this server, with 'version': {self.kind.version}")
        records = [*self._records(source, items)]
        blocks = {record.id: record.to_json() for record in records}
        return Decoded(blocks, {record.id: [(record, ROOTS)] for record in records}, fields)

    @override
    def block(self, nodes: Sequence[Node]) -> bytes:
        return nodes[0].line

    @override
    def tail(self, roots: Iterable[str], fields: Mapping[str, JsonValue]) -> bytes:
        parts = [b"\n]"]
        if self._index_field:
            index = {record_id: place for place, record_id in enumerate(roots)}
            parts += [b",\n", to_json(self._index_field), b": ", to_json(index)]
        for name, value in fields.items():
            parts += [b",\n", to_json(name), b": ", to_json(value)]
        return b"".join([*parts, b"\n}\n"])

    @override
    def find_tail(self, data: bytes) -> int:
        return data.find(b"\n]", len(self.head))

    @override
    def read_tail(self, tail: bytes) -> Mapping[str, JsonValue]:
        fields: Any = read(b"{" + tail.removeprefix(b"\n]").removeprefix(b",")).value
        if not fields.keys().isdisjoint({"version", "tasks", *self._foreign_fields}):
            raise ValueError("it has a key of the head again, or a field of another server")
        return {name: value for name, value in fields.items() if name != self._index_field}

    @override
    def read_block(self, block: bytes) -> list[tuple[RecordT, str]]:
        record = self.kind.record_type.model_validate_json(block)
        if record.to_json() != block or not has_few_levels(block):
            raise ValueError("it would be written differently")
        return [(record, ROOTS)]

    def _records(self, source: Source, items: Sequence[JsonValue]) -> Iterator[RecordT]:
        places: dict[str, int] = {}
        for place, item in enumerate(items):
            try:
                record = self.kind.record_type.model_validate(item)
            except ValidationError as error:
                raise source.invalid(("tasks", place), error) from None
            if record.id in places:
                raise source.repeated_id(("tasks", place), ("tasks", places[record.id]))
            places[record.id] = place
            yield record


def has_few_levels(line: bytes) -> bool:
    """Return whether ``line``, which is JSON, is certainly nested less deeply than a document may be."""
    return line.count(b"[") + line.count(b"{") <= 100  # a document may have 190 in all
