"""The document of a list: whatever is read is written again as the same, one record a line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from typing_extensions import override

from task_core.document_file.source import Source
from task_core.errors import StoreDamaged, StoreNewer
from task_core.store import ROOTS, ListCodec
from task_core.store.codec import Decoded
from task_core.store.collection import Node
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, add, ids, open_store, stored_ids
from tests.document_edits import Edit, any_edit, edited

CODECS = (ListCodec(NOTES), ListCodec(replace(NOTES, version=2), index_field="id_to_index"))

Fields = dict[str, JsonValue]

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
fields = st.dictionaries(st.sampled_from(["mood", "z", "é\n", ""]), values, max_size=2)

edits = any_edit(FRAGMENTS, longest=400)


def document(codec: ListCodec[Note], records: Sequence[Note], fields: Fields) -> bytes:
    return codec.document(codec.encode([Node(note.id, ROOTS, note.to_json()) for note in records]), fields)


@pytest.mark.requirement("L1", "L2", "ST-3", "EN-6")
@settings(max_examples=35)
@given(st.sampled_from(CODECS), collections, fields, st.lists(edits, max_size=3))
@example(CODECS[0], [Note(id="a")], {}, [("put", 31, 9, b'"id":"a","text":"","id":"a"')])
@example(CODECS[0], [make_note("a", "", {"x": None})], {}, [("put", 51, 4, b"[" * 189 + b"]" * 189)])
@example(CODECS[0], [Note(id="a"), Note(id="b")], {}, [("repeat line", 3, 4, b"")])
@example(CODECS[1], [make_note("2", "", {"x": []})], {"mood": None}, [("insert", 180, 0, b'"tasks": [],\n')])
def test_however_a_document_is_edited_it_is_refused_or_written_as_what_was_read(
    codec: ListCodec[Note], records: list[Note], fields: Fields, changes: list[Edit]
) -> None:
    data = document(codec, records, fields)
    for change in changes:
        data = edited(data, change, width=8)
    try:
        found = codec.decode(Source("a.json", data))
    except (StoreDamaged, StoreNewer):
        return
    assert {name: rows[0][0].to_json() for name, rows in found.records.items()} == found.blocks
    assert all([(note.id, parent) for note, parent in rows] == [(name, ROOTS)] for name, rows in found.records.items())
    written = codec.document(found.blocks, found.fields)
    assert codec.decode(Source("a.json", written)) == found
    assert (
        codec.rewrite(Source("a.json", data)) == codec.rewrite(Source("a.json", written)) == (written, found.count, ())
    )


def decoded(decode: Callable[[Source], Decoded[Note]], data: bytes) -> tuple[object, ...]:
    """Return the blocks in order and the fields that ``decode`` finds, or why it refuses the document."""
    try:
        found = decode(Source("a.json", data))
    except (StoreDamaged, StoreNewer) as error:
        return (error.message,)
    return [*found.blocks.items()], [*found.fields.items()]


@pytest.mark.requirement("EN-6", "ST-2", "ST-3")
@settings(max_examples=35)
@given(st.sampled_from(CODECS), collections, collections, fields, st.lists(edits, max_size=2))
@example(CODECS[0], [Note(id="a")], [Note(id="a"), Note(id="b")], {}, [("repeat line", 3, 4, b"")])
@example(CODECS[0], [Note(id="a")], [Note(id="a"), Note(id="a", text="x")], {}, [])
@example(CODECS[0], [Note(id="a")], [Note(id="a"), Note(id="b")], {}, [("put", 73, 9, b'"id":"b","id":"b"')])
@example(CODECS[1], [Note(id="a")], [Note(id="a")], {"mood": None}, [("insert", 81, 0, b'"tasks": [],\n')])
@example(CODECS[0], [Note(id="a")], [Note(id="a")], {"mood": 1}, [("insert", 64, 0, b" ")])
def test_a_document_that_is_decoded_beside_an_old_one_has_what_it_has_alone(
    codec: ListCodec[Note], before: list[Note], after: list[Note], fields: Fields, changes: list[Edit]
) -> None:
    old = codec.decode(Source("a.json", document(codec, before, {}))).blocks
    data = document(codec, [*after, *(note for note in before if note.id not in {new.id for new in after})], fields)
    for change in changes:
        data = edited(data, change, width=12)
    assert decoded(lambda source: codec.decode_again(source, old), data) == decoded(codec.decode, data)


class CountingCodec(ListCodec[Note]):
    """Counts the records that it decodes."""

    count = 0

    @override
    def decode(self, source: Source) -> Decoded[Note]:
        found = super().decode(source)
        self.count += found.count
        return found


@pytest.mark.requirement("EN-6", "D7")
def test_a_store_decodes_only_the_records_that_another_process_wrote(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    add(open_store(path), *map(str, range(50)))
    codec = CountingCodec(NOTES)
    store = open_store(path, codec=codec)
    assert (len(ids(store)), codec.count) == (50, 50)
    with open_store(path).transaction() as changed:
        changed.replace(Note(id="7", text="new"))
        changed.remove("8")
        changed.add(Note(id="last"))
    assert (ids(store), codec.count) == (stored_ids(path), 52)
    add(store, "own")
    with open_store(path).transaction() as changed:
        changed.remove("9")
    assert (ids(store), codec.count) == (stored_ids(path), 52)
    path.write_bytes(path.read_bytes().replace(b'"text":"new"', b'"text": "old"'))
    with store.read() as found:
        assert (found.get("7").text, codec.count) == ("old", 52 + 1 + 50)


@pytest.mark.requirement("D7", "ST-1", "EN-6", "EN-18")
@settings(max_examples=35)
@given(st.sampled_from(CODECS), collections, fields)
def test_what_was_written_is_read_and_written_again_byte_for_byte(
    codec: ListCodec[Note], records: list[Note], fields: Fields
) -> None:
    data = document(codec, records, fields)
    found = codec.decode(Source("a.json", data))
    assert list(found.blocks) == [note.id for note in records]
    assert codec.document(found.blocks, found.fields) == data


@pytest.mark.requirement("ST-1")
def test_a_document_has_one_record_a_line_and_text_that_is_not_escaped() -> None:
    records = [Note(id="a", text="é"), make_note("b", "x\n", {"mood": 1})]
    assert document(CODECS[1], records, {"z": "ß", "y": [1]}).decode() == (
        '{\n"version": 2,\n"tasks": [\n'
        '{"id":"a","text":"é"},\n{"id":"b","text":"x\\n","mood":1}\n],\n'
        '"id_to_index": {"a":0,"b":1},\n"z": "ß",\n"y": [1]\n}\n'
    )
    assert document(CODECS[0], [], {}) == b'{\n"version": 1,\n"tasks": [\n]\n}\n'


@pytest.mark.requirement("L2")
def test_the_index_is_made_anew_and_never_believed() -> None:
    data = document(CODECS[1], [Note(id="a"), Note(id="b")], {}).replace(b'"a":0', b'"a":7')
    found = CODECS[1].decode(Source("a.json", data))
    assert CODECS[1].document(found.blocks, found.fields) == data.replace(b'"a":7', b'"a":0')


@pytest.mark.requirement("L1", "TOOL-3")
@pytest.mark.parametrize("levels", [1, 187, 188])
def test_a_document_may_nest_as_deep_as_clients_read(levels: int) -> None:
    value: JsonValue = []
    for _ in range(levels - 1):
        value = [value]
    data = document(CODECS[0], [Note.model_validate({"id": "a", "x": value})], {})
    if levels > 187:
        with pytest.raises(StoreDamaged, match="nested deeper"):
            CODECS[0].decode(Source("a.json", data))
    else:
        assert CODECS[0].rewrite(Source("a.json", data)).data == data


class Noting(ListCodec[Note]):
    """Notes something about each record."""

    @override
    def decode(self, source: Source) -> Decoded[Note]:
        found = super().decode(source)
        return replace(found, notes=tuple(f"Task '{name}' is odd." for name in found.blocks))


@pytest.mark.requirement("WARN-1")
def test_what_is_read_otherwise_than_it_was_written_is_a_warning_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    add(open_store(path), *"abc")
    warnings = WarningList()
    store = open_store(path, warnings, codec=Noting(NOTES))
    assert ids(store) == ids(store) == [*"abc"]
    assert warnings.take() == ["notes.json: Task 'a' is odd. Task 'b' is odd. Task 'c' is odd."]
    add(open_store(path), *"de")
    assert ids(store) == [*"abcde"]
    add(open_store(path.with_name("other.json")), *"vwxyz")
    path.with_name("other.json").replace(path)
    assert ids(store) == [*"vwxyz"]
    assert warnings.take() == ["notes.json: Task 'v' is odd. Task 'w' is odd. Task 'x' is odd. 2 more."]
