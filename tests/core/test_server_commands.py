"""Tasks leave a store and enter another without a byte lost, and older documents come back (EN-18, ST-6)."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from typing_extensions import override

from task_core.cli.commands import CommandFailed, Commands
from task_core.cli.settings import describe_settings
from task_core.document_file.source import Source
from task_core.errors import InvalidArguments
from task_core.store import ListCodec, Transaction
from task_core.store.codec import Decoded
from task_core.store.collection import Node
from tests.core.command_line import NotesSettings
from tests.core.faults import Fault, watched
from tests.core.notes import NOTES, Note, add, ids, litter, open_store

CODEC = ListCodec(NOTES, index_field="places")

ENGINES = pytest.mark.parametrize("engine", ["json", "sqlite"])

DOCUMENT = b"""{
"version": 1,
"tasks": [
{"id":"walls","text":"white","by":"Zo\xc3\xab"},
{"id":"roof","text":""}
],
"places": {"walls":0,"roof":1},
"owner": {"name":"me"}
}
"""


class Drawer:
    """The notes that begin with "old" are in a file beside the document, a line each."""

    def path_beside(self, document: Path) -> Path:
        return document.with_suffix(".drawer")

    def take_out_archived(self, nodes: list[Node]) -> tuple[list[Node], bytes]:
        kept = [node for node in nodes if not node.id.startswith("old")]
        return kept, b"".join(node.line + b"\n" for node in nodes if node not in kept)

    def add_archived(self, path: Path, work: Transaction[Any]) -> int:
        data = path.read_bytes()
        for line in data.splitlines():
            if line == b"oops":
                raise InvalidArguments([("drawer", "not a note")])
            work.add(Note.model_validate_json(line))
        return len(data.splitlines())


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, _, _ in describe_settings(NotesSettings):
        monkeypatch.delenv(name, raising=False)


def commands(address: str, *, has_drawer: bool = False) -> Commands:
    return Commands(NotesSettings(task_store=address), CODEC, Drawer() if has_drawer else None)


def refused(over: Commands, name: str, file: Path | str | None) -> str:
    with pytest.raises(CommandFailed) as caught:
        over.run(name, None if file is None else str(file))
    return str(caught.value)


def moved(data: bytes, folder: Path, engine: str) -> bytes:
    """Return a document that went into a store and came out again."""
    (folder / "from.json").write_bytes(data)
    store = commands(f"{engine}:{folder}/store")
    store.run("import", str(folder / "from.json"))
    store.run("export", str(folder / "to.json"))
    return (folder / "to.json").read_bytes()


@pytest.mark.requirement("EN-18")
@ENGINES
def test_a_document_that_goes_in_comes_out_with_the_same_bytes(tmp_path: Path, engine: str) -> None:
    assert moved(DOCUMENT, tmp_path, engine) == DOCUMENT
    assert oct((tmp_path / "to.json").stat().st_mode)[-3:] == "600"


@pytest.mark.requirement("EN-18")
@ENGINES
@given(
    st.lists(st.tuples(st.text(min_size=1), st.text()), unique_by=lambda item: item[0], max_size=8),
    st.dictionaries(st.text().filter(lambda name: name not in {"version", "tasks", "places"}), st.text(), max_size=3),
)
@hypothesis_settings(max_examples=25)
def test_every_document_comes_out_as_a_server_writes_it(
    engine: str, notes: list[tuple[str, str]], fields: dict[str, str]
) -> None:
    lines = {name: Note(id=name, text=text).to_json() for name, text in notes}
    document = CODEC.document(lines, fields)
    with TemporaryDirectory() as folder:
        assert moved(document, Path(folder), engine) == document


@pytest.mark.requirement("EN-18", "D2")
def test_an_export_that_is_killed_leaves_nothing_under_the_name_that_was_given(tmp_path: Path) -> None:
    source = commands(f"json:{tmp_path}/from.json")
    (tmp_path / "from.json").write_bytes(DOCUMENT)
    failing = {"rename_with", "replace", "unlink"}
    with watched(Fault(1, errno.EIO, for_good=True), failing), pytest.raises(CommandFailed, match="EIO"):
        source.run("export", str(tmp_path / "out.json"))
    assert not (tmp_path / "out.json").exists()
    source.run("export", str(tmp_path / "out.json"))
    assert (tmp_path / "out.json").read_bytes() == DOCUMENT


@pytest.mark.requirement("EN-18")
@ENGINES
def test_tasks_are_taken_only_into_a_store_that_holds_nothing(tmp_path: Path, engine: str) -> None:
    (tmp_path / "from.json").write_bytes(DOCUMENT)
    (tmp_path / "none.json").write_bytes(b'{"version":1,"tasks":[],"owner":"me"}')
    for name, first in (("store", "from.json"), ("fields", "none.json")):
        store = commands(f"{engine}:{tmp_path}/{name}")
        store.run("import", str(tmp_path / first))
        said = refused(store, "import", tmp_path / "from.json")
        assert said == f"{engine}:{tmp_path}/{name} is not empty: import into a new store"


@pytest.mark.requirement("EN-18")
def test_nothing_is_imported_into_a_store_that_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "from.json").write_bytes(DOCUMENT)
    said = refused(commands("memory:"), "import", tmp_path / "from.json")
    assert said == "a store in memory keeps nothing: set TASK_STORE to json:/path or sqlite:/path"


@pytest.mark.requirement("EN-18", "ST-3")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(DOCUMENT.replace(b'"id":"roof"', b'"id":"walls"'), "line 5", id="an id twice"),
        pytest.param(DOCUMENT[:60], "from.json", id="cut off"),
        pytest.param(b'{"version":2,"tasks":[]}', "newer", id="newer"),
    ],
)
def test_nothing_is_taken_from_a_document_that_is_not_understood(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "from.json").write_bytes(data)
    store = commands(f"sqlite:{tmp_path}/store.db")
    assert said in refused(store, "import", tmp_path / "from.json")
    assert not (tmp_path / "store.db").exists()


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize("command", ["export", "import", "restore"])
@pytest.mark.parametrize("file", ["", ".", "/"])
def test_what_names_no_file_is_refused(tmp_path: Path, command: str, file: str) -> None:
    assert refused(commands(f"json:{tmp_path}/s.json"), command, file) == f"'{file}' is not the name of a file"


@pytest.mark.requirement("EN-18", "EN-19")
@pytest.mark.parametrize("name", ["to.json", "to.drawer"])
def test_an_export_replaces_no_file_and_begins_beside_none_of_another_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    said = refused(commands("memory:", has_drawer=True), "export", tmp_path / "to.json")
    assert said == f"{tmp_path}/{name} already exists: move it away, or name another file to export to"
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"mine")]


@pytest.mark.requirement("EN-18", "EN-19")
@ENGINES
def test_what_is_kept_beside_a_document_goes_out_and_comes_in_with_it(
    tmp_path: Path, engine: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "from.json").write_bytes(DOCUMENT)
    (tmp_path / "from.drawer").write_bytes(b'{"id":"old roof","text":""}\n')
    store = commands(f"{engine}:{tmp_path}/store", has_drawer=True)
    store.run("import", str(tmp_path / "from.json"))
    store.run("export", str(tmp_path / "to.json"))
    assert (tmp_path / "to.json").read_bytes() == DOCUMENT
    assert (tmp_path / "to.drawer").read_bytes() == b'{"id":"old roof","text":""}\n'
    assert capfd.readouterr().err == (
        f"Imported 2 tasks and 1 archived task into {engine}:{tmp_path}/store.\n"
        "The archived tasks are in to.drawer.\n"
        f"Exported 2 tasks from {engine}:{tmp_path}/store.\n"
    )
    store.run("export", None)
    printed = capfd.readouterr()
    assert printed.out.encode() == DOCUMENT
    assert "The archived tasks were left out; to export them too, name a file." in printed.err


@pytest.mark.requirement("EN-18")
@ENGINES
def test_an_import_that_fails_at_its_end_has_taken_in_nothing(tmp_path: Path, engine: str) -> None:
    (tmp_path / "from.json").write_bytes(DOCUMENT)
    (tmp_path / "from.drawer").write_bytes(b"oops\n")
    store = commands(f"{engine}:{tmp_path}/store", has_drawer=True)
    assert "not a note" in refused(store, "import", tmp_path / "from.json")
    (tmp_path / "from.drawer").unlink()
    store.run("import", str(tmp_path / "from.json"))
    store.run("export", str(tmp_path / "to.json"))
    assert (tmp_path / "to.json").read_bytes() == DOCUMENT


@pytest.mark.requirement("EN-18")
def test_a_terminal_shows_how_far_an_import_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        @override
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    add(open_store(tmp_path / "notes.json"), *[f"n{number}" for number in range(1_001)])
    commands(f"sqlite:{tmp_path}/store").run("import", str(tmp_path / "notes.json"))
    bars = [
        f"\r[{'#' * 19:<40}] 500 of 1,001",
        f"\r[{'#' * 39:<40}] 1,000 of 1,001",
        f"\r[{'#' * 40}] 1,001 of 1,001\n",
    ]
    end = f"Imported 1,001 tasks into sqlite:{tmp_path}/store.\n"
    assert screen.getvalue() == "".join(bars) + end


@pytest.mark.requirement("EN-18")
def test_what_a_person_wrote_otherwise_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Noting(ListCodec[Note]):
        @override
        def decode(self, source: Source) -> Decoded[Note]:
            return replace(super().decode(source), notes=("One is read otherwise.",))

    (tmp_path / "from.json").write_bytes(DOCUMENT + b" ")
    address = f"sqlite:{tmp_path}/store"
    Commands(NotesSettings(task_store=address), Noting(NOTES)).run("import", str(tmp_path / "from.json"))
    assert capfd.readouterr().err == f"One is read otherwise.\nImported 2 tasks into {address}.\n"


def kept_for_days(path: Path) -> Commands:
    """Save a document on each of three days, so that two older ones are kept beside it."""
    for day in range(3):
        moment = datetime(2026, 3, 1 + day, 12, tzinfo=UTC)
        add(open_store(path, clock=lambda moment=moment: moment), f"day {day}")
        os.utime(path, (moment.timestamp(), moment.timestamp()))
    return Commands(NotesSettings(task_store=f"json:{path}"), ListCodec(NOTES))


@pytest.mark.requirement("ST-6")
def test_the_older_documents_are_listed_with_what_is_in_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.json"
    store = commands(f"json:{path}")
    store.run("restore", None)
    assert capfd.readouterr().out == "No older documents are kept beside notes.json.\n"
    store = kept_for_days(path)
    (tmp_path / "notes.json.corrupt-1").write_bytes(b"{")
    store.run("restore", None)
    lines = [line.split("  ") for line in capfd.readouterr().out.splitlines()]
    assert [(line[0], line[3]) for line in lines] == [
        ("notes.json.bak", "2 tasks"),
        ("notes.json.bak.2", "1 task"),
        ("notes.json.corrupt-1", "not a complete document"),
    ]
    sizes = [(tmp_path / line[0]).stat().st_size for line in lines]
    assert [line[2] for line in lines] == [f"{sizes[0]} bytes", f"{sizes[1]} bytes", "1 byte"]
    assert lines[0][1] == "2026-03-03 12:00:00 UTC"


@pytest.mark.requirement("ST-6")
@pytest.mark.parametrize("is_beside", [True, False], ids=["by its name", "by its path"])
def test_an_older_document_is_put_back_and_the_one_before_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *, is_beside: bool
) -> None:
    path = tmp_path / "notes.json"
    store = kept_for_days(path)
    older, newer = (tmp_path / "notes.json.bak.2").read_bytes(), path.read_bytes()
    server = open_store(path)
    assert ids(server) == ["day 0", "day 1", "day 2"]
    store.run("restore", "notes.json.bak.2" if is_beside else str(tmp_path / "notes.json.bak.2"))
    assert path.read_bytes() == older
    assert ids(server) == ["day 0"], "a server that runs goes on with it"
    (kept,) = litter(path)
    assert (tmp_path / kept).read_bytes() == newer
    assert capfd.readouterr().err == (
        f"Restored notes.json with 1 task from notes.json.bak.2. The previous document is kept as {kept}.\n"
    )


@pytest.mark.requirement("ST-6")
@pytest.mark.parametrize(("file", "found"), [("notes.json.bak", ["day 0", "day 1"]), ("./notes.json.bak", [])])
def test_a_name_alone_means_what_is_kept_and_a_path_the_file_that_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, found: list[str]
) -> None:
    path = tmp_path / "notes.json"
    store = kept_for_days(path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("notes.json.bak").write_bytes(b'{"tasks": []}')
    store.run("restore", file)
    assert ids(open_store(path)) == found


@pytest.mark.requirement("ST-6")
def test_a_document_is_restored_where_none_is_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.json"
    store = kept_for_days(path)
    path.unlink()
    store.run("restore", "notes.json.bak")
    assert [item["id"] for item in json.loads(path.read_bytes())["tasks"]] == ["day 0", "day 1"]
    assert capfd.readouterr().err == "Restored notes.json with 2 tasks from notes.json.bak.\n"


@pytest.mark.requirement("ST-6")
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("notes.json.corrupt-1", "notes.json.corrupt-1"),
        ("no.json", "no.json: No such file or directory"),
        ("/no/such.json", "/no/such.json: No such file or directory"),
        ("no/such.json", "no/such.json: No such file or directory"),
    ],
)
def test_what_is_not_a_document_is_not_put_back(tmp_path: Path, file: str, said: str) -> None:
    path = tmp_path / "notes.json"
    store = kept_for_days(path)
    (tmp_path / "notes.json.corrupt-1").write_bytes(b"{")
    before = path.read_bytes()
    assert said in refused(store, "restore", file)
    assert path.read_bytes() == before
    assert litter(path) == {"notes.json.corrupt-1"}


@pytest.mark.requirement("ST-6", "ST-3")
def test_a_database_is_not_replaced_by_a_document(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    add(open_store(path), "walls")
    (tmp_path / "notes.json").write_bytes(DOCUMENT)
    before = path.read_bytes()
    said = refused(commands(f"json:{path}"), "restore", tmp_path / "notes.json")
    assert said == f"{path} is a SQLite database, which is not replaced: set the path of a JSON document"
    assert (path.read_bytes(), litter(path)) == (before, {"notes.json"})


@pytest.mark.requirement("ST-6")
@pytest.mark.parametrize("engine", ["memory", "sqlite"])
def test_a_store_without_documents_has_nothing_to_restore(tmp_path: Path, engine: str) -> None:
    address = f"{engine}:{tmp_path / 'notes.db' if engine == 'sqlite' else ''}"
    said = refused(commands(address), "restore", None)
    assert said == f"{address} keeps no older documents: there is nothing to restore"
