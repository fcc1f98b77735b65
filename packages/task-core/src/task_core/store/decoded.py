"""The content of a document that was read, and what follows from it for the rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic

from pydantic import JsonValue

from task_core.models import RecordT
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
        """Change, add and remove the records in which the document differs from the ``old`` blocks."""
        is_tree = work.kind.is_tree
        changed = [root for root, block in self.blocks.items() if old.get(root) != block]
        gone = {*old} - {*self.blocks} | ({*changed} & {*old} if is_tree else set())
        for root in gone:
            work.remove(root)
        for root in changed:
            if root in old and not is_tree:
                work.replace(self.records[root][0][0])
                continue
            for record, parent in self.records[root]:
                work.add(record, parent)
        stays = [root for root in old if root not in gone]
        known = set(stays)
        if [*self.blocks] != [*stays, *(root for root in changed if root not in known)]:
            # The order of a list means nothing, so there nobody needs to know.
            kept = [root for root in self.blocks if root in known] if is_tree else stays
            work.arrange(self.blocks, [root for place, root in zip(stays, kept, strict=True) if root != place])
