"""The documents that JSON stores are: records of one kind, in blocks that are encoded one by one (EN-6).

A block is a root with everything below it, or a record of a list.
"""

import re
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json
from typing_extensions import override

from task_core.document_file import DocumentFormat, Rewritten
from task_core.document_file.source import Source
from task_core.errors import DuplicateId, StoreDamaged, StoreNewer
from task_core.models import RecordT
from task_core.store.base import ROOTS, Kind
from task_core.store.collection import Node
from task_core.store.transaction import Transaction

__all__ = ["Codec", "Decoded", "ListCodec", "find_rising"]

_SEPARATOR: Final = b",\n"
"""Between two blocks of a document."""

_TAIL: Final = re.compile(rb"\n](?!})")
"""The start of a tail; a line within a block may start with ``]}``."""


@dataclass(frozen=True)
class Decoded(Generic[RecordT]):
    """The content of a document."""

    blocks: dict[str, bytes] = field(default_factory=dict)
    """the bytes of each block as they would be written, by the id of its root, in order"""
    records: dict[str, list[tuple[RecordT, str]]] = field(default_factory=dict)
    """the records of each block that was decoded, with their parents, parents first, siblings in order"""
    fields: Mapping[str, JsonValue] = field(default_factory=dict)
    """the members of the document beside its records"""
    notes: tuple[str, ...] = ()
    """a sentence for each thing that a person wrote but the server reads differently"""

    @property
    def count(self) -> int:
        """The number of records."""
        return sum(map(len, self.records.values()))

    def apply(self, work: Transaction[RecordT], old: Mapping[str, bytes]) -> None:
        """Change, add, move and remove the records in which the document differs from the ``old`` blocks."""
        changed = [root for root, block in self.blocks.items() if old.get(root) != block]
        if work.kind.is_tree:
            self._apply_trees(work, [*old], changed)
            return
        for root in old:
            if root not in self.blocks:
                work.remove(root)
        for root in changed:
            if root in old:
                work.replace(self.records[root][0][0])
            else:
                work.add(*self.records[root][0])

    def _apply_trees(self, work: Transaction[RecordT], old: list[str], changed: list[str]) -> None:
        records = {record.id: record for root in changed for record, _ in self.records[root]}
        touched = [root for root in old if root in records or root not in self.blocks]
        before = {node.id for root in touched for node, _ in work.subtree(root)}
        if taken := next(filter(work.__contains__, records.keys() - before), None):
            raise DuplicateId(taken)  # it is in a block that did not change
        children: dict[str, list[str]] = {ROOTS: [*self.blocks]} if [*self.blocks] != old else {}
        for record, parent in (entry for root in changed for entry in self.records[root] if entry[1] != ROOTS):
            children.setdefault(parent, []).append(record.id)
        # Parents come first, so nothing is ever moved below itself; what is gone is removed when nothing stays below.
        for parent, wanted in children.items():
            _place_children(work, parent, wanted, records)
        for record in records.values():
            if work.get(record.id) != record:
                work.replace(record)
        for name in sorted(before - records.keys()):
            if name in work:
                work.remove(name)


