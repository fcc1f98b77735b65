"""Transactions: what is changed, added, moved and removed, with the counts and places that follow from it (EN-4)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from task_core.claims.claim import Claim
from task_core.errors import DuplicateId
from task_core.history.changes import OUTSIDE, Change, Recorder, Step, TreePlace, current_origin
from task_core.models import Clock, Columns, RecordT, from_microseconds, microseconds
from task_core.store.base import ROOTS, Kind, Row
from task_core.store.collection import HIGHEST, LOWEST, Collection, ListRow, Session, scope_of_children
from task_core.store.statements import LIST_VALUES, SQL

__all__ = ["Transaction"]

_GAP: Final = 2**32
"""Between the positions of two siblings that were appended; an insertion takes the middle of a gap."""

_LAST_MOMENT: Final = microseconds(datetime.max.replace(tzinfo=UTC))
"""The last moment that there is; a change of then has no moment of its own."""

_REMEMBERED: Final = 30 * 24 * 3600 * 1_000_000
"""Microseconds for which a removed record is remembered, so that a client that was away learns of it (EN-20)."""


class Transaction(Collection[RecordT]):
    """A transaction, whose changes others see after the commit; an unknown id, or parent, raises ``TaskNotFound``."""

    def __init__(self, kind: Kind[RecordT], session: Session, row: ListRow, clock: Clock) -> None:
        super().__init__(kind, session, row)
        self.changed: set[str] = set()
        """the ids of the records that were added, changed, moved or removed, and of parents that gained or lost one;
        ``ROOTS`` only if the order of the roots that stay has changed, or a new one is not after all others"""
        self.clock = clock
        self._begun = row
        self._added = 0
        self._recorder = Recorder()
        self.history: list[Change] = []
        """what the history is to keep of this transaction, once ``finish`` has been called"""
        self.is_changed = False
        """true if something beside the records is to be saved"""
        self.claims: list[Claim] = []
        """the claims on open tasks, oldest first, as they are to be kept"""
        self.ended: set[str] = set()
        """the ids of tasks that are open again because they recur: the claims on them end"""

    def next_moment(self) -> datetime:
        """Return the present moment, or one just after the last in this list, whatever the clock says (EN-16)."""
        moment = min(max(microseconds(self.clock()), self._list.moment + 1), _LAST_MOMENT)
        self._list = replace(self._list, moment=moment)
        return from_microseconds(moment)

    def add(self, record: RecordT, parent: str = ROOTS, index: int | None = None, *, before: str = "") -> None:
        """Add ``record`` below ``parent``, as the last child or at ``index``, from 0 to their number; lists append.

        Instead of an index, which takes longer in a long list, ``before`` is the id of the next child. It raises
        ``DuplicateId`` if its id is taken.
        """
        if record.id in self:
            raise DuplicateId(record.id)
        position = self._free_position(parent, index, before)
        size = self._add(record, parent, position)
        self._rows[record.id] = Row(record, parent, position, size)
        self._count(record.columns, parent, +1)
        self._touch(parent)
        is_last = index is None and not before
        self._recorder.created(record, self._place(parent, "" if is_last else self._next(parent, position)))
        if not (parent or is_last):
            self.changed.add(ROOTS)

    def replace(self, record: RecordT) -> None:
        """Replace the record with the same id by ``record``."""
        old, parent, position, old_size = self.row(record.id)
        size = self._write(SQL.REPLACE, record)
        self._grow(0, size - old_size)
        self._tag(record.id, old.columns.tags, record.columns.tags)
        self._rows[record.id] = Row(record, parent, position, size)
        if old.columns[:3] != record.columns[:3]:
            self._count(old.columns, parent, -1)
            self._count(record.columns, parent, +1)
        self._recorder.changed(old, record)

    def move(self, record_id: str, parent: str, index: int | None = None, *, before: str = "") -> None:
        """Move a record with everything below it below ``parent``, which is not below it, as ``add`` would place it."""
        record, old, place, size = self.row(record_id)
        left = TreePlace(old, self._next(old, place))
        # Removed from its place first, so that it is not counted among its new siblings.
        self._change(SQL.PLACE, record_id, parent=None, position=None)
        self._count_child(record.columns, old, -1)
        position = self._free_position(parent, index, before)
        self._change(SQL.PLACE, record_id, parent=parent, position=position)
        self._count_child(record.columns, parent, +1)
        self._rows[record_id] = Row(record, parent, position, size)
        self._touch(old)
        self._touch(parent)
        self._recorder.moved(record_id, left, TreePlace(parent, self._next(parent, position)))
        if not (parent and old):
            self.changed.add(ROOTS)

    def remove(self, record_id: str) -> int:
        """Remove a record with everything below it, and return how many records were removed."""
        record, parent, position, size = self.row(record_id)
        following = self._next(parent, position)
        below = [(record, parent, size)]
        if self.kind.is_tree:  # all at once: in a database far away, each question takes its time
            below = [(self._record(node.line), node.parent, len(node.line)) for node, _ in self.subtree(record_id)]
        moment = microseconds(self.clock())
        self._forget_removed(moment)
        for record, above, size in reversed(below):
            self._change(SQL.REMOVE, record.id, removed=moment)
            self._grow(-1, -size)
            self._tag(record.id, record.columns.tags, ())
            self._count(record.columns, above, -1)
            self._rows.pop(record.id, None)
            # What is below is removed from the end, so that each one is the last of its siblings.
            self._recorder.removed(record, self._place(above, following if record.id == record_id else ""))
        self._touch(parent)
        if self.kind.is_tree and not parent:  # another root may get its id, and is then the last one
            self.changed.add(ROOTS)
        return len(below)

    def set_fields(self, fields: Mapping[str, JsonValue]) -> None:
        """Keep these ``fields``, in this order, beside the records."""
        if [*fields.items()] != [*self.fields.items()]:
            self.is_changed = True
            self.fields, self._list = fields, replace(self._list, fields=to_json(fields).decode())

    def set_owner(self, owner: str) -> None:
        """Give the list to ``owner``; clients are not notified of this (EN-19)."""
        if owner != self.owner:
            self.run(SQL.SET_OWNER, owner=owner)
            self._begun, self._list = replace(self._begun, owner=owner), replace(self._list, owner=owner)

    def load(self, records: Iterable[tuple[RecordT, str]]) -> None:
        """Replace everything by ``records``, each with its parent; siblings in order, no id twice."""
        for statement in SQL.CLEAR:
            self.run(statement)
        self._rows.clear()
        self._list = replace(self._list, number=0, size=0)
        for number, (record, parent) in enumerate(records, 1):
            self._add(record, parent, number * _GAP if self.kind.is_tree else self._free_position(ROOTS))
        self.run(SQL.COUNT_ALL)
        self.run(SQL.COUNT_CHILDREN)

    def end_change(self, by: str = OUTSIDE, tool: str = "") -> None:
        """Let what was done so far be a change of its own in the history, which ``by`` has made (AG-3)."""
        change = self._recorder.take(self._moment(), by, tool)
        if change:
            self._list = replace(self._list, revision=self._list.revision + 1)
            change.number = self._list.revision
            self.history.append(change)

    def end_call(self) -> None:
        """Let what the call has done since the last change be a change in the history."""
        origin = current_origin()
        change = self._recorder.take(self._moment(), origin.by, origin.tool)
        if change:
            origin.change = change
            change.number = self._list.revision + 1
            self.history.append(change)

    def finish(self) -> ListRow:
        """Write what is left to write, and return the resulting list row."""
        if self.changed or self.is_changed:
            self._list = replace(self._list, revision=self._list.revision + 1)
        elif self._list.claims == self._begun.claims:
            return self._begun
        self.run(SQL.SAVE_LIST, **{name: getattr(self._list, name) for name in LIST_VALUES})
        return self._list

    def keep_claims(self, text: str) -> None:
        """Keep claims with the list, as JSON."""
        self._list = replace(self._list, claims=text)

    def note_steps(self, steps: Sequence[Step]) -> None:
        """Keep in the history what was done to claims."""
        for step in steps:
            self._recorder.noted(step)
        self.is_changed |= bool(steps)

    def above(self, task_id: str) -> list[str]:
        """Return the ids of the records above one, the root first; none if it is gone."""
        return [it.id for it in self.ancestors(task_id)] if self.kind.is_tree and task_id in self else []

    def _moment(self) -> int:
        """Return the last moment that the records of this transaction were given, or else the present one."""
        is_given = self._list.moment != self._begun.moment
        return self._list.moment if is_given else microseconds(self.clock())

    def _add(self, record: RecordT, parent: str, position: int) -> int:
        place = {"parent": parent if self.kind.is_tree else None, "position": position, "removed": None}
        size = self._write(SQL.ADD, record, **place)
        self._absent.discard(record.id)
        self._grow(1, size)
        self._tag(record.id, (), record.columns.tags)
        return size

    def _grow(self, number: int, size: int) -> None:
        self._list = replace(self._list, number=self._list.number + number, size=self._list.size + size)

    def _write(self, statement: str, record: RecordT, **place: object) -> int:
        """Write a record, and return its size in bytes."""
        columns, document = record.columns, record.to_json()
        self._change(
            statement,
            record.id,
            document=document.decode(),
            state=columns.state,
            is_open=int(columns.state not in self.kind.closed) if self.kind.is_tree else None,
            facet=columns.facet,
            rank=columns.rank,
            created=columns.created,
            updated=columns.updated,
            topic=columns.topic or None,
            words=columns.text() or None,
            **place,
        )
        return len(document)

    def _change(self, statement: str, record_id: str, **parameters: object) -> None:
        self.run(statement, id=record_id, revision=self._list.revision + 1, **parameters)
        self.changed.add(record_id)

    def _touch(self, parent: str) -> None:
        if parent:
            self._change(SQL.TOUCH, parent)

    def _tag(self, record_id: str, old: Iterable[str], new: Iterable[str]) -> None:
        for statement, tags in ((SQL.REMOVE_TAG, {*old} - {*new}), (SQL.ADD_TAG, {*new} - {*old})):
            for tag in tags:
                self.run(statement, tag=tag, id=record_id)

    def _forget_removed(self, moment: int) -> None:
        limit = moment - _REMEMBERED
        ((newest,),) = self.run(SQL.NEWEST_REMOVED, limit=limit)
        if newest is not None:
            self.run(SQL.PURGE, limit=limit)
            self._list = replace(self._list, purged=max(self._list.purged, newest))

    def _count(self, columns: Columns, parent: str, number: int) -> None:
        self._add_count("", columns.state, columns.facet, columns.rank or 0, number)
        self._count_child(columns, parent, number)

    def _count_child(self, columns: Columns, parent: str, number: int) -> None:
        if self.kind.is_tree:
            self._add_count(scope_of_children(parent), columns.state, "", 0, number)

    def _add_count(self, scope: str, state: str, facet: str, rank: int, number: int) -> None:
        counted = {"scope": scope, "state": state, "facet": facet, "rank": rank}
        self.run(SQL.ADD_COUNT, **counted, number=number)
        if number < 0:
            self.run(SQL.FORGET_COUNT, **counted)

    # Positions

    def _place(self, parent: str, following: str) -> TreePlace | None:
        return TreePlace(parent, following) if self.kind.is_tree else None

    def _next(self, parent: str, position: int) -> str:
        """Return the id of the first child of ``parent`` after the position, or nothing."""
        found = self.positions(parent, position, 1) if self.kind.is_tree else ()
        return next((name for _, name in found), "")

    def _free_position(self, parent: str, index: int | None = None, before: str = "") -> int:
        """Return a position below ``parent`` of a child number ``index``, of one ``before`` another, or of the last."""
        if not self.kind.is_tree:
            self._added += 1
            return (self._list.revision + 1) * _GAP + self._added
        if parent:
            self.get(parent)
        following = self.row(before).position if before else HIGHEST
        if index is not None and index < self.count_children(parent):
            following, _ = self.positions(parent, LOWEST, index + 1)[-1]
        last = self.run(SQL.LAST_POSITION, parent=parent, below=following)
        if following == HIGHEST:
            return last[0][0] + _GAP if last else 0
        above = last[0][0] if last else following - 2 * _GAP
        return (above + following) // 2 if following - above > 1 else self._make_room(parent, above)

    def _make_room(self, parent: str, above: int) -> int:
        """Move the siblings after the position ``above`` apart, only as many as necessary, and return a free one."""
        near: list[tuple[int, str]] = []
        limit, step = 128, 0
        while step < 2:
            near = self.positions(parent, above, limit)
            is_end = len(near) < limit
            end = near[-1][0] + _GAP * len(near) if is_end else near.pop()[0]
            step = (end - above) // (len(near) + 2)
            limit *= 2
        for number, (_, name) in enumerate(near, 2):
            self.run(SQL.SPACE, id=name, position=above + number * step)
        self._rows.clear()
        return above + step
