"""A store that is missing, blank, damaged, foreign, newer or not readable: nothing is lost, and somebody is told."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NoReturn

import pytest
from typing_extensions import override

from task_core.errors import StoreNewer, StoreUnreadable, StoreWriteFailed
from task_core.store import JsonFileStore, ListCodec
from task_core.store.aside import KEEP_COPIES, KEEP_DAYS, keep_aside
from task_core.store.encoding import Damaged, Decoded
from task_core.warning_list import WarningList
from tests.core.faults import watched
from tests.core.notes import Note, add, ids, litter, nobody, open_folder, open_store, stored_ids

NOON = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
DAMAGED = b'{"version": 1, "tasks": [\n{"id": "a", "text"'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks damaged is looked at twice, a moment apart; here that moment is over at once."""

    def nothing(_: float) -> None:
        pass

    monkeypatch.setattr(time, "sleep", nothing)


def copies(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.corrupt-*"))


def from_mirror() -> list[Note]:
    return [Note(id="mirrored")]


def call_by_read(store: JsonFileStore[Note]) -> None:
    store.read()


def call_by_unit(store: JsonFileStore[Note]) -> None:
    with store.transaction():
        pass


def full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


both_ways = pytest.mark.parametrize("call", [call_by_read, call_by_unit])
Call = Callable[[JsonFileStore[Note]], None]


@pytest.mark.requirement("L1")
@both_ways
def test_a_missing_store_begins_with_what_can_be_recovered_and_says_so(path: Path, call: Call) -> None:
    warnings = WarningList()
    call(open_store(path, warnings, recover=from_mirror))
    assert stored_ids(path) == ["mirrored"]
    assert warnings.take() == ["notes.json was not there; 1 tasks were recovered."]


@pytest.mark.requirement("L1")
def test_a_missing_store_with_nothing_to_recover_is_empty_and_not_written(path: Path) -> None:
    store = open_store(path)
    assert ids(store) == ids(store) == []
    assert not path.exists()


@pytest.mark.requirement("L1", "WARN-1")
@pytest.mark.parametrize("data", [b"", b" \r\n\t\n"], ids=["empty", "blank"])
@both_ways
def test_a_blank_store_begins_with_what_can_be_recovered_and_warns(path: Path, call: Call, data: bytes) -> None:
    path.write_bytes(data)
    warnings = WarningList()
    call(open_store(path, warnings, recover=from_mirror))
    assert stored_ids(path) == ["mirrored"]
    assert warnings.take() == ["notes.json was unusable (blank); it held nothing. 1 tasks were recovered."]
    assert litter(path) == set()


@pytest.mark.requirement("L1", "WARN-1", "S4", "ST-3")
@both_ways
def test_a_damaged_store_is_copied_aside_before_it_is_replaced(path: Path, call: Call) -> None:
    path.write_bytes(DAMAGED)
    warnings = WarningList()
    call(open_store(path, warnings, recover=from_mirror, clock=lambda: NOON))
    (copy,) = copies(path)
    assert copy.read_bytes() == DAMAGED
    assert copy.name.startswith("notes.json.corrupt-20261101T120000000000Z-")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stored_ids(path) == ["mirrored"]
    (warning,) = warnings.take()
    assert f"its bytes are kept in {copy.name}. 1 tasks were recovered." in warning
    assert "Expecting ':' delimiter at line 2" in warning


@pytest.mark.requirement("L1")
def test_the_copy_is_on_disk_before_anything_is_written_to_the_store(path: Path) -> None:
    path.write_bytes(DAMAGED)
    store = open_store(path)
    with watched() as calls:
        store.read()
    assert [name for name in calls if name in {"writev", "fsync", "replace"}] == [
        *("writev", "fsync", "fsync"),
        *("writev", "fsync", "replace", "fsync"),
    ]


@pytest.mark.requirement("L1", "L2", "ST-3")
def test_what_this_process_has_read_before_outlives_the_damage_with_all_that_stood_beside_it(path: Path) -> None:
    path.write_text(json.dumps({"version": 1, "owner": "Ann", "tasks": [{"id": "a", "mood": "fine"}, {"id": 7}]}))
    store = open_store(path, recover=from_mirror)
    assert ids(store) == ["a"]
    path.write_bytes(DAMAGED)
    assert ids(store) == ["a"]
    add(store, "b")
    assert json.loads(path.read_bytes()) == {
        "version": 1,
        "tasks": [{"id": "a", "text": "", "mood": "fine"}, {"id": "b", "text": ""}, {"id": 7}],
        "owner": "Ann",
    }


@pytest.mark.requirement("L3", "WARN-1")
def test_each_damage_leaves_one_copy_and_one_warning(path: Path) -> None:
    warnings = WarningList()
    store = open_store(path, warnings)
    add(store, "a")
    for number in range(5):
        path.write_bytes(DAMAGED + b" " * number)
        assert ids(store) == ids(store) == ["a"]
        assert len(warnings.take()) == 1
    assert len(copies(path)) == 5
    assert stored_ids(path) == ["a"]


@pytest.mark.requirement("L3")
def test_of_old_copies_only_the_newest_stay(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    old = [keep_aside(path, b"%d" % day, NOON + timedelta(days=day)) for day in range(6)]
    foreign = [tmp_path / f"{path.name}.corrupt-mine", tmp_path / f"other.json{old[0].name[len(path.name) :]}"]
    for file in foreign:
        file.touch()
    assert copies(path) == sorted([*old, foreign[0]])
    late = keep_aside(path, b"late", NOON + timedelta(days=32, hours=23))
    assert (KEEP_COPIES, KEEP_DAYS) == (3, 30)
    assert set(tmp_path.iterdir()) == {*old[3:], *foreign, late}


@pytest.mark.requirement("L3")
def test_no_young_copy_is_removed_however_many_there_are(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    for hour in range(24):
        keep_aside(path, b"x", NOON + timedelta(hours=hour))
    assert len(copies(path)) == 24


@pytest.mark.requirement("L3")
def test_old_copies_that_cannot_be_removed_are_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(5):
        keep_aside(tmp_path / "notes.json", b"x", NOON + timedelta(days=40 * day))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    keep_aside(tmp_path / "notes.json", b"x", NOON + timedelta(days=400))
    assert len(copies(tmp_path / "notes.json")) == 4


@pytest.mark.requirement("L1", "ERR-2")
@both_ways
def test_a_damaged_store_that_cannot_be_copied_is_left_untouched(
    path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(DAMAGED)
    store = open_store(path, recover=from_mirror)
    real = os.open

    def open_(name: Path, flags: int, mode: int = 0o777) -> int:
        return full() if ".corrupt-" in str(name) else real(name, flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_)
        with pytest.raises(StoreUnreadable, match=r"delimiter.*no copy could be kept: No space left on device"):
            call(store)
    assert path.read_bytes() == DAMAGED
    assert litter(path) == set()
    call(store)
    assert stored_ids(path) == ["mirrored"]


@pytest.mark.requirement("D4", "L3", "WARN-1")
def test_a_recovery_that_cannot_be_saved_makes_no_second_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(DAMAGED)
    warnings = WarningList()
    store = open_store(path, warnings)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        for call in (call_by_unit, call_by_read, call_by_unit):
            with pytest.raises(StoreWriteFailed, match="No space left"):
                call(store)
            assert path.read_bytes() == DAMAGED
    assert (len(copies(path)), len(warnings.take())) == (1, 1)
    add(store, "a")
    assert (stored_ids(path), len(copies(path)), warnings.take()) == (["a"], 1, [])


@pytest.mark.requirement("D5", "L1")
@pytest.mark.parametrize("data", [None, b"\n"], ids=["missing", "blank"])
@pytest.mark.parametrize("call", ["writev", "replace"])
def test_on_a_full_disk_a_store_without_content_reads_as_what_can_be_recovered(
    path: Path, data: bytes | None, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if data is not None:
        path.write_bytes(data)
    store = open_store(path, recover=from_mirror)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        assert ids(store) == ids(store) == ["mirrored"]
        assert (path.read_bytes() if path.exists() else None) == data
    add(store, "a")
    assert stored_ids(path) == ["mirrored", "a"]


@pytest.mark.requirement("ST-3")
@pytest.mark.parametrize("torn", [b"", DAMAGED], ids=["emptied", "half written"])
def test_an_editor_that_writes_in_place_is_waited_for(path: Path, torn: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings = WarningList()
    store = open_store(path, warnings)
    add(store, "a")
    edited = path.read_bytes().replace(b'"a"', b'"edited"')
    path.write_bytes(torn)
    states = [DAMAGED[:20], DAMAGED[:30], edited]

    def editor_goes_on(_: float) -> None:
        path.write_bytes(states.pop(0))

    monkeypatch.setattr(time, "sleep", editor_goes_on)
    add(store, "b")
    assert stored_ids(path) == ["edited", "b"]
    assert (states, warnings.take(), litter(path)) == ([], [], set())


@pytest.mark.requirement("ST-3")
def test_a_damaged_store_that_is_removed_while_it_is_looked_at_is_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(DAMAGED)

    def user_removes(_: float) -> None:
        path.unlink()

    monkeypatch.setattr(time, "sleep", user_removes)
    assert ids(open_store(path, recover=from_mirror)) == ["mirrored"]
    assert litter(path) == set()


@pytest.mark.requirement("L1", "C2")
@pytest.mark.parametrize("seconds", [0, 0.01])
def test_waiting_for_an_editor_ends_with_the_wait_for_the_store(
    path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def editor_goes_on(_: float) -> None:
        path.write_bytes(path.read_bytes() + b" ")
        assert path.stat().st_size < 100_000

    monkeypatch.setattr(time, "sleep", editor_goes_on)
    path.write_bytes(DAMAGED)
    add(open_store(path, lock_seconds=seconds), "a")
    assert (stored_ids(path), len(copies(path))) == (["a"], 1)


@pytest.mark.requirement("L1")
def test_a_damaged_store_where_none_was_begins_with_what_can_be_recovered(path: Path) -> None:
    mirrored: list[Note] = []
    store = open_store(path, recover=lambda: mirrored)
    assert ids(store) == []
    mirrored += from_mirror()
    path.write_bytes(DAMAGED)
    assert ids(store) == ["mirrored"]


@pytest.mark.requirement("L2", "ST-4")
@both_ways
def test_a_newer_store_is_refused_and_left_alone_until_it_is_mended(path: Path, call: Call) -> None:
    data = b'{"version": 7, "tasks": [], "shape": "new"}'
    path.write_bytes(data)
    store = open_store(path, recover=from_mirror)
    for _ in range(2):
        with pytest.raises(StoreNewer) as caught:
            call(store)
        assert caught.value.details == {"file": "notes.json", "found": 7, "supported": 1}
    assert path.read_bytes() == data
    assert litter(path) == set()
    path.write_bytes(data.replace(b"7", b"1"))
    add(store, "a")
    assert json.loads(path.read_bytes())["shape"] == "new"


@pytest.mark.requirement("L2", "WARN-1", "ST-3")
def test_what_is_wrong_with_single_tasks_is_told_once(path: Path) -> None:
    items = [{"id": "a"}, {"id": "a"}, 1, 2, 3]
    path.write_text(json.dumps({"tasks": items}))
    warnings = WarningList()
    store = open_store(path, warnings)
    assert ids(store) == ["a", "a-2"]
    (warning,) = warnings.take()
    assert warning.startswith("notes.json: Task 3 is not valid")
    assert warning.endswith(" 1 more faults.")
    add(store, "b")
    assert ids(open_store(path, warnings)) == ["a", "a-2", "b"]
    assert json.loads(path.read_bytes())["tasks"][3:] == [1, 2, 3]


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.requirement("L1", "ST-4")
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, make_socket, link_to_device, link_to_itself])
@both_ways
def test_what_is_no_file_is_an_error_at_once_and_left_alone(
    path: Path, make: Callable[[Path], None], call: Call
) -> None:
    make(path)
    kind = path.lstat()
    store = open_store(path, recover=from_mirror)
    with pytest.raises(StoreUnreadable, match=r"regular file|No such device|symbolic links"):
        call(store)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (kind.st_ino, kind.st_mode)
    assert litter(path) <= {"zero.lock"}


@pytest.mark.requirement("L1", "ST-4")
@both_ways
def test_a_store_that_may_not_be_read_is_not_empty(call: Call) -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        add(open_store(path), "a")
        path.with_name("notes.json.lock").chmod(0o666)
        store = open_store(path, recover=from_mirror)
        with nobody(), pytest.raises(StoreUnreadable, match="Permission denied"):
            call(store)
        assert stored_ids(path) == ["a"]
        call(store)


@pytest.mark.requirement("L1", "ST-4")
@both_ways
def test_a_folder_that_may_not_be_searched_is_an_error(call: Call) -> None:
    with open_folder() as folder:
        path = folder / "notes.json"
        add(open_store(path), "a")
        folder.chmod(0o600)
        with nobody(), pytest.raises((StoreUnreadable, StoreWriteFailed), match="Permission denied"):
            call(open_store(path, recover=from_mirror))
        assert stored_ids(path) == ["a"]


class PickyCodec(ListCodec[Note]):
    """Understands nothing, as the codec of another server would."""

    @override
    def decode(self, data: bytes, last: Decoded[Note] | None = None) -> Decoded[Note]:
        raise Damaged(f"{len(data)} bytes of something else")


@pytest.mark.requirement("L1")
def test_the_document_of_another_server_is_kept_aside_too(path: Path) -> None:
    add(open_store(path), "a")
    data = path.read_bytes()
    open_store(path, codec=PickyCodec(Note)).read()
    assert [copy.read_bytes() for copy in copies(path)] == [data]
