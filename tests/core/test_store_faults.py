"""Every call to the operating system fails in turn, once and for good, with every error that a disk gives.

After each: an error that names the cause, memory and disk as before, no leftovers, and work that goes on afterwards.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from task_core.errors import StoreLocked, StoreUnreadable, StoreWriteFailed
from task_core.store import Store
from tests.core.faults import CODES, Fault, watched
from tests.core.notes import Note, add, ids, litter, open_store, stored_ids

TORN = b'{\n"version": 1,\n"tasks": [\n{"id"'

START = datetime(2030, 1, 1, tzinfo=UTC)

TAKEN_BACK_IN_VAIN = "could not be undone"


@dataclass(frozen=True)
class Scene:
    """A store before the call under test; the call adds 'new'."""

    path: Path
    store: Store[Note]

    def content(self) -> bytes | None:
        return self.path.read_bytes() if self.path.exists() else None

    def leftovers(self) -> set[str]:
        return {name for name in litter(self.path) if ".corrupt-" not in name}


Prepare = Callable[[Path], Scene]


def scene_of(folder: Path) -> Scene:
    path = folder / "notes.json"
    moments = count()

    def clock() -> datetime:
        """Return a moment at which whatever was done before has been at rest for 10 seconds."""
        return START + timedelta(seconds=10 * next(moments))

    return Scene(path, open_store(path, may_start_anew=True, lock_seconds=0.005, clock=clock))


def nothing_yet(folder: Path) -> Scene:
    return scene_of(folder)


def saved_before(folder: Path) -> Scene:
    scene = scene_of(folder)
    add(scene.store, "old")
    scene.path.chmod(0o640)
    return scene


def just_started(folder: Path) -> Scene:
    saved_before(folder)
    scene = scene_of(folder)
    scene.path.with_name(f".notes.json.{'0' * 16}.tmp").touch()
    return scene


def saved_by_another(folder: Path) -> Scene:
    scene = saved_before(folder)
    add(open_store(scene.path), "other")
    return scene


def on_another_day(folder: Path) -> Scene:
    scene = just_started(folder)
    for name in ("notes.json.bak", "notes.json.bak.2"):
        add(open_store(folder / name), name)
        (folder / f"{name}.lock").unlink()
        os.utime(folder / name, (0, 0))
    return scene


def torn(folder: Path) -> Scene:
    scene = scene_of(folder)
    scene.path.write_bytes(TORN)
    os.utime(scene.path, (0, 0))
    return scene


def torn_after_reading(folder: Path) -> Scene:
    scene = saved_before(folder)
    scene.path.write_bytes(TORN)
    os.utime(scene.path, (0, 0))
    return scene


def nothing(_: int) -> None:
    pass


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync succeeds or fails but takes no time."""
    monkeypatch.setattr(os, "fsync", nothing)


def each_fault(folder: Path, codes: Sequence[int], *, for_good: bool = False) -> Iterator[Fault]:
    """Yield the fault at call 1, 2, 3, and so on, with ``codes`` in turn, each time with an empty folder."""
    for number in count(1):
        for entry in folder.iterdir():
            entry.unlink()
        yield Fault(number, codes[number % len(codes)], for_good)


ONCE = (nothing_yet, saved_by_another, on_another_day, torn, torn_after_reading)


@pytest.mark.requirement("D4", "ERR-2", "D3")
@pytest.mark.parametrize(
    ("prepare", "codes", "for_good"),
    [
        (saved_before, [errno.EINTR], False),
        *((prepare, CODES[turn % 5 :] + CODES[: turn % 5], False) for turn, prepare in enumerate(ONCE)),
        (saved_before, CODES, True),
        pytest.param(on_another_day, CODES, True, marks=pytest.mark.by_hand),
    ],
    ids=lambda value: getattr(value, "__name__", None) or ("for good" if value is True else ""),
)
def test_a_save_of_which_any_step_fails_has_changed_nothing(
    tmp_path: Path, prepare: Prepare, codes: Sequence[int], *, for_good: bool
) -> None:
    for fault in each_fault(tmp_path, codes, for_good=for_good):
        scene = prepare(tmp_path)
        before = (scene.content(), scene.leftovers())
        error = None
        with watched(fault) as calls:
            try:
                add(scene.store, "new")
            except (StoreWriteFailed, StoreUnreadable, StoreLocked) as caught:
                error = caught
        if error is None:
            assert stored_ids(scene.path)[-1] == "new"
        else:
            check_nothing_changed(scene, before, error, fault)
        check_work_goes_on(scene, error)
        if len(calls) < fault.at:
            assert error is None
            return


def check_nothing_changed(
    scene: Scene,
    before: tuple[bytes | None, set[str]],
    error: StoreWriteFailed | StoreUnreadable | StoreLocked,
    fault: Fault,
) -> None:
    if isinstance(error, StoreLocked):
        assert fault.code == errno.EACCES, "only this one means that the lock is held"
    else:
        assert os.strerror(fault.code) in error.message
        assert str(scene.path.parent) not in error.message
    if TAKEN_BACK_IN_VAIN in error.message:
        assert fault.for_good
    else:
        assert scene.content() == before[0]
    assert fault.for_good or scene.leftovers() <= before[1]


def check_work_goes_on(scene: Scene, error: Exception | None) -> None:
    is_new_there = error is None or TAKEN_BACK_IN_VAIN in str(error)
    if scene.content() != TORN:  # only a unit of work starts over from that
        assert ("new" in ids(scene.store)) == is_new_there
        assert ids(scene.store) == ids(open_store(scene.path))
    add(scene.store, "later")
    assert ids(scene.store) == stored_ids(scene.path)
    assert stored_ids(scene.path)[-1] == "later"
    assert len(set(stored_ids(scene.path))) == len(stored_ids(scene.path))
    assert scene.leftovers() == set()


@pytest.mark.requirement("D4", "D5", "ST-4")
@pytest.mark.parametrize(
    ("prepare", "codes", "for_good"),
    [
        (saved_before, CODES, False),
        (saved_by_another, CODES, False),
        (saved_by_another, CODES, True),
        (saved_by_another, [errno.EINTR], False),
        (just_started, [errno.EINTR], True),
    ],
    ids=["once", "a new document", "for good", "an interrupt", "interrupts"],
)
def test_a_load_of_which_any_step_fails_says_so_or_reads_all(
    tmp_path: Path, prepare: Prepare, codes: Sequence[int], *, for_good: bool
) -> None:
    for fault in each_fault(tmp_path, codes, for_good=for_good):
        scene = prepare(tmp_path)
        expected = stored_ids(scene.path)
        with watched(fault) as calls:
            try:
                assert ids(scene.store) == expected
            except StoreUnreadable as error:
                assert os.strerror(fault.code) in error.message  # noqa: PT017 - not every fault is an error
        assert ids(scene.store) == stored_ids(scene.path) == expected
        if len(calls) < fault.at:
            return
