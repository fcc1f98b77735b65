"""What ``doctor`` says of any folder and file, and that it changes none (DOC-1)."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from task_core.doctor import (
    Finding,
    Level,
    check_access,
    check_folder,
    is_mounted_alone,
    note,
    right,
    wrong,
)
from task_core.text import pluralize
from tests.core.notes import nobody, open_folder
from tests.untouched import untouched

NO_MOUNTS = Path("/dev/null")


def told(findings: Iterable[Finding], level: Level) -> list[str]:
    return [finding.text for finding in findings if finding.level is level]


@pytest.mark.parametrize(("number", "said"), [(0, "0 tasks"), (1, "1 task"), (2_000, "2,000 tasks")])
def test_things_are_counted_as_one_says_it(number: int, said: str) -> None:
    assert pluralize(number, "task") == said


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_can_be_written_is_right(tmp_path: Path) -> None:
    assert list(check_folder(tmp_path, mounts=NO_MOUNTS)) == [right(f"{tmp_path} is writable")]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_the_server_makes_is_looked_for_above_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with untouched(tmp_path):
        found = list(check_folder(folder, is_made=True, mounts=NO_MOUNTS))
    assert found == [right(f"{folder} does not exist yet but can be created")]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_nobody_makes_is_wrong_when_it_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert list(check_folder(folder, mounts=NO_MOUNTS)) == [
        wrong(f"{folder} does not exist", "Create it, or fix the link that leads there.")
    ]


@pytest.mark.requirement("DOC-1")
def test_a_file_where_the_folder_should_be_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert told(check_folder(tmp_path / "a" / "b", mounts=NO_MOUNTS), Level.WRONG) == [
        f"{tmp_path / 'a'} is not a folder"
    ]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_cannot_be_written_is_wrong() -> None:
    with open_folder() as folder:
        folder.chmod(0o755 if os.geteuid() == 0 else 0o555)
        with nobody():
            (finding,) = check_folder(folder, mounts=NO_MOUNTS)
        folder.chmod(0o755)
    assert finding == wrong(
        f"{folder} is not writable", f"chmod u+rwx {folder}, as its owner, or choose another folder."
    )


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("mode", "is_wrong"), [(0o777, True), (0o1777, False), (0o770, False)], ids=oct)
def test_a_folder_that_everyone_may_write_is_wrong_unless_it_is_sticky(
    tmp_path: Path, mode: int, *, is_wrong: bool
) -> None:
    tmp_path.chmod(mode)
    faults = told(check_folder(tmp_path, mounts=NO_MOUNTS), Level.WRONG)
    assert faults == ([f"{tmp_path} is writable by everyone on this machine"] if is_wrong else [])


def mount(point: Path, kind: str) -> str:
    """Return the line of a mount as the kernel writes it."""
    place = str(point).replace(" ", r"\040")
    return f"36 35 98:0 / {place} rw,noatime shared:1 master:2 - {kind} /dev/root rw,errors=continue\n"


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("kind", "is_wrong"), [("nfs4", True), ("ext4", False)])
def test_a_folder_on_a_disk_of_another_machine_is_wrong(tmp_path: Path, kind: str, *, is_wrong: bool) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(mount(tmp_path, kind))
    faults = told(check_folder(tmp_path, mounts=mounts), Level.WRONG)
    fault = f"{tmp_path} is on a network file system ({kind}), where locks are not reliable"
    assert faults == ([fault] if is_wrong else [])


@pytest.mark.requirement("DOC-1")
def test_a_file_that_is_mounted_without_its_folder_is_known_through_links(tmp_path: Path) -> None:
    path, link, mounts = tmp_path / "a b", tmp_path / "link", tmp_path / "mountinfo"
    link.symlink_to(path)
    mounts.write_text(mount(Path("/"), "ext4") + mount(path, "ext4"))
    assert [is_mounted_alone(place, mounts) for place in (path, link, tmp_path)] == [True, True, False]
    assert not is_mounted_alone(path, NO_MOUNTS)
    assert not is_mounted_alone(path)


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_a_link_leads_to_is_the_one_that_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(mount(tmp_path / "far", "nfs4"))
    assert told(check_folder(tmp_path / "near" / "new", is_made=True, mounts=mounts), Level.WRONG) == [
        f"{tmp_path / 'far' / 'new'} is on a network file system (nfs4), where locks are not reliable"
    ]


@pytest.mark.requirement("DOC-1")
@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="only Linux lists its file systems so")
def test_a_folder_on_this_machine_is_right_by_what_the_kernel_lists() -> None:
    with open_folder() as folder:
        folder.chmod(0o700)
        assert [finding.level for finding in check_folder(folder)] == [Level.RIGHT]


@pytest.mark.requirement("DOC-1")
def test_where_file_systems_are_not_listed_none_is_suspected(tmp_path: Path) -> None:
    assert list(check_folder(tmp_path, mounts=tmp_path / "none")) == [right(f"{tmp_path} is writable")]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_seems_to_be_synced_is_worth_a_note(tmp_path: Path) -> None:
    folder = tmp_path / "Dropbox" / "tasks"
    folder.mkdir(parents=True)
    assert told(check_folder(folder, mounts=NO_MOUNTS), Level.NOTE) == [
        f"{folder} seems to be synced by a program that ignores locks ('Dropbox')"
    ]
    assert told(check_folder(tmp_path, mounts=NO_MOUNTS), Level.NOTE) == []


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("mode", "is_private", "finding"),
    [
        (0o600, True, None),
        (0o640, True, note("a b is accessible to other users (mode 640)", "chmod 600 '{path}'")),
        (0o640, False, None),
        (0o602, True, wrong("a b is writable by everyone (mode 602)", "chmod o-w '{path}'")),
        (0o666, False, wrong("a b is writable by everyone (mode 666)", "chmod o-w '{path}'")),
    ],
    ids=["private", "open", "open and may be", "writable", "writable and may not be"],
)
def test_modes_that_are_too_wide_are_reported(
    tmp_path: Path, mode: int, *, is_private: bool, finding: Finding | None
) -> None:
    path = tmp_path / "a b"
    path.write_text("x")
    path.chmod(mode)
    expected: list[Finding] = [Finding(finding.level, finding.text, finding.cure.format(path=path))] if finding else []
    assert list(check_access(path, is_private=is_private)) == expected


@pytest.mark.requirement("DOC-1")
def test_a_file_that_may_not_be_written_is_wrong() -> None:
    with open_folder() as folder:
        path = folder / "a"
        path.write_text("x")
        path.chmod(0o444)
        with nobody():
            faults = told(check_access(path, is_private=False), Level.WRONG)
    assert faults == ["a is read-only"]


@pytest.mark.requirement("DOC-1")
def test_on_windows_modes_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    path.chmod(0o666)
    tmp_path.chmod(0o777)
    monkeypatch.setattr(sys, "platform", "win32")
    assert list(check_access(path, is_private=True)) == []
    assert told(check_folder(tmp_path, mounts=NO_MOUNTS), Level.WRONG) == []
