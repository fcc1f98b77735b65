"""A document that stands as it is written is read by its lines, and never says anything else than a whole reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from task_core.store.encoding import Damaged, Decoded, Kept, ListCodec, Newer
from task_core.store.lines import Lines
from tests.core.notes import Note
from tests.document_edits import Edit, any_edit, edited

CODECS = (ListCodec(Note), ListCodec(Note, version=2, index_field="id_to_index"))

FRAGMENTS = (
    *(b"", b" ", b"\n", b"\r\n", b",", b",\n", b"\n]", b"]", b"}", b"{", b'"', b"\\", b"\xef\xbb\xbf", b"\xff", b"\0"),
    *(b"NaN", b"-Infinity", b"1e999", b"-0", b"1.50", b"9" * 4400, b"\\ud800", b"\\u0061", b"[" * 198 + b"]" * 198),
    *(b'"id":"a",', b'"text":"",', b'{"id":"a","text":""},\n', b'"not a task",\n', b"{},\n", b'"tasks": [],\n'),
    *(b'"version": 9,\n', b'"mood": "fine",\n', b'"id_to_index": {},\n', b'"x":{"k":1,"k":1},'),
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
texts = st.text('a"\\\n[{,é\u2028', max_size=4)
extras = st.dictionaries(st.sampled_from(["x", "y", ""]), values, max_size=2)


def make_note(name: str, text: str, extra: Mapping[str, JsonValue]) -> Note:
    return Note.model_validate({"id": name, "text": text, **extra})


notes = st.builds(make_note, st.text("ab2-é", min_size=1), texts, extras)
collections = st.lists(notes, unique_by=lambda note: note.id, max_size=5)
kept = st.builds(Kept, st.dictionaries(st.sampled_from(["mood", "z"]), values, max_size=1))

edits = any_edit(FRAGMENTS, longest=400)


def document(codec: ListCodec[Note], records: Sequence[Note], kept: Kept) -> bytes:
    return codec.assemble(Lines.of({note.id: codec.encode(note) for note in records}), kept)


def outcome(codec: ListCodec[Note], data: bytes, last: Decoded[Note] | None) -> object:
    """Return all that can be told of a reading: what it holds, or why it holds nothing."""
    try:
        found = codec.decode(data, last)
    except (Damaged, Newer) as error:
        return type(error), str(error)
    return list(found.records.items()), written_items(found), found.kept, found.faults


def written_items(found: Decoded[Note]) -> list[bytes]:
    return [note.to_json() for note in found.records.values()]


def outcome_of_all(codec: ListCodec[Note], data: bytes) -> object:
    try:
        found = codec.decode_any(data)
    except (Damaged, Newer) as error:
        return type(error), str(error)
    return list(found.records.items()), written_items(found), found.kept, found.faults


@pytest.mark.requirement("D7", "L1", "L2", "ST-3")
@given(st.sampled_from(CODECS), collections, collections, kept, st.lists(edits, max_size=3))
@example(CODECS[0], [], [Note(id="a")], Kept(), [("put", 31, 9, b'"id":"a","text":"","id":"a"')])
@example(CODECS[0], [], [make_note("a", "", {"x": None})], Kept(), [("put", 51, 4, b"[" * 199 + b"]" * 199)])
def test_however_a_document_is_edited_its_lines_say_what_the_whole_says(
    codec: ListCodec[Note], before: list[Note], after: list[Note], kept: Kept, changes: list[Edit]
) -> None:
    last = codec.decode(document(codec, before, kept))
    data = document(codec, after, kept)
    for change in changes:
        data = edited(data, change, width=8)
    expected = outcome_of_all(codec, data)
    assert outcome(codec, data, last) == outcome(codec, data, None) == expected


@pytest.mark.requirement("D7", "ST-1")
@given(st.sampled_from(CODECS), collections, collections, kept)
def test_what_was_written_is_read_by_its_lines_and_known_ones_are_taken_over(
    codec: ListCodec[Note], before: list[Note], after: list[Note], kept: Kept
) -> None:
    last = codec.decode(document(codec, before, Kept()))
    assert (last.lines is None) == (not before)
    last = Decoded(last.records, kept, lines=last.lines)
    data = document(codec, after, kept)
    found = codec.decode_written(data, last)
    if found is None:
        assert not after
        return
    assert list(found.records) == [note.id for note in after]
    assert codec.assemble(found.lines or Lines(), found.kept) == data
    for note in after:
        if note.to_json() in (last.lines or Lines()).by_id().values():
            assert found.records[note.id] is last.records[note.id]


def written(*notes: Note) -> bytes:
    return document(CODECS[0], notes, Kept())


WRITTEN = written(make_note("a", "", {"x": 0}), Note(id="b")).decode()


@pytest.mark.requirement("L1", "TOOL-3")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('{"id"', '{ "id"', id="a blank"),
        pytest.param("\n", "\r\n", id="other line ends"),
        pytest.param('{\n"version"', '\ufeff{\n"version"', id="a mark at the start"),
        pytest.param('"b"', '"a"', id="an id twice"),
        pytest.param('"id"', '"text":"","id"', id="a key twice"),
        pytest.param(":0", ":NaN", id="no number"),
        pytest.param(":0", ":1e999", id="a number that is too large"),
        pytest.param(":0", ":" + "9" * 5000, id="too many digits"),
        pytest.param(":0", ":" + "[" * 198 + "]" * 198, id="too deep"),
        pytest.param('""', '"\\ud800"', id="half of a character"),
        pytest.param("}\n]", "},\n{}\n]", id="a task that is not valid"),
        pytest.param("}\n]", '}\n],\n"mood": 1', id="a field that was not there"),
        pytest.param("]\n}\n", "]\n}", id="torn"),
        pytest.param(WRITTEN, written().decode(), id="nothing"),
    ],
)
def test_what_would_not_be_written_so_is_read_as_a_whole(old: str, new: str) -> None:
    assert CODECS[0].decode_written(WRITTEN.encode(), Decoded())
    assert CODECS[0].decode_written(WRITTEN.replace(old, new).encode(), Decoded()) is None


@pytest.mark.requirement("L2")
def test_tasks_that_are_not_valid_are_told_at_every_reading() -> None:
    data = written(Note(id="a")).replace(b"}\n]", b'},\n{"text":"no id"}\n]')
    first = CODECS[0].decode(data)
    again = CODECS[0].decode(data, Decoded(first.records, first.kept, lines=Lines.of({"a": Note(id="a").to_json()})))
    assert again == first
    assert len(again.faults) == 1


def test_brackets_in_a_text_are_no_levels() -> None:
    data = written(Note(id="a", text="[{" * 300))
    assert CODECS[0].decode_written(data, Decoded()) == Decoded({"a": Note(id="a", text="[{" * 300)})


@pytest.mark.parametrize("levels", [1, 186, 187, 188, 189, 198, 199])
def test_a_task_may_nest_as_deep_by_its_line_as_in_the_whole(levels: int) -> None:
    value: JsonValue = []
    for _ in range(levels - 1):
        value = [value]
    data = written(Note.model_validate({"id": "a", "x": value}))
    assert outcome(CODECS[0], data, None) == outcome_of_all(CODECS[0], data)
    assert (CODECS[0].decode_written(data, Decoded()) is None) == (levels > 187)
