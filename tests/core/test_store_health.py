"""What ``doctor`` says of a store: what a server makes of it, and nothing is changed (DOC-1)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from task_core.doctor import Finding, Level, right
from task_core.errors import StoreNewer, StoreUnreadable, StoreWriteFailed
from task_core.store import ListCodec
from task_core.store.health import check_lock, store_checks
from task_core.warning_list import WarningList
from tests.core.notes import Note, add, ids, litter, nobody, open_folder, open_store
from tests.untouched import untouched

Make = Callable[[Path], object]


def look(path: Path) -> dict[str, list[Finding]]:
    """Return what is found on each subject; nothing may have changed by it."""
    with untouched(path.parent):
        return {check.subject: list(check.findings()) for check in store_checks(path, ListCodec(Note))}


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


RIGHT: dict[str, tuple[Make, list[str]]] = {
    "missing": (lambda _: None, ["s.json is not there yet; it is made when it is needed"]),
    "served": (serve, ["s.json holds 2 tasks in {size} bytes"]),
    "link": (link, ["store.json holds 2 tasks in {size} bytes"]),
}

WRONG: dict[str, tuple[Make, str]] = {
    "blank": (write(" \n"), "s.json is empty"),
    "torn": (write('{"tasks": ['), "s.json is damaged: Expecting value at line 1, column 12"),
    "no document": (write("[]"), "s.json is damaged: it is not a JSON object"),
    "a key twice": (
        write('{"tasks": [], "tasks": []}'),
        "s.json is damaged: the key 'tasks' stands twice in one object",
    ),
    "not UTF-8": (write(b'{"tasks": ["\xff"]}'), "s.json is damaged: invalid UTF-8 at byte 12"),
    "newer": (document(version=7, tasks=[]), "s.json has format version 7, newer than this server, which knows 1"),
    "folder": (
        Path.mkdir,
        "s.json is there but cannot be read (not a regular file [EINVAL]), so every tool answers StoreUnreadable",
    ),
    "fifo": (
        os.mkfifo,
        "s.json is there but cannot be read (not a regular file [EINVAL]), so every tool answers StoreUnreadable",
    ),
    "duplicate id": (
        document(tasks=[{"id": "a"}, {"id": "a"}]),
        "s.json: The id 'a' stood twice; the second task is now 'a-2'.",
    ),
    "no task": (
        document(tasks=[{"id": 1}]),
        "s.json: Task 1 is not valid (id: Input should be a valid string); it was kept in the file unread.",
    ),
}


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
def test_a_store_with_a_fault_is_told_with_what_mends_it(tmp_path: Path, make: Make, fault: str) -> None:
    make(tmp_path / "s.json")
    faults = [finding for finding in look(tmp_path / "s.json")["store"] if finding.level is Level.WRONG]
    assert [finding.text for finding in faults] == [fault]
    assert all(finding.cure for finding in faults)


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("make", [make for make, _ in WRONG.values()], ids=WRONG)
def test_what_is_told_of_a_document_a_server_complains_of_too(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "s.json")
    warnings = WarningList()
    refused = ""
    try:
        open_store(tmp_path / "s.json", warnings).read()
    except (StoreNewer, StoreUnreadable) as error:
        refused = error.code
    assert bool(warnings.take()) != bool(refused)


@pytest.mark.requirement("DOC-1")
def test_of_a_damaged_store_it_is_told_that_a_copy_is_kept_and_what_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    write("{")(path)
    (finding,) = look(path)["store"]
    assert finding.cure == (
        "Mend it or put a copy back. Else the server copies its bytes to s.json.corrupt-… and goes on with the tasks "
        "that it can recover, if any."
    )
    assert ids(open_store(path, recover=lambda: [Note(id="a")])) == ["a"]
    (copy,) = litter(path)
    assert copy.startswith("s.json.corrupt-")


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("makes_folder", [False, True])
def test_a_link_into_a_folder_that_is_not_there_is_wrong(tmp_path: Path, *, makes_folder: bool) -> None:
    path = tmp_path / "s.json"
    path.symlink_to("nowhere/real.json")
    (check, *_) = store_checks(path, ListCodec(Note), makes_folder=makes_folder)
    assert told(list(check.findings())) == [(Level.WRONG, f"{tmp_path / 'nowhere'} is not there")]
    with pytest.raises(StoreWriteFailed, match="not there"):
        serve(path)


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("makes_folder", "expected"),
    [
        (True, (Level.RIGHT, "{folder} is not there yet and can be made")),
        (False, (Level.WRONG, "{folder} is not there")),
    ],
    ids=["made", "not made"],
)
def test_a_folder_that_is_not_there_is_right_only_where_the_server_makes_it(
    tmp_path: Path, *, makes_folder: bool, expected: tuple[Level, str]
) -> None:
    folder = tmp_path / "a" / "b"
    (check, *_) = store_checks(folder / "s.json", ListCodec(Note), makes_folder=makes_folder)
    level, text = expected
    assert told(list(check.findings())) == [(level, text.format(folder=folder))]


@pytest.mark.requirement("DOC-1")
def test_of_many_faults_the_first_are_told_and_the_rest_counted(tmp_path: Path) -> None:
    document(tasks=[{"id": number} for number in range(12)])(tmp_path / "s.json")
    faults = [text for level, text in told(look(tmp_path / "s.json")["store"]) if level is Level.WRONG]
    assert (len(faults), faults[-1]) == (11, "s.json: 2 more faults")


@pytest.mark.requirement("DOC-1")
def test_fields_that_the_server_does_not_know_are_worth_a_note(tmp_path: Path) -> None:
    document(tasks=[{"id": "a", "mood": 1}, {"id": "b", "mood\u202e": 1}], colour="red")(tmp_path / "s.json")
    assert told(look(tmp_path / "s.json")["store"])[1:] == [
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
            found = [finding for check in store_checks(path, ListCodec(Note)) for finding in check.findings()]
    assert (
        "s.json is there but cannot be read (Permission denied [EACCES]), so every tool answers StoreUnreadable"
    ) in [finding.text for finding in found]


@pytest.mark.requirement("DOC-1")
def test_a_store_that_is_open_to_others_is_worth_a_note(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    serve(path)
    path.chmod(0o644)
    assert (Level.NOTE, "s.json is open to others than its owner (mode 644)") in told(look(path)["store"])


@pytest.mark.requirement("DOC-1")
def test_a_lock_that_is_free_is_right_and_one_that_is_missing_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    assert look(path)["lock"] == [right("it is free: no server has worked here yet")]
    serve(path)
    assert look(path)["lock"] == [right("it is free")]


@pytest.mark.requirement("DOC-1")
def test_a_lock_that_another_process_holds_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with open_store(path).transaction() as notes:
        notes.add(Note(id="a"))
        assert look(path)["lock"] == [right("another process holds it at this moment, which is no fault")]


@pytest.mark.requirement("DOC-1")
def test_looking_at_a_lock_leaves_it_free(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    serve(path)
    look(path)
    with FileLock(tmp_path / "s.json.lock", timeout=0):
        pass


def plant_link(path: Path) -> None:
    (path.parent / "elsewhere").touch()
    path.symlink_to("elsewhere")


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("make", [write("x"), Path.mkdir, plant_link], ids=["content", "folder", "link"])
def test_what_the_store_would_not_lock_is_wrong(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "s.json"
    make(tmp_path / "s.json.lock")
    assert told(look(path)["lock"]) == [(Level.WRONG, "s.json.lock is no lock but something else in its place")]
    with pytest.raises(StoreWriteFailed):
        serve(path)


@pytest.mark.requirement("DOC-1", "DOC-2")
def test_a_lock_that_cannot_be_opened_is_wrong() -> None:
    with open_folder() as folder:
        path = folder / "s.json"
        serve(path)
        with nobody():
            (check,) = [check for check in store_checks(path, ListCodec(Note)) if check.subject == "lock"]
            found = list(check.findings())
    if os.geteuid() == 0:
        assert told(found) == [(Level.WRONG, "it cannot be looked at (Permission denied [EACCES])")]


@pytest.mark.requirement("DOC-1")
def test_a_lock_that_everyone_may_write_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    serve(path)
    (tmp_path / "s.json.lock").chmod(0o666)
    assert told(list(check_lock(path)))[1:] == [(Level.WRONG, "s.json.lock can be written by everyone (mode 666)")]
