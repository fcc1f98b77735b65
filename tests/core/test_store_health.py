"""What ``doctor`` says of a store: what a server makes of it, and nothing is changed (DOC-1)."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import pytest
from typing_extensions import override

from task_core.doctor import Check, Finding, Level, right, store_checks
from task_core.errors import StoreDamaged, StoreUnreadable, StoreWriteFailed, TaskError
from task_core.store import Codec, ListCodec
from task_core.store.open import StoreSettings
from tests.core.notes import NOTES, Note, add, nobody, open_folder, open_store
from tests.untouched import untouched

Make = Callable[[Path], object]


class NoteSettings(StoreSettings):
    """Where the notes are."""

    store_variable: ClassVar[str] = "notes_path"
    notes_path: Path | None = None

    @property
    @override
    def document_path(self) -> Path | None:
        return self.notes_path


class HouseSettings(NoteSettings):
    """The settings of a server that creates the folder of its document."""

    makes_folder = True


def checks_of(path: Path, codec: Codec[Note] | None = None, kind: type[NoteSettings] = NoteSettings) -> list[Check]:
    settings = kind(task_store=f"sqlite:{path}") if path.suffix == ".db" else kind(notes_path=path)
    return store_checks(settings, codec or ListCodec(NOTES))


def look(path: Path, codec: Codec[Note] | None = None) -> dict[str, list[Finding]]:
    """Return what is found on each subject; nothing may have changed by it."""
    with untouched(path.parent):
        return {check.subject: list(check.look()) for check in checks_of(path, codec)}


def told(findings: list[Finding]) -> list[tuple[Level, str]]:
    return [(finding.level, finding.text) for finding in findings]


def write(text: str | bytes) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o600)

    return make


def document(**members: object) -> Make:
    return write(json.dumps(members))


def serve(path: Path) -> None:
    add(open_store(path), "one", "two")


def link(path: Path) -> None:
    (path.parent / "real").mkdir()
    serve(path.parent / "real" / "store.json")
    path.symlink_to("real/store.json")


def leave_blank(path: Path, *others: str) -> None:
    for name in (path.name, *others):
        write("")(path.with_name(name))
        os.utime(path.with_name(name), (0, 0))


def serve_again(path: Path) -> None:
    serve(path)
    add(open_store(path), "three")


def serve_with_history(path: Path) -> None:
    serve(path)
    write("line\n")(path.with_name("s.json.history.jsonl"))


NOT_KEPT = "no older document is kept yet"

RIGHT: dict[str, tuple[Make, list[str]]] = {
    "missing": (lambda _: None, ["s.json does not exist yet; it is created when needed"]),
    "served": (serve, ["s.json holds 2 tasks in {size} bytes", NOT_KEPT]),
    "served again": (serve_again, ["s.json holds 3 tasks in {size} bytes", "older documents are kept: s.json.bak"]),
    "served with history": (
        serve_with_history,
        [
            "s.json holds 2 tasks in {size} bytes",
            NOT_KEPT,
            "s.json.history.jsonl keeps what changes replaced, in 5 bytes",
        ],
    ),
    "blank": (lambda path: leave_blank(path), ["s.json is blank, which is an empty store"]),
    "link": (link, ["store.json holds 2 tasks in {size} bytes", NOT_KEPT]),
}

WRONG: dict[str, tuple[Make, str]] = {
    "blank": (write(" \n"), "every tool answers StoreDamaged: The store 's.json' is damaged at line 1, column 1"),
    "blank beside an older one": (
        lambda path: leave_blank(path, "s.json.bak"),
        "every tool answers StoreDamaged: The store 's.json' is damaged at line 1, column 1",
    ),
    "torn": (
        write('{"tasks": ['),
        "every tool answers StoreDamaged: The store 's.json' is damaged at line 1, column 12",
    ),
    "no document": (write("[]"), "every tool answers StoreDamaged: The store 's.json' is damaged at line 1, column 1"),
    "not UTF-8": (
        write(b'{"tasks": ["\xff"]}'),
        "every tool answers StoreDamaged: The store 's.json' is damaged at line 1, column 13",
    ),
    "duplicate id": (
        document(tasks=[{"id": "a"}, {"id": "a"}]),
        "every tool answers StoreDamaged: The store 's.json' is damaged at line 1, column 32",
    ),
    "newer": (
        document(version=7, tasks=[]),
        "every tool answers StoreNewer: The store 's.json' has format version 7, newer than this server",
    ),
    "folder": (Path.mkdir, "s.json exists but cannot be read (not a regular file [EINVAL]), so every tool answers"),
    "fifo": (os.mkfifo, "s.json exists but cannot be read (not a regular file [EINVAL]), so every tool answers"),
    "lost": (lambda path: keep_only(path, "s.json.bak"), "s.json is missing, but older documents are kept: s.json.bak"),
}


def keep_only(path: Path, name: str) -> None:
    serve(path)
    path.rename(path.with_name(name))


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("make", "said"), RIGHT.values(), ids=RIGHT)
def test_a_store_that_a_server_would_go_on_with_is_right(tmp_path: Path, make: Make, said: list[str]) -> None:
    make(tmp_path / "s.json")
    found = look(tmp_path / "s.json")
    size = os.stat(tmp_path / "s.json").st_size if os.path.exists(tmp_path / "s.json") else 0
    assert told(found["store"]) == [(Level.RIGHT, text.format(size=size)) for text in said]
    assert [text for findings in found.values() for level, text in told(findings) if level is Level.WRONG] == []


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("make", "fault"), WRONG.values(), ids=WRONG)
def test_a_store_with_a_fault_is_reported_with_its_cure(tmp_path: Path, make: Make, fault: str) -> None:
    make(tmp_path / "s.json")
    faults = [finding for finding in look(tmp_path / "s.json")["store"] if finding.level is Level.WRONG]
    (found,) = faults
    assert found.text.startswith(fault)
    assert found.cure


@pytest.mark.requirement("DOC-1", "ST-3", "ST-4")
@pytest.mark.parametrize("name", [name for name in WRONG if name != "lost"])
def test_what_is_reported_of_a_document_every_call_of_a_server_answers_too(tmp_path: Path, name: str) -> None:
    make, fault = WRONG[name]
    make(tmp_path / "s.json")
    with pytest.raises(TaskError) as caught, open_store(tmp_path / "s.json").read():
        pass
    if not isinstance(caught.value, StoreUnreadable):
        assert fault.startswith(f"every tool answers {caught.value.code}: ")


@pytest.mark.requirement("DOC-1")
def test_a_link_into_a_folder_that_is_not_there_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.symlink_to("nowhere/real.json")
    (check, *_) = checks_of(path)
    assert told(list(check.look())) == [(Level.WRONG, f"{tmp_path / 'nowhere'} does not exist")]
    with pytest.raises(StoreWriteFailed, match="does not exist"):
        serve(path)


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (HouseSettings, (Level.RIGHT, "{folder} does not exist yet but can be created")),
        (NoteSettings, (Level.WRONG, "{folder} does not exist")),
    ],
    ids=["made", "not made"],
)
def test_a_folder_that_is_not_there_is_right_only_where_the_server_makes_it(
    tmp_path: Path, kind: type[NoteSettings], expected: tuple[Level, str]
) -> None:
    folder = tmp_path / "a" / "b"
    (check, *_) = checks_of(folder / "s.json", kind=kind)
    level, text = expected
    assert told(list(check.look())) == [(level, text.format(folder=folder))]


@pytest.mark.requirement("DOC-1", "EN-6")
@pytest.mark.parametrize(("size", "is_slow"), [(10_000, False), (10_001, True)])
def test_above_ten_thousand_tasks_the_way_to_a_database_is_shown(tmp_path: Path, size: int, *, is_slow: bool) -> None:
    document(tasks=[{"id": str(number)} for number in range(size)])(tmp_path / "s.json")
    notes = [finding for finding in look(tmp_path / "s.json")["store"] if finding.level is Level.NOTE]
    assert len(notes) == is_slow
    assert all("TASK_STORE" in finding.cure and "import" in finding.cure for finding in notes)


FOREIGN: dict[str, bytes] = {
    "a package": b'{"name": "app", "version": "1.0.0", "dependencies": {}}',
    "a configuration": b'{"compilerOptions": {}}',
    "tasks of another program": b'{"tasks": [], "owner": "me"}',
    "an array": b"[]",
    "a text": b'"hello"',
    "tasks as a server writes them, with an index of another": b"""{
"version": 1,
"tasks": [
{"id":"a","text":""}
],
"places": {"a":0}
}
""",
    "an index of another server": b'{"version": 1, "tasks": [], "places": {}}',
}


@pytest.mark.requirement("DOC-1", "ST-3")
@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_the_file_of_another_program_is_named_as_such_and_never_taken_over(tmp_path: Path, data: bytes) -> None:
    check_foreign(tmp_path / "s.json", data, "NOTES_PATH")


@pytest.mark.requirement("DOC-1", "ST-3")
def test_the_database_of_another_program_is_named_as_such_and_never_taken_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "theirs")) as other:
        other.execute("CREATE TABLE theirs (a)")
    check_foreign(tmp_path / "s.db", (tmp_path / "theirs").read_bytes(), "TASK_STORE")


def check_foreign(path: Path, data: bytes, variable: str) -> None:
    write(data)(path)
    codec = ListCodec(NOTES, foreign_fields=("places",))
    (found,) = [finding for finding in look(path, codec)["store"] if finding.level is Level.WRONG]
    assert found.cure.endswith(f"of another program, leave it alone, and set {variable} to another path.")
    with pytest.raises(StoreDamaged):
        add(open_store(path, codec=codec), "one")
    assert path.read_bytes() == data


@pytest.mark.requirement("DOC-1", "EN-8")
def test_for_a_missing_database_no_older_document_is_offered(tmp_path: Path) -> None:
    (tmp_path / "s.db.bak").touch()
    assert told(look(tmp_path / "s.db")["store"]) == [
        (Level.RIGHT, "s.db does not exist yet; it is created when needed")
    ]


@pytest.mark.requirement("DOC-1")
def test_a_store_that_is_mounted_without_its_folder_is_wrong(tmp_path: Path) -> None:
    path, mounts = tmp_path / "s.json", tmp_path / "mountinfo"
    serve(path)
    mounts.write_text(f"25 22 98:0 /srv/s.json {path} rw - ext4 /dev/root rw\n")
    checks = store_checks(NoteSettings(notes_path=path), ListCodec(NOTES), mounts=mounts)
    found = [finding for check in checks if check.subject == "mount" for finding in check.look()]
    assert [(finding.level, finding.cure) for finding in found] == [(Level.WRONG, "Mount its folder instead.")]


@pytest.mark.requirement("DOC-1")
def test_fields_that_the_server_does_not_know_are_worth_a_note(tmp_path: Path) -> None:
    document(version=1, tasks=[{"id": "a", "mood": 1}, {"id": "b", "mood\u202e": 1}], colour="red")(tmp_path / "s.json")
    assert told(look(tmp_path / "s.json")["store"])[1:-1] == [
        (
            Level.NOTE,
            "s.json has fields that this server does not know; they are kept: colour, mood, mood\\u{202e}",
        )
    ]


@pytest.mark.requirement("DOC-1")
def test_a_store_without_the_right_to_read_it_is_wrong() -> None:
    with open_folder() as folder:
        path = folder / "s.json"
        serve(path)
        path.chmod(0)
        with nobody():
            found = list(checks_of(path)[1].look())
    assert [finding.text for finding in found] == [
        "s.json exists but cannot be read (Permission denied [EACCES]), so every tool answers StoreUnreadable"
    ]


@pytest.mark.requirement("DOC-1")
def test_a_store_that_is_open_to_others_is_worth_a_note(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    serve(path)
    path.chmod(0o644)
    assert (Level.NOTE, "s.json is accessible to other users (mode 644)") in told(look(path)["store"])


@pytest.mark.requirement("DOC-1", "S4")
@pytest.mark.parametrize(
    "make", [write("x"), Path.mkdir, lambda lock: lock.symlink_to("away")], ids=["x", "folder", "link"]
)
def test_what_no_server_can_lock_is_wrong(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "s.json"
    assert look(path)["lock"] == []
    make(tmp_path / "s.json.lock")
    with pytest.raises(StoreWriteFailed):
        serve(path)
    fault = "s.json.lock is not a lock file that this user can use, so nothing is saved"
    assert told(look(path)["lock"]) == [(Level.WRONG, fault)]


@pytest.mark.requirement("DOC-1")
def test_a_lock_that_a_server_has_made_or_holds_is_right(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with open_store(path).transaction() as notes:
        notes.add(Note(id="a"))
        assert look(path)["lock"] == []


def test_a_store_in_memory_has_nothing_to_look_at() -> None:
    (check,) = store_checks(NoteSettings(), ListCodec(NOTES))
    assert list(check.look()) == [right("the tasks are in memory only, and lost when the server ends")]


# Databases


@pytest.mark.requirement("DOC-1", "EN-18")
def test_a_database_that_is_whole_is_right(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    assert told(look(path)["store"]) == [(Level.RIGHT, "s.db does not exist yet; it is created when needed")]
    store = open_store(path)
    add(store, "one", "two")
    store.close()
    size = path.stat().st_size
    assert told([*checks_of(path)[1].look()]) == [
        (Level.RIGHT, f"s.db holds 2 tasks in {size:,} bytes"),
        (
            Level.RIGHT,
            f"SQLite {sqlite3.sqlite_version}: let no other program write s.db while a server runs",
        ),
    ]


@pytest.mark.requirement("DOC-1", "EN-18")
@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (
            write("x" * 5_000),
            "every tool answers StoreDamaged: The store 's.db' is damaged (found 'file is not a database'",
        ),
        (Path.mkdir, "every tool answers StoreUnreadable: The store 's.db' exists but cannot be read"),
        (
            lambda path: sqlite_of_another(path),
            "every tool answers StoreDamaged: The store 's.db' is damaged (found the",
        ),
    ],
    ids=["text", "folder", "another program's"],
)
def test_a_database_with_a_fault_is_reported(tmp_path: Path, make: Make, fault: str) -> None:
    make(tmp_path / "s.db")
    (found,) = [finding for finding in checks_of(tmp_path / "s.db")[1].look() if finding.level is Level.WRONG]
    assert found.text.startswith(fault)
    assert found.cure


def sqlite_of_another(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE notes (id)")
    path.chmod(0o600)


@pytest.mark.requirement("DOC-1", "EN-18")
def test_what_sqlite_finds_wrong_within_a_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = open_store(path)
    add(store, *(f"note-{number}" for number in range(100)))
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("DELETE FROM sqlite_master WHERE name = 'by_creation'")
    found = [finding for finding in checks_of(path)[1].look() if finding.level is Level.WRONG]
    assert [finding.text.startswith("s.db is damaged: ") for finding in found] == [True]


@pytest.mark.requirement("DOC-1", "AG-4")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_history_that_others_can_read_is_named(tmp_path: Path) -> None:
    serve_with_history(tmp_path / "s.json")
    (tmp_path / "s.json.history.jsonl").chmod(0o644)
    notes = [finding for finding in look(tmp_path / "s.json")["store"] if finding.level is Level.NOTE]
    assert [note.text for note in notes] == ["s.json.history.jsonl is accessible to other users (mode 644)"]


@pytest.mark.requirement("DOC-1", "AG-4")
def test_a_history_that_is_not_a_file_is_wrong(tmp_path: Path) -> None:
    serve(tmp_path / "s.json")
    (tmp_path / "s.json.history.jsonl").mkdir()
    faults = [finding for finding in look(tmp_path / "s.json")["store"] if finding.level is Level.WRONG]
    assert [fault.text for fault in faults] == ["s.json.history.jsonl is not a file, so no change can be undone"]
