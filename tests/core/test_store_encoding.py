"""A document is read strictly, loses nothing that it holds, and is written so that people can read it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from task_core.store.encoding import Damaged, Decoded, Kept, ListCodec, Newer
from task_core.store.lines import Lines
from tests.core.notes import Note

CODEC = ListCodec(Note)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def written(decoded: Decoded[Note], codec: ListCodec[Note] = CODEC) -> bytes:
    lines = {record_id: codec.encode(record) for record_id, record in decoded.records.items()}
    return codec.assemble(Lines.of(lines), decoded.kept)


def document(*items: JsonValue, **fields: JsonValue) -> bytes:
    return json.dumps({"version": 1, "tasks": list(items), **fields}).encode()


@pytest.mark.requirement("ST-1")
@given(steps=st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=8))
def test_the_index_is_that_of_the_ids_whatever_was_written_before(steps: list[list[str]]) -> None:
    codec = ListCodec(Note, index_field="id_to_index")
    for ids in steps:
        for names in (ids, [*ids, "new"], ids[1:]):
            notes = {name: Note(id=name) for name in names}
            index = json.loads(written(Decoded(notes), codec))["id_to_index"]
            assert list(index.items()) == [(name, position) for position, name in enumerate(names)]


@pytest.mark.requirement("ST-1")
def test_a_document_has_a_line_for_each_task_and_text_as_it_is() -> None:
    notes = {name: Note(id=name, text=text) for name, text in [("b", "Grüße\nan 東京"), ("a", '"\u2028')]}
    assert written(Decoded(notes)).decode() == (
        '{\n"version": 1,\n"tasks": [\n{"id":"b","text":"Grüße\\nan 東京"},\n{"id":"a","text":"\\"\u2028"}\n]\n}\n'
    )


@pytest.mark.requirement("ST-1")
def test_an_index_tells_the_place_of_each_task() -> None:
    codec = ListCodec(Note, version=3, index_field="id_to_index")
    notes = {name: Note(id=name) for name in "ba"}
    kept = Kept({"owner": {"name": "Ann"}}, ("not a task",))
    assert codec.assemble(Lines.of({name: codec.encode(note) for name, note in notes.items()}), kept).decode() == (
        '{\n"version": 3,\n"tasks": [\n{"id":"b","text":""},\n{"id":"a","text":""},\n"not a task"\n],\n'
        '"id_to_index": {"b":0,"a":1},\n"owner": {"name":"Ann"}\n}\n'
    )


def test_an_empty_document_reads_as_no_tasks() -> None:
    data = written(Decoded())
    assert data == b'{\n"version": 1,\n"tasks": [\n]\n}\n'
    assert CODEC.decode(data) == Decoded()


def test_an_index_that_lies_is_not_believed() -> None:
    codec = ListCodec(Note, index_field="id_to_index")
    decoded = codec.decode(document({"id": "a"}, id_to_index={"a": 7, "z": "x"}))
    assert json.loads(written(decoded, codec))["id_to_index"] == {"a": 0}


@pytest.mark.requirement("L2")
@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + document({"id": "a"}),
        json.dumps({"tasks": [{"id": "a"}]}, indent=2).replace("\n", "\r\n").encode(),
        b" \t\r\n" + document({"id": "a"}) + b"\r\n \t\n\n",
    ],
    ids=["mark", "crlf and no version", "blanks around"],
)
def test_marks_and_blanks_are_accepted(data: bytes) -> None:
    assert CODEC.decode(data) == Decoded({"a": Note(id="a")})


DAMAGED = {
    "torn": (document({"id": "a"})[:-9], "line 1"),
    "zero-filled": (bytes(4096), "Expecting value"),
    "two documents": (document() * 2, "Extra data"),
    "UTF-16": ("{}".encode("utf-16"), "invalid UTF-8 at byte 0"),
    "a list": (b"[]", "it is not a JSON object"),
    "null": (b"null", "it is not a JSON object"),
    "tasks by name": (b'{"tasks": {}}', "'tasks' is not a list"),
    "no tasks": (b"{}", "'tasks' is not a list"),
    "version as text": (document(version="1"), "'version' is not a positive whole number"),
    "version true": (document(version=True), "'version' is not a positive whole number"),
    "version 0": (document(version=0), "'version' is not a positive whole number"),
    "version 1.0": (document(version=1.0), "'version' is not a positive whole number"),
    "NaN": (b'{"tasks": [{"id": "a", "n": NaN}]}', "NaN is no JSON number"),
    "infinity": (b'{"tasks": [{"id": "a", "n": -Infinity}]}', "-Infinity is no JSON number"),
    "too large": (b'{"tasks": [{"id": "a", "n": 1e999}]}', "too large for a float"),
    "a key twice in a task": (b'{"tasks": [{"id": "a", "id": "b"}]}', "the key 'id' stands twice in one object"),
    "a key twice": (b'{"tasks": [], "tasks": []}', "the key 'tasks' stands twice in one object"),
    "half a character": (b'{"tasks": [{"id": "\\ud83d"}]}', "half of a character"),
    "too deep": (b"[" * 300 + b"]" * 300, "nested deeper than 190 levels"),
    "far too deep": (b"[" * 200_000, "nested deeper than 190 levels"),
}


@pytest.mark.requirement("L1")
@pytest.mark.parametrize(("data", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_document_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Damaged) as caught:
        CODEC.decode(data)
    assert reason in str(caught.value)


@pytest.mark.requirement("S1", "L1")
def test_a_reason_repeats_little_of_the_document_and_nothing_that_misleads() -> None:
    key = "\u202e" + "k" * 500
    with pytest.raises(Damaged) as caught:
        CODEC.decode(f'{{"tasks": [], "{key}": 1, "{key}": 2}}'.encode())
    assert len(str(caught.value)) < 200
    assert "\u202e" not in str(caught.value)


@pytest.mark.requirement("L2", "ST-4")
def test_a_newer_version_is_refused_and_an_older_one_read() -> None:
    with pytest.raises(Newer) as caught:
        CODEC.decode(document(version=2))
    assert (caught.value.found, caught.value.supported) == (2, 1)
    assert ListCodec(Note, version=3).decode(document({"id": "a"}, version=2)).records == {"a": Note(id="a")}


@pytest.mark.requirement("L2")
def test_a_bad_task_hides_no_other_and_is_kept() -> None:
    bad: list[JsonValue] = [{"id": 7}, {"text": "no id"}, 42, None, {"id": "x", "text": ["?"]}]
    decoded = CODEC.decode(document({"id": "a"}, *bad, {"id": "z"}))
    assert list(decoded.records) == ["a", "z"]
    assert (
        decoded.faults[0] == "Task 2 is not valid (id: Input should be a valid string); it was kept in the file unread."
    )
    assert "Task 4 is not valid (task: " in decoded.faults[2]
    assert len(decoded.faults) == 5
    assert json.loads(written(decoded))["tasks"][2:] == bad
    assert CODEC.decode(written(decoded)).records == decoded.records


@pytest.mark.requirement("L2", "C4")
def test_tasks_with_one_id_are_all_kept_under_ids_of_their_own() -> None:
    items: list[JsonValue] = [
        {"id": name, "text": str(place)} for place, name in enumerate(["a", "a", "a-2", "a", "a-2"])
    ]
    decoded = CODEC.decode(document(*items))
    assert {name: note.text for name, note in decoded.records.items()} == {
        "a": "0",
        "a-3": "1",
        "a-2": "2",
        "a-4": "3",
        "a-2-2": "4",
    }
    assert decoded.faults[0] == "The id 'a' stood twice; the second task is now 'a-3'."
    assert all(name == note.id for name, note in decoded.records.items())
    assert CODEC.decode(written(decoded)) == Decoded(decoded.records)


@pytest.mark.requirement("L2", "ST-3")
@settings(deadline=None)
@given(st.dictionaries(st.text(), values, max_size=3), st.dictionaries(st.text(), values, max_size=3), st.lists(values))
def test_unknown_fields_on_every_level_come_back_as_they_were(
    of_document: dict[str, JsonValue], of_task: dict[str, JsonValue], others: list[JsonValue]
) -> None:
    ours = {"version": 1, "tasks": [{**of_task, "id": "a", "text": ""}, *others]}
    decoded = CODEC.decode(json.dumps({**of_document, **ours}).encode())
    once = written(decoded)
    assert json.loads(once) == {**of_document, **json.loads(once), "version": 1}
    assert json.loads(once)["tasks"][0] == ours["tasks"][0]
    assert CODEC.decode(once).records == decoded.records
    assert written(CODEC.decode(once)) == once


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), unique=True), st.text())
def test_what_is_written_reads_as_the_same_records_in_the_same_order(names: list[str], text: str) -> None:
    notes = {name: Note(id=name, text=text) for name in names}
    data = written(Decoded(notes))
    assert list(CODEC.decode(data).records.items()) == list(notes.items())
    assert len(data.split(b"\n")) == len(notes) + 6
