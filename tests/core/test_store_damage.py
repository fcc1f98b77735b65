"""A document that is not whole and valid: it is left alone, and what is wrong is said with its place (ST-3)."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from task_core.document_file.source import Source
from task_core.errors import FOUND_LIMIT, StoreDamaged, StoreNewer
from task_core.store import Codec, ListCodec, Store
from task_core.store.document import DocumentDatabase
from task_core.warning_list import WarningList
from tests.core.notes import NOTES, Note, add, call_by_read, call_by_unit, ids, open_store, stored_ids
from tests.document_edits import Edit, any_edit, edited
from tests.servers import SERVERS, record_of
from tests.tool_client import call_tool
from tests.untouched import untouched

CODEC = ListCodec(NOTES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


def call_by_news(store: Store[Note]) -> None:
    store.changes(None, 10)


Call = Callable[[Store[Note]], None]
both_ways = pytest.mark.parametrize("call", [call_by_read, call_by_unit])


def document(*lines: str) -> bytes:
    return ('{\n"version": 1,\n"tasks": [\n' + ",\n".join(lines) + "\n]\n}\n").encode()


def later() -> datetime:
    """Return a moment at which every file of the test has been at rest for long."""
    return datetime.now(UTC) + timedelta(hours=1)


NAMES_THE_COMMA = sys.version_info >= (3, 13)
"""Whether the reader of JSON says where a comma too many is, and not what comes behind it."""

DAMAGES: dict[str, tuple[bytes, int, int, str | None, str]] = {
    "torn in a task": (document('{"id":"a"}')[:35], 4, 7, "'\"a'", "JSON (Unterminated string starting)"),
    "torn after a line": (document('{"id":"a"}')[:37], 4, 11, "the end of the file", "JSON (Expecting ',' delimiter)"),
    "torn before the end": (document('{"id":"a"}')[:-2], 6, 1, "the end of the file", "JSON (Expecting ',' delimiter)"),
    "all zero bytes": (b"\0" * 300, 1, 1, "'" + r"\u{0}" * 19 + r"\u{…", "JSON (Expecting value)"),
    "no JSON": (b"- [ ] buy milk\n", 1, 1, "'- [ ] buy milk'", "JSON (Expecting value)"),
    "a comma too many": (
        document('{"id":"a",}'),
        4,
        10 if NAMES_THE_COMMA else 11,
        "',}'" if NAMES_THE_COMMA else "'}'",
        "JSON (Illegal trailing comma before end of object)"
        if NAMES_THE_COMMA
        else "JSON (Expecting property name enclosed in double quotes)",
    ),
    "a comma too few": (document('{"id":"a"}\n{"id":"b"}'), 5, 1, '\'{"id":"b"}\'', "JSON (Expecting ',' delimiter)"),
    "a line break in a text": (document('{"id":"a\nb"}'), 4, 9, r"'\u{a}'", "JSON (Invalid control character)"),
    "two documents": (b"{}\n{}", 2, 1, "'{}'", "JSON (Extra data)"),
    "NaN": (document('{"id":"NaN","x":NaN}'), 4, 17, "'NaN}'", "JSON (NaN is not a JSON number)"),
    "a number too large": (
        document('{"id":"a","x":[1,1e999]}'),
        4,
        18,
        "'1e999]}'",
        "JSON (a number is too large for a float)",
    ),
    "a merge conflict": (
        document('{"id":"a"}\n<<<<<<< HEAD\n{"id":"b"}\n=======\n{"id":"c"}\n>>>>>>> other'),
        *(5, 1, "'<<<<<<< HEAD'", "a document without merge conflict markers"),
    ),
    "a conflict in a file with CRLF": (
        b'{\r\n"version": 1,\r\n=======\r\n',
        3,
        1,
        "'======='",
        "a document without merge conflict markers",
    ),
    "not UTF-8": (
        '{"tasks": [{"id": "é"}]}'.encode("latin-1"),
        1,
        20,
        "'\ufffd\"}]}'",
        "JSON (invalid UTF-8 at byte 19)",
    ),
    "UTF-16": ('{"tasks": []}'.encode("utf-16"), 1, 1, None, "JSON (invalid UTF-8 at byte 0)"),
    "a key twice": (b'{"tasks": [],\n "tasks": []}', 2, 2, "'\"tasks\": []}'", "each key once in an object"),
    "a key twice, deep": (
        document('{"id":"a","x":{"k":1,"\\u006b":1}}'),
        4,
        22,
        "'\"\\u006b\":1}}'",
        "each key once in an object",
    ),
    "half of a character": (
        document('{"id":"a","\\ud83d\\ude00":"\\ud800"}'),
        4,
        26,
        "'\"\\ud800\"}'",
        "whole characters, not half of one",
    ),
    "too deep": (
        document('{"id":"a","x":' + "[" * 188 + "]" * 188 + "}"),
        4,
        202,
        None,
        "JSON (nested deeper than 190 levels)",
    ),
    "far too deep": (b'{"tasks": ' + b"[" * 100_000, 1, 200, None, "JSON (nested deeper than 190 levels)"),
    "a list": (b' \n [{"id": "a"}]', 2, 2, '\'[{"id": "a"}]\'', "an object with 'version' and 'tasks'"),
    "a package.json": (b'{"name": "x", "version": "1.0.0"}', 1, 26, "'\"1.0.0\"}'", "a positive whole number"),
    "version 0": (b'{"version": 0, "tasks": []}', 1, 13, "'0, \"tasks\": []}'", "a positive whole number"),
    "version true": (b'{"tasks": [], "version": true}', 1, 26, "'true}'", "a positive whole number"),
    "no tasks": (b'{"todos": []}', 1, 1, "'{\"todos\": []}'", "a list of tasks under 'tasks'"),
    "tasks by id": (b'{"tasks": {"a": {}}}', 1, 11, "'{\"a\": {}}}'", "a list of tasks under 'tasks'"),
    "no task": (document('{"id":"a"}', '"b"'), 5, 1, "'\"b\"'", "a valid task (task: Input should be"),
    "a task without an id": (
        document('{"id":"a"}', '{"text":"x"}'),
        5,
        1,
        '\'{"text":"x"}\'',
        "a valid task (id: Field required)",
    ),
    "an empty id": (
        document('{"id":"a"}', '{"id":""}'),
        5,
        7,
        "'\"\"}'",
        "a valid task (id: String should have at least 1 character)",
    ),
    "a wrong type": (
        document('{"id":"a","text":["x"]}'),
        4,
        18,
        "'[\"x\"]}'",
        "a valid task (text: Input should be a valid string)",
    ),
    "an id twice": (
        document('{"id":"a"}', '{"id":"b"}', '{"x":"a","id":"a"}'),
        6,
        15,
        "'\"a\"}'",
        "an id of its own (line 4 has it already)",
    ),
    "a long line": (b'{"tasks": ' + b"x" * 5_000, 1, 11, "'" + "x" * 98 + "…", "JSON (Expecting value)"),
    "what cannot be seen": ('{"tasks": \u202e\x1b'.encode(), 1, 11, r"'\u{202e}\u{1b}'", "JSON (Expecting value)"),
}

damages = pytest.mark.parametrize("damage", DAMAGES)


@pytest.mark.requirement("ST-3", "L1", "L2")
@damages
def test_a_damaged_document_is_reported_with_its_place_and_left_alone(path: Path, damage: str) -> None:
    data, line, column, found, expected = DAMAGES[damage]
    path.write_bytes(data)
    for store in (open_store(path), open_store(path, clock=later)):
        with untouched(path.parent):
            for call in (call_by_read, call_by_news, call_by_read):
                with pytest.raises(StoreDamaged) as caught:
                    call(store)
        with pytest.raises(StoreDamaged) as again:
            call_by_unit(store)
        assert path.read_bytes() == data
        assert set(os.listdir(path.parent)) == {path.name, f"{path.name}.lock"}
        path.with_name(f"{path.name}.lock").unlink()
        details = caught.value.details
        assert details == again.value.details
        assert (details["file"], details["line"], details["column"]) == (path.name, line, column)
        assert found is None or details["found"] == found
        assert str(details["expected"]).startswith(expected)
        assert len(str(details["found"])) <= FOUND_LIMIT
        assert f"at line {line}, column {column}" in caught.value.message
        assert "restore" in caught.value.message


@pytest.mark.requirement("ST-3")
@both_ways
@damages
def test_nothing_is_shown_from_memory_and_the_first_call_after_the_repair_works(
    path: Path, call: Call, damage: str
) -> None:
    store = open_store(path)
    add(store, "a")
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage][0])
    for _ in range(2):
        with pytest.raises(StoreDamaged):
            call(store)
    path.write_bytes(whole.replace(b'"a"', b'"repaired"'))
    call(store)
    assert ids(store) == stored_ids(path) == ["repaired", *(["new"] if call is call_by_unit else [])]


@pytest.mark.requirement("HB-16", "ST-3")
@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "all zero bytes" and "torn" not in name])
def test_every_other_damage_is_never_started_anew_from(path: Path, damage: str) -> None:
    path.write_bytes(DAMAGES[damage][0])
    with pytest.raises(StoreDamaged):
        call_by_unit(open_store(path, may_start_anew=True, clock=later))
    assert path.read_bytes() == DAMAGES[damage][0]
    assert set(os.listdir(path.parent)) == {path.name, f"{path.name}.lock"}


OURS = document('{"id":"a","text":""}', '{"id":"b","text":"é","mood":[1,null]}')
FRAGMENTS = (
    b"",
    b" ",
    b"\n",
    b",",
    b"]",
    b"}",
    b"{",
    b'"',
    b"\\",
    b"\xff",
    b"\0",
    b"NaN",
    b'"id":"a",',
    b"<<<<<<< x\n",
)


@pytest.mark.requirement("ST-3")
@settings(max_examples=30)
@given(st.lists(any_edit(FRAGMENTS, longest=len(OURS)), min_size=1, max_size=3))
def test_whatever_was_done_to_a_document_it_is_read_or_refused_with_a_place_that_is_in_it(edits: list[Edit]) -> None:
    data = OURS
    for edit in edits:
        data = edited(data, edit, width=12)
    try:
        CODEC.decode(Source("a.json", data))
    except StoreDamaged as error:
        line, column = error.details["line"], error.details["column"]
        assert isinstance(line, int)
        assert isinstance(column, int)
        lines = data.decode("utf-8", "replace").split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
    except StoreNewer:
        pass


CODECS: dict[str, Codec[Any]] = {record.name: record.codec for record in SERVERS}

MARKED = [name for name in CODECS if name != "taskmaster"]
"""The servers that recognize their documents; those of Task Master have no mark, so any object can be one."""

TIMES = '"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"'

FOREIGN = {
    "heartbeat": document(f'{{"id":"calm-pear","raw_user_request":"R",{TIMES}}}'),
    "hierarchy": b'[\n{"id":"a1","name":"N","status":"todo","tasks":[]}\n]\n',
    "tasks-v1": document(f'{{"id":"task_000000000001","title":"T","status":"pending",{TIMES}}}'),
    "npm": b'{"name": "x", "version": "1.0.0", "dependencies": {}}\n',
}


@cache
def document_of(name: str) -> bytes:
    """Return a document with one task of the program with this name; a server that has none above writes one."""
    if name in FOREIGN:
        return FOREIGN[name]
    record = record_of(name)
    with TemporaryDirectory() as folder:
        anyio.run(call_tool, record.built(Path(folder)), record.create, record.call(record.create), "auto")
        return (Path(folder) / record.store()).read_bytes()


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize(
    ("ours", "theirs"), [(ours, name) for ours in MARKED for name in (*CODECS, "npm") if ours != name]
)
def test_the_document_of_another_program_is_left_alone(path: Path, ours: str, theirs: str) -> None:
    foreign = document_of(theirs)
    path.write_bytes(foreign)
    database = DocumentDatabase(path, CODECS[ours], WarningList(), later, may_start_anew=True)
    store = Store(database, CODECS[ours].kind)
    with pytest.raises(StoreDamaged), store.transaction():
        pass
    assert path.read_bytes() == foreign
    path.write_bytes(document_of(ours))
    with store.transaction() as records:
        assert len(records) == 1


@pytest.mark.requirement("ST-3")
def test_an_id_that_a_person_gave_to_two_tasks_of_different_trees_is_damage_until_it_is_repaired(path: Path) -> None:
    codec = CODECS["hierarchy"]
    store = Store(DocumentDatabase(path, codec, WarningList(), later), codec.kind)
    with store.transaction() as tasks:
        for name in ("a", "b"):
            tasks.add(codec.kind.record_type(id=name, name=name))
            tasks.add(codec.kind.record_type(id=f"{name}1", name=name), name)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"b1"', b'"a1"'))
    for _ in range(2):
        with pytest.raises(StoreDamaged, match=r"line 6, column 9 .*an id of its own \(line 3 has it already\)"):
            store.changes(None, 1)
    path.write_bytes(whole.replace(b'"b1"', b'"c1"'))
    with store.read() as tasks:
        assert {node.id for node in tasks.nodes()} == {"a", "a1", "b", "c1"}
