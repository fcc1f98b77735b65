"""Encoded records are kept in pieces, and to change one makes no more than its piece anew (ST-1, D7)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from task_core.store.encoding import Decoded, Kept, ListCodec
from task_core.store.lines import SEPARATOR, Lines
from tests.core.notes import Note

pytestmark = pytest.mark.requirement("ST-1", "D7")

CODECS = [ListCodec(Note), ListCodec(Note, index_field="id_to_index")]

LARGE = 9_000
"""Bytes of a record of which only one has room in a piece."""

names = st.sampled_from("abcdefgh")
records = st.builds(
    bytes.__mul__, st.sampled_from([b"x", b"y", b",", b"\n"]), st.sampled_from([1, 2, 40, 5_000, LARGE])
)
changes = st.lists(st.tuples(names, st.none() | records), max_size=8)


def numbered(count: int, size: int = 400) -> dict[str, bytes]:
    return {f"task {number}": b"%d" % number * size for number in range(count)}


@given(st.lists(changes, max_size=6))
def test_whatever_is_changed_they_hold_what_a_mapping_would(steps: list[list[tuple[str, bytes | None]]]) -> None:
    lines, expected = Lines(), dict[str, bytes]()
    for step in steps:
        made = []
        for name, line in step:
            if line is not None:
                expected[name] = line
            elif expected.pop(name, None) is None:
                continue
            made.append((name, line))
        before = lines.by_id()
        previous, lines = lines, lines.changed(made)
        assert previous.by_id() == before
        assert list(lines.by_id().items()) == list(expected.items())
        assert (list(lines), len(lines)) == (list(expected), len(expected))
        assert SEPARATOR.join(lines.data) == SEPARATOR.join(expected.values())


def test_a_change_makes_one_piece_anew_and_a_new_record_the_last_one() -> None:
    lines = Lines.of(numbered(1_000))
    assert len(lines.pieces) > 50
    for name, line in [("task 500", b"changed"), ("task 500", None), ("new", b"added")]:
        changed = lines.changed([(name, line)])
        assert len(set(lines.pieces) - set(changed.pieces)) == 1
        assert len(set(changed.pieces) - set(lines.pieces)) == 1


def test_many_records_added_at_once_fill_pieces_that_stay_small() -> None:
    lines = Lines().changed(list(numbered(1_000).items()))
    assert max(map(len, lines.data)) < 20_000
    assert len(lines.pieces) == len(Lines.of(numbered(1_000)).pieces)


def test_pieces_that_have_shrunk_are_joined_again() -> None:
    lines = Lines.of(numbered(2_000))
    for name in numbered(1_990):
        lines = lines.changed([(name, None)])
    assert list(lines) == [f"task {number}" for number in range(1_990, 2_000)]
    assert len(lines.pieces) == 1
    for name in list(lines):
        lines = lines.changed([(name, None)])
    assert lines.pieces == ()


def test_no_piece_is_empty() -> None:
    assert Lines().changed([]).pieces == ()
    assert Lines().changed([("a", b"x"), ("a", None)]).pieces == ()


def test_a_reader_of_many_additions_of_another_process_has_no_more_pieces_than_it_needs() -> None:
    codec = ListCodec(Note)
    notes = {f"task {number}": Note(id=f"task {number}", text="x" * 100) for number in range(300)}
    lines, last = Lines(), Decoded[Note]()
    for name, note in notes.items():
        lines = lines.changed([(name, note.to_json())])
        last = codec.decode(codec.assemble(lines, Kept()), last)
    assert last.lines is not None
    assert last.records == notes
    assert len(last.lines.pieces) <= 3 * len(lines.pieces) + 1


def test_pieces_that_grow_again_and_again_are_not_shattered() -> None:
    lines = Lines.of(numbered(200))
    for size in range(400, 500):
        for name in ("task 7", "task 77", "task 177"):
            lines = lines.changed([(name, b"x" * size * 30)])
    assert len(lines.pieces) < 3 * sum(map(len, lines.data)) // 16_000 + 2


@given(st.lists(records, max_size=6), st.lists(records, max_size=6), st.binary(max_size=3))
@example([b"x" * LARGE], [b"x" * LARGE, b"y"], b"")
@example([b"x" * LARGE, b"x" * LARGE], [b"x" * LARGE], b"")
@example([b"x"], [], SEPARATOR)
@example([b"x" * LARGE], [b"x" * LARGE], SEPARATOR)
@example([b"x" * LARGE], [b"x" * LARGE], b"y")
def test_of_what_stands_in_a_document_nothing_is_left_out_or_taken_twice(
    before: list[bytes], now: list[bytes], end: bytes
) -> None:
    lines = Lines.of(dict(zip("abcdefgh", before, strict=False)))
    text = SEPARATOR.join(now) + end
    first, between, last = lines.found_in(b"[" + text + b"]", 1, len(text) + 1)
    parts = [*(piece.data for piece in first), *between, *(piece.data for piece in last)]
    assert SEPARATOR.join(parts) == text
    assert len(first) + len(last) <= len(lines.pieces)
    assert [*lines.pieces[: len(first)], *lines.pieces[len(lines.pieces) - len(last) :]] == [*first, *last]


def written(codec: ListCodec[Note], notes: Sequence[Note]) -> bytes:
    return codec.assemble(Lines.of({note.id: note.to_json() for note in notes}), Kept())


large_notes = st.builds(
    lambda name, text, size: Note(id=name, text=text * size), names, st.sampled_from("xy"), st.sampled_from([1, 9_000])
)
collections = st.lists(large_notes, max_size=6)


@given(st.sampled_from(CODECS), collections, collections)
def test_a_document_of_several_pieces_is_read_as_the_whole_says(
    codec: ListCodec[Note], before: list[Note], after: list[Note]
) -> None:
    known = {note.id: note for note in before}
    last = Decoded(known, lines=Lines.of({name: note.to_json() for name, note in known.items()}))
    data = written(codec, list({note.id: note for note in after}.values()))
    data += b" " * (len(after) % 2)
    found = codec.decode(data, last)
    assert found == codec.decode_any(data)
    if found.lines is not None:
        assert codec.assemble(found.lines, found.kept) == data
        assert list(found.lines) == list(found.records)
        for name, note in found.records.items():
            assert note is known.get(name) or note != known.get(name)


@pytest.mark.parametrize("codec", CODECS)
def test_an_id_that_stands_twice_is_found_in_pieces_too(codec: ListCodec[Note]) -> None:
    notes = [Note(id=f"task {number}", text="x" * 9_000) for number in range(4)]
    last = codec.decode(written(codec, notes))
    for twice in (notes[0], notes[3], notes[1].changed(text="other")):
        again = codec.assemble(
            Lines.of({str(number): note.to_json() for number, note in enumerate([*notes, twice])}), Kept()
        )
        assert codec.decode_written(again, last) is None
        assert len(codec.decode(again, last).records) == 5