class Codec(DocumentFormat, Generic[RecordT]):
    """Maps the records of one kind to the server's own document: its blocks, between a head and a tail."""

    own_fields: tuple[str, ...] = ()
    """the fields beside the records that the server itself keeps there"""

    def __init__(self, kind: Kind[RecordT]) -> None:
        self.kind = kind

    @override
    def rewrite(self, source: Source | None) -> Rewritten:
        decoded = self.decode(source) if source else Decoded[RecordT]()
        return Rewritten(self.document(decoded.blocks, decoded.fields), decoded.count, decoded.notes)

    def encode(self, nodes: Sequence[Node]) -> dict[str, bytes]:
        """Return the bytes of every block of ``nodes``, siblings in order."""
        children: dict[str, list[Node]] = {}
        for node in nodes:
            children.setdefault(node.parent, []).append(node)
        trees = {root.id: [root] for root in children.get(ROOTS, [])}
        for below in trees.values():
            for node in below:  # which grows meanwhile
                below.extend(children.get(node.id, []))
        return {root: self.block(below) for root, below in trees.items()}

    def document(self, blocks: Mapping[str, bytes], fields: Mapping[str, JsonValue]) -> bytes:
        """Return the document of these blocks, in their order."""
        parts = [*blocks.values()] or [b""]
        parts[0] = (self.head if blocks else self.head.rstrip(b"\n")) + parts[0]
        parts[-1] += self.tail(blocks, fields)
        return _SEPARATOR.join(parts)  # one copy of what may be megabytes

    @abstractmethod
    def block(self, nodes: Sequence[Node]) -> bytes:
        """Return the bytes of one block: its root, and everything below that, parents first and siblings in order."""

    @abstractmethod
    def tail(self, roots: Iterable[str], fields: Mapping[str, JsonValue]) -> bytes:
        """Return what comes after the last block, from the end of its line on."""

    @abstractmethod
    def decode(self, source: Source) -> Decoded[RecordT]:
        """Return the content of a document, whatever its layout; it raises what ``rewrite`` does."""

    def decode_again(self, source: Source, old: Mapping[str, bytes]) -> Decoded[RecordT]:
        """Return the content of a document, without the records of blocks that it shares with an ``old`` one.

        The caller must check that no subtask in a shared block has the id of one of the records.
        """
        data, start = source.data, self.head + b"{"
        tail = _TAIL.search(data, max(data.rfind(_SEPARATOR + b"{"), 0))
        if not (old and tail and data.startswith(start)):
            return self.decode(source)
        names = {block: root for root, block in old.items() if self.is_independent(block)}
        blocks = [b"{" + rest for rest in data[len(start) : tail.start()].split(_SEPARATOR + b"{")]
        fresh = [block for block in blocks if block not in names]
        try:  # the strict reader decodes a document of the fresh blocks alone
            found = self.decode(Source(source.name, self.head + _SEPARATOR.join(fresh) + data[tail.start() :]))
        except (StoreDamaged, StoreNewer):
            return self.decode(source)  # it names the right place
        names |= {block: root for root, block in found.blocks.items()}
        if fresh == [*found.blocks.values()] and not found.notes:
            merged = {names[block]: block for block in blocks}
            if self.document(merged, found.fields) == data:  # so the parts are those of the document
                return Decoded(merged, found.records, found.fields)
        return self.decode(source)

    def is_independent(self, block: bytes) -> bool:  # noqa: ARG002 - most blocks are
        """Return whether a valid block is written the same beside any others with other ids."""
        return True


class ListCodec(Codec[RecordT]):
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
    def decode(self, source: Source) -> Decoded[RecordT]:
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


def _place_children(work: Transaction[RecordT], parent: str, wanted: list[str], records: Mapping[str, RecordT]) -> None:
    """Put ``wanted`` below ``parent`` in this order, adding and moving as few as possible; other children stay."""
    staying = find_rising({name: place for place, name in enumerate(work.child_ids(parent))}, wanted)
    places: dict[str, str] = {}
    following = ""
    for name in reversed(wanted):
        if name in staying:
            following = name
        else:
            places[name] = following
    for name, following in reversed(places.items()):
        if name in work:
            work.move(name, parent, before=following)
        else:
            work.add(records[name], parent, before=following)


def find_rising(places: Mapping[str, int], names: list[str]) -> set[str]:
    """Return the most of ``names`` whose places rise: the longest increasing subsequence, by patience sorting."""
    tops: list[int] = []
    ends: list[str] = []
    before: dict[str, str] = {}
    for name in names:
        if name in places:
            pile = bisect_left(tops, places[name])
            tops[pile : pile + 1] = [places[name]]
            ends[pile : pile + 1] = [name]
            before[name] = ends[pile - 1] if pile else ""
    found: set[str] = set()
    name = ends[-1] if ends else ""
    while name:
        found.add(name)
        name = before[name]
    return found
