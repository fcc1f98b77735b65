"""The content of a document that was read, and what follows from it for the rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from pydantic import JsonValue

from task_core.errors import DuplicateId
from task_core.history.rising import find_rising
from task_core.models import RecordT
from task_core.store.base import ROOTS
from task_core.store.transaction import Transaction

__all__ = ["Decoded"]


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
