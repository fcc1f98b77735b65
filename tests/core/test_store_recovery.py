"""A store that is missing, blank, newer, unreadable or cut off by a crash: nothing is lost, and it is reported."""

import json
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from task_core.document_file.generations import list_generations
from task_core.errors import StoreDamaged, StoreNewer, StoreUnreadable, StoreWriteFailed
from task_core.store import Store
from task_core.warning_list import WarningList
from tests.core.notes import Note, add, call_by_read, call_by_unit, ids, nobody, open_folder, open_store, stored_ids
from tests.untouched import untouched


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


Call = Callable[[Store[Note]], None]
both_ways = pytest.mark.parametrize("call", [call_by_read, call_by_unit])


def document(*lines: str) -> bytes:
    return ('{\n"version": 1,\n"tasks": [\n' + ",\n".join(lines) + "\n]\n}\n").encode()


def later() -> datetime:
    """Return a moment at which every file of the test has been at rest for long."""
    return datetime.now(UTC) + timedelta(hours=1)


OURS = document('{"id":"a","text":""}', '{"id":"b","text":"é","mood":[1,null]}')


@pytest.mark.requirement("L2", "ST-5")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + document('{"id":"a","text":""}'), id="a mark at the start"),
        pytest.param(b"\n \t" + document('{"id":"a","text":""}') + b"\r\n\r\n", id="blanks around"),
        pytest.param(document('{"id":"a","text":""}').replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(b'{"tasks":[{"text":"","id":"a"}]}', id="one line, no version, keys in another order"),
        pytest.param(json.dumps({"version": 1, "tasks": [{"id": "a"}]}, indent=4).encode(), id="indented"),
    ],
)
def test_a_valid_document_is_read_however_it_is_laid_out(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    store = open_store(path)
    assert ids(store) == ["a"]
    assert path.read_bytes() == data
    add(store, "b")
    assert path.read_bytes() == document('{"id":"a","text":""}', '{"id":"b","text":""}')


@pytest.mark.requirement("ST-5", "L2")
def test_fields_that_the_server_does_not_know_are_kept_at_every_level(path: Path) -> None:
    item = {"id": "a", "text": "", "mood": {"deep": [{"x": None}], "é": 1.5}}
    whole = {"owner": "Ann", "version": 1, "tasks": [item], "more": {"k": [1, {"x": 0}]}}
    path.write_text(json.dumps(whole))
    store = open_store(path)
    add(store, "b")
    with store.transaction() as notes:
        notes.replace(notes.get("a").changed(text="new"))
    tasks = [{**item, "text": "new"}, {"id": "b", "text": ""}]
    assert json.loads(path.read_bytes()) == {"version": 1, "tasks": tasks, "owner": "Ann", "more": whole["more"]}
    assert list(json.loads(path.read_bytes())) == ["version", "tasks", "owner", "more"]


@pytest.mark.requirement("ST-5")
def test_a_missing_document_is_an_empty_store_and_reading_makes_none(path: Path) -> None:
    store = open_store(path)
    with untouched(path.parent):
        assert ids(store) == ids(store) == []


BLANKS = {"empty": b"", "blank": b" \r\n\t\n"}


@pytest.mark.requirement("ST-5", "ST-3")
@pytest.mark.parametrize("data", BLANKS.values(), ids=BLANKS)
@both_ways
def test_a_blank_document_is_an_empty_store_once_it_has_been_at_rest_for_five_seconds(
    path: Path, call: Call, data: bytes
) -> None:
    path.write_bytes(data)
    changed = path.stat().st_mtime
    moments = [changed + 4.9, changed - 4.9, changed + 5.1]
    store = open_store(path, clock=lambda: datetime.fromtimestamp(moments[0], UTC))
    for _ in range(2):
        with pytest.raises(
            StoreDamaged, match=r"line 1, column 1 .*nothing but white space.*another program is writing"
        ) as caught:
            call(store)
        assert caught.value.message.endswith("Call again in 5 seconds: then an empty file counts as a new store.")
        assert path.read_bytes() == data
        moments.pop(0)
    call(store)
    add(store, "a")
    assert stored_ids(path)[-1] == "a"
    assert list_generations(path) == []  # what is not a document is none


@pytest.mark.requirement("ST-5", "ST-3")
@both_ways
def test_a_blank_document_beside_a_generation_is_damaged_however_long_it_rests(path: Path, call: Call) -> None:
    path.write_bytes(b"\n")
    path.with_name(f"{path.name}.bak").write_bytes(OURS)
    with pytest.raises(StoreDamaged, match=r"nothing but white space.*Ask the user to repair it"):
        call(open_store(path, clock=later))
    assert path.read_bytes() == b"\n"


@pytest.mark.requirement("ST-3")
def test_an_editor_that_writes_in_place_is_waited_for(path: Path) -> None:
    store = open_store(path)
    add(store, "a")
    whole = path.read_bytes().replace(b'"a"', b'"edited"')
    for end in (0, 20, 30, len(whole) - 3):
        path.write_bytes(whole[:end])
        with pytest.raises(StoreDamaged):
            add(store, "b")
        assert path.read_bytes() == whole[:end]
    path.write_bytes(whole)
    add(store, "b")
    assert stored_ids(path) == ["edited", "b"]


# What only a crash can leave, where the server says that it can go on without (HB-16)

TORN = OURS[:60]
ZEROS = b"\0" * len(OURS)


def copies(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.corrupt-*"))


@pytest.mark.requirement("HB-16", "L1", "L3", "S4", "WARN-1")
@pytest.mark.parametrize(
    "data", [TORN, TORN[:12], OURS[:1], OURS[:-3], ZEROS], ids=["half", "head", "one", "end", "zero"]
)
def test_what_only_a_crash_leaves_is_kept_aside_and_the_store_starts_empty(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    warnings = WarningList()
    store = open_store(path, warnings, may_start_anew=True, clock=later)
    with untouched(path.parent), pytest.raises(StoreDamaged):
        call_by_read(store)
    call_by_unit(store)
    assert stored_ids(path) == ["new"]
    (copy,) = list_generations(path)
    assert copy.name.startswith("notes.json.corrupt-")
    assert copy.read_bytes() == data
    assert copy.stat().st_mode & 0o777 == 0o600
    (warning,) = warnings.take()
    assert warning.startswith("notes.json was cut off by a crash (found ")
    assert warning.endswith(f"so the store starts empty; the damaged file is kept as {copy.name}.")


@pytest.mark.requirement("WARN-2", "ST-5")
def test_a_document_that_is_missing_again_after_a_torn_one_is_reported_again(path: Path) -> None:
    warnings = WarningList()
    for name in "ab":
        add(open_store(path), name)
    store = open_store(path, warnings, may_start_anew=True, clock=later)
    path.unlink()
    assert ids(store) == []
    said = warnings.take()
    assert "is missing" in said[0]
    path.write_bytes(TORN)
    add(store, "c")
    warnings.take()
    path.unlink()
    assert (ids(store), warnings.take()) == ([], said)


@pytest.mark.requirement("HB-16")
@pytest.mark.parametrize("data", [TORN, ZEROS], ids=["torn", "zero"])
def test_what_a_crash_may_have_left_is_not_touched_before_it_has_been_at_rest(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(StoreDamaged):
        call_by_unit(open_store(path, may_start_anew=True))
    assert path.read_bytes() == data
    assert copies(path) == []


@pytest.mark.requirement("HB-16", "ST-3")
def test_a_typo_in_a_last_line_without_an_end_is_not_blamed_on_a_crash(path: Path) -> None:
    data = OURS.rstrip().removesuffix(b"}") + b'"more" 1}'
    path.write_bytes(data)
    with pytest.raises(StoreDamaged):
        call_by_unit(open_store(path, may_start_anew=True, clock=later))
    assert path.read_bytes() == data
    assert copies(path) == []


@pytest.mark.requirement("HB-16", "L1", "ERR-2")
def test_a_torn_document_that_cannot_be_kept_aside_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(TORN)
    store = open_store(path, may_start_anew=True, clock=later)
    real = os.open

    def full(name: object, *args: int, **kwargs: int) -> int:
        if ".corrupt-" in str(name):
            raise OSError(28, "No space left on device")
        return real(str(name), *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        with pytest.raises(StoreWriteFailed, match=r"could not be kept: No space left on device"):
            call_by_unit(store)
    assert path.read_bytes() == TORN
    assert copies(path) == []
    call_by_unit(store)
    assert stored_ids(path) == ["new"]


# Stores that are newer or cannot be read (ST-4)


@pytest.mark.requirement("L2", "ST-4")
@both_ways
def test_a_newer_store_is_refused_and_left_alone_until_it_is_fixed(path: Path, call: Call) -> None:
    data = b'{"version": 7, "tasks": {}, "shape": "new"}'
    path.write_bytes(data)
    store = open_store(path, may_start_anew=True, clock=later)
    for _ in range(2):
        with pytest.raises(StoreNewer) as caught:
            call(store)
        assert caught.value.details == {"file": "notes.json", "found": 7, "supported": 1}
    assert path.read_bytes() == data
    assert copies(path) == []
    path.write_bytes(data.replace(b"7", b"1").replace(b"{}", b"[]"))
    add(store, "a")
    assert json.loads(path.read_bytes())["shape"] == "new"


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.requirement("L1", "ST-4")
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_socket, link_to_itself])
@both_ways
def test_what_is_not_a_file_is_an_error_at_once_and_left_alone(
    path: Path, make: Callable[[Path], None], call: Call
) -> None:
    make(path)
    kind = path.lstat()
    with pytest.raises(StoreUnreadable, match=r"regular file|No such device|symbolic links"):
        call(open_store(path))
    assert (path.lstat().st_ino, path.lstat().st_mode) == (kind.st_ino, kind.st_mode)


@pytest.mark.requirement("ST-4")
def test_a_link_to_a_device_is_unreadable(path: Path) -> None:
    path.symlink_to("/dev/zero")
    with pytest.raises(StoreUnreadable, match="not a regular file"):
        call_by_read(open_store(path))


@pytest.mark.requirement("L1", "ST-4")
@both_ways
def test_a_store_that_may_not_be_read_is_not_empty(call: Call) -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        add(open_store(path), "a")
        path.with_name("notes.json.lock").chmod(0o666)
        path.chmod(0o600 if os.geteuid() == 0 else 0)
        store = open_store(path)
        with nobody(), pytest.raises(StoreUnreadable, match="Permission denied"):
            call(store)
        path.chmod(0o600)
        assert stored_ids(path) == ["a"]
        call(store)


@pytest.mark.requirement("L1", "ST-4")
@both_ways
def test_a_folder_that_may_not_be_searched_is_an_error(call: Call) -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        add(open_store(path), "a")
        store = open_store(path)
        folder.chmod(0o600)
        with nobody(), pytest.raises((StoreUnreadable, StoreWriteFailed), match="Permission denied"):
            call(store)
        folder.chmod(0o700)
        assert stored_ids(path) == ["a"]


@pytest.mark.requirement("ST-4")
def test_what_cannot_be_looked_at_is_not_at_hand_and_not_shown_from_memory() -> None:
    with open_folder() as folder:
        store = open_store(folder / "notes.json")
        add(store, "a")
        assert store.can_answer_now()
        folder.chmod(0o600)
        with nobody():
            assert not store.can_answer_now()
            with pytest.raises(StoreUnreadable, match="Permission denied"):
                call_by_read(store)
        folder.chmod(0o700)
        assert ids(store) == ["a"]
