"""The locks of a project: ours apart from Task Master's, and Task Master's beside ours (TM-26 to TM-29)."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from task_core import durable
from task_core.errors import StoreLocked, StoreWriteFailed
from task_core.files import ProcessLock, Wait
from task_core.models import utc_now
from task_core.warning_list import WarningList
from taskmaster_mcp.project.lock import STALE_SECONDS, ProjectLock, locate_foreign_lock
from taskmaster_mcp.project.tag_store import TagStore
from taskmaster_mcp.settings import TaskmasterSettings
from tests.taskmaster.conftest import ServedProject, item, tag


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.json"


def make_folder(lock: Path) -> None:
    lock.mkdir()


def age(lock: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(lock, (moment, moment))


@pytest.mark.requirement("TM-27", "TM-28", "TM-89")
def test_while_it_is_held_there_is_the_folder_of_task_master_and_no_file(path: Path) -> None:
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    assert locate_foreign_lock(path).is_dir()
    with pytest.raises(StoreLocked):
        ProjectLock.of(path).acquire(Wait(0.02))
    lock.release()
    assert [*path.parent.iterdir()] == []
    again = ProjectLock.of(path)
    again.acquire(Wait(1))
    again.release()


@pytest.mark.requirement("TM-28")
@pytest.mark.parametrize("make", [make_folder, Path.touch])
def test_a_fresh_lock_of_task_master_is_waited_for_and_not_touched(path: Path, make: Callable[[Path], None]) -> None:
    make(locate_foreign_lock(path))
    age(locate_foreign_lock(path), STALE_SECONDS - 5)
    with pytest.raises(StoreLocked):
        ProjectLock.of(path).acquire(Wait(0.02))
    assert [*path.parent.iterdir()] == [locate_foreign_lock(path)]


@pytest.mark.requirement("TM-28")
def test_it_goes_on_as_soon_as_task_master_is_done(path: Path) -> None:
    locate_foreign_lock(path).mkdir()
    threading.Timer(0.05, locate_foreign_lock(path).rmdir).start()
    lock = ProjectLock.of(path)
    lock.acquire(Wait(20))
    lock.release()


@pytest.mark.requirement("TM-28", "TM-95")
@pytest.mark.parametrize("make", [make_folder, Path.touch])
def test_an_abandoned_lock_is_taken_over_and_leaves_nothing(path: Path, make: Callable[[Path], None]) -> None:
    make(locate_foreign_lock(path))
    age(locate_foreign_lock(path), STALE_SECONDS + 1)
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    assert locate_foreign_lock(path).is_dir()
    lock.release()
    assert [*path.parent.iterdir()] == []


def test_what_somebody_keeps_in_an_abandoned_lock_is_moved_away_and_not_deleted(path: Path) -> None:
    locate_foreign_lock(path).mkdir()
    (locate_foreign_lock(path) / "mine").touch()
    age(locate_foreign_lock(path), STALE_SECONDS + 1)
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    lock.release()
    [kept] = path.parent.iterdir()
    assert kept.name.startswith("tasks.json.lock.stale.")
    assert (kept / "mine").exists()


def test_a_lock_that_is_gone_when_it_is_looked_at_is_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locate_foreign_lock(path).mkdir()
    look, others = Path.lstat, [locate_foreign_lock(path)]

    def gone(self: Path) -> os.stat_result:
        if self in others:
            others.pop().rmdir()
        return look(self)

    monkeypatch.setattr(Path, "lstat", gone)
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    lock.release()


def test_a_folder_in_which_no_lock_can_be_made_is_named(path: Path) -> None:
    with pytest.raises(StoreWriteFailed, match="its folder does not exist"):
        ProjectLock.of(path.parent / "none" / "tasks.json").acquire(Wait(1))
    locate_foreign_lock(path).symlink_to(path.parent / "nowhere")
    age_of_link = time.time() - 60
    os.utime(locate_foreign_lock(path), (age_of_link, age_of_link), follow_symlinks=False)
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    lock.release()


def test_an_error_while_marking_frees_the_kernel_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", fail)
        with pytest.raises(StoreWriteFailed, match="No space left"):
            ProjectLock.of(path).acquire(Wait(1))
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    lock.release()


@pytest.mark.requirement("TM-27")
def test_on_windows_the_kernel_lock_is_a_file_in_the_folder_of_the_user(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    [file] = (tmp_path / "state" / "taskmaster-mcp" / "locks").iterdir()
    with pytest.raises(StoreLocked):
        ProcessLock(file).acquire(Wait(0.02))
    lock.release()


@pytest.mark.requirement("TM-9", "TM-28")
async def test_a_call_says_that_the_project_is_locked_and_reading_goes_on(project: ServedProject) -> None:
    server = project.another(task_lock_timeout=0.05)
    locate_foreign_lock(project.path).mkdir()
    project.server = server
    reason, error = await project.failed("add_task", title="x")
    assert (error["code"], reason) == ("CORE_FUNCTION_ERROR", "STORE_LOCKED")
    assert len((await project.call("get_tasks"))["tasks"]) == 3
    locate_foreign_lock(project.path).rmdir()
    assert (await project.call("add_task", title="x"))["taskId"] == "4"


@pytest.mark.requirement("TM-28")
def test_a_transaction_does_not_wait_for_ever_for_another_thread(path: Path) -> None:
    store = TagStore(path, TaskmasterSettings(task_lock_timeout=0.02), WarningList(), utc_now)

    def open_another() -> None:
        with pytest.raises(StoreLocked), store.transaction():
            pass

    with store.transaction() as work:
        with store.transaction() as inner:
            assert inner is work
        with ThreadPoolExecutor() as threads:
            threads.submit(open_another).result()
    with store.transaction():
        pass


@pytest.mark.requirement("TM-28")
def test_a_lock_that_somebody_took_over_is_not_released(path: Path) -> None:
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    stolen = path.parent / "stolen"
    locate_foreign_lock(path).rename(stolen)
    locate_foreign_lock(path).mkdir()
    lock.release()
    assert locate_foreign_lock(path).is_dir()


@pytest.mark.requirement("TM-28")
def test_a_lock_that_was_taken_over_just_before_goes_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = locate_foreign_lock(path)
    foreign.mkdir()
    age(foreign, STALE_SECONDS + 1)
    rename = Path.rename

    def take_over_first(self: Path, target: Path) -> Path:
        if self == foreign:
            os.utime(self)
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", take_over_first)
        with pytest.raises(StoreLocked):
            ProjectLock.of(path).acquire(Wait(0.02))
    assert [*path.parent.iterdir()] == [foreign]


@pytest.mark.requirement("TM-28")
def test_a_lock_from_the_future_or_a_link_in_its_place_is_abandoned(path: Path) -> None:
    foreign = locate_foreign_lock(path)
    foreign.mkdir()
    age(foreign, -3600)
    lock = ProjectLock.of(path)
    lock.acquire(Wait(1))
    lock.release()
    (path.parent / "kept").mkdir()
    foreign.symlink_to(path.parent / "kept")
    moment = time.time() - 60
    os.utime(foreign, (moment, moment), follow_symlinks=False)
    lock.acquire(Wait(1))
    lock.release()
    assert [*path.parent.iterdir()] == [path.parent / "kept"]


@pytest.mark.requirement("TM-28")
async def test_a_link_is_locked_where_it_is_and_where_it_leads(project: ServedProject) -> None:
    real = project.root / "shared" / "tasks.json"
    real.parent.mkdir()
    project.path.rename(real)
    project.path.symlink_to(real)
    project.server = project.another(task_lock_timeout=0.05)
    for place in (project.path, real):
        locate_foreign_lock(place).mkdir()
        assert (await project.failed("add_task", title="x"))[0] == "STORE_LOCKED"
        assert not locate_foreign_lock(real if place == project.path else project.path).exists()
        locate_foreign_lock(place).rmdir()
    assert (await project.call("add_task", title="x"))["taskId"] == "4"
    assert project.path.is_symlink()


@pytest.mark.requirement("TM-26", "ST-3")
async def test_an_edit_that_lands_at_the_rename_stays_and_the_call_is_made_on_top_of_it(
    project: ServedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(flag: int, source: str, target: str) -> None:
        patch.undo()
        project.write({"beta": tag(item(5)), "master": tag(item(1), item(7))})
        durable.rename_with(flag, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "rename_with", edit)
        assert (await project.call("add_task", title="x"))["taskId"] == "8"
    assert [*project.document] == ["beta", "master"]
    project.write({name: project.document[name] for name in ("master", "beta")})
    await project.call("set_task_status", id="8", status="done")
    assert [*project.document] == ["master", "beta"]
    names = sorted(path.name for path in project.path.parent.iterdir())
    assert names == ["tasks.json", "tasks.json.bak", "tasks.json.history.jsonl"]
