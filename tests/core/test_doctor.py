"""What ``doctor`` says of any folder and file, and that it changes none (DOC-1)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from task_core.doctor import (
    Check,
    Finding,
    HeardWarnings,
    Level,
    check_access,
    check_folder,
    check_leftovers,
    counted,
    note,
    right,
    wrong,
)
from task_core.files import replace_file
from tests.core.notes import nobody, open_folder
from tests.untouched import untouched

NO_MOUNTS = Path("/dev/null")


def told(findings: Iterable[Finding], level: Level) -> list[str]:
    return [finding.text for finding in findings if finding.level is level]


@pytest.mark.requirement("DOC-2")
def test_a_failure_of_the_system_is_a_finding_after_what_was_found_before() -> None:
    def look() -> Iterator[Finding]:
        yield right("a")
        raise PermissionError(13, "Permission denied", "/secret")

    assert list(Check("x", look).findings()) == [
        right("a"),
        wrong("it cannot be looked at (Permission denied [EACCES])", "Mend the cause, then look again."),
    ]


@pytest.mark.parametrize(("number", "said"), [(0, "0 tasks"), (1, "1 task"), (2_000, "2,000 tasks")])
def test_things_are_counted_as_one_says_it(number: int, said: str) -> None:
    assert counted(number, "task") == said


def test_warnings_are_heard_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    warnings = HeardWarnings()
    warnings.add("a", "first")
    warnings.add("a", "second")
    assert (warnings.messages, caplog.records) == (["first", "second"], [])


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_can_be_written_is_right(tmp_path: Path) -> None:
    assert list(check_folder(tmp_path, mounts=NO_MOUNTS)) == [right(f"{tmp_path} can be written")]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_the_server_makes_is_looked_for_above_and_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with untouched(tmp_path):
        found = list(check_folder(folder, is_made=True, mounts=NO_MOUNTS))
    assert found == [right(f"{folder} is not there yet and can be made")]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_nobody_makes_is_wrong_when_it_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert list(check_folder(folder, mounts=NO_MOUNTS)) == [
        wrong(f"{folder} is not there", "Make it, or mend the link that leads there.")
    ]


@pytest.mark.requirement("DOC-1")
def test_a_file_where_the_folder_should_be_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert told(check_folder(tmp_path / "a" / "b", mounts=NO_MOUNTS), Level.WRONG) == [f"{tmp_path / 'a'} is no folder"]


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_cannot_be_written_is_wrong() -> None:
    with open_folder() as folder:
        folder.chmod(0o755 if os.geteuid() == 0 else 0o555)
        with nobody():
            (finding,) = check_folder(folder, mounts=NO_MOUNTS)
        folder.chmod(0o755)
    assert finding == wrong(
        f"{folder} cannot be written", f"chmod u+rwx {folder}, as its owner, or choose another folder."
    )


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(("mode", "is_wrong"), [(0o777, True), (0o1777, False), (0o770, False)], ids=oct)
def test_a_folder_that_everyone_may_write_is_wrong_unless_it_is_sticky(
    tmp_path: Path, mode: int, *, is_wrong: bool
) -> None:
    tmp_path.chmod(mode)
    faults = told(check_folder(tmp_path, mounts=NO_MOUNTS), Level.WRONG)
    assert faults == ([f"{tmp_path} can be written by everyone on this machine"] if is_wrong else [])


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("kind", "is_wrong"),
    [
        *((kind, True) for kind in ("nfs4", "cifs", "9p", "virtiofs", "vboxsf")),
        *((f"fuse.{kind}", True) for kind in ("sshfs", "vmhgfs-fuse", "s3fs", "gcsfuse")),
        *((kind, False) for kind in ("ext4", "tmpfs", "fuse.ntfs-3g")),
    ],
)
def test_a_folder_on_a_disk_of_another_machine_is_wrong(tmp_path: Path, kind: str, *, is_wrong: bool) -> None:
    folder = tmp_path / "my files"
    folder.mkdir()
    mounts = tmp_path / "mounts"
    escaped = str(folder).replace(" ", "\\040")
    mounts.write_text(f"a / ext4 rw 0 0\nb {escaped} ext4 rw 0 0\nc {escaped} {kind} rw 0 0\nd /elsewhere nfs rw 0 0\n")
    faults = told(check_folder(folder, mounts=mounts), Level.WRONG)
    fault = f"{folder} lies on a disk of another machine ({kind}), where no lock can be relied on"
    assert faults == ([fault] if is_wrong else [])


@pytest.mark.requirement("DOC-1")
def test_a_folder_that_a_link_leads_to_a_disk_of_another_machine_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"a {tmp_path / 'far'} nfs4 rw 0 0\n")
    folder = tmp_path / "far" / "new"
    assert told(check_folder(tmp_path / "near" / "new", is_made=True, mounts=mounts), Level.WRONG) == [
        f"{folder} lies on a disk of another machine (nfs4), where no lock can be relied on"
    ]


@pytest.mark.requirement("DOC-1")
def test_where_file_systems_are_not_listed_none_is_suspected(tmp_path: Path) -> None:
    assert list(check_folder(tmp_path, mounts=tmp_path / "none")) == [right(f"{tmp_path} can be written")]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    "name",
    ["Dropbox", "OneDrive - Company", "Google Drive", "GoogleDrive-me@example.org", "iCloudDrive", "Box", "Box Sync"],
)
def test_a_folder_with_the_name_of_a_synced_one_is_worth_a_note(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name / "tasks"
    folder.mkdir(parents=True)
    assert told(check_folder(folder, mounts=NO_MOUNTS), Level.NOTE) == [
        f"{folder} seems to be synced by a program, which does not know of locks ('{name}')"
    ]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("place", [".", ".."], ids=["the folder", "the one above"])
def test_a_folder_that_syncthing_has_marked_is_worth_a_note(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / place / ".stfolder").mkdir()
    assert told(check_folder(folder, mounts=NO_MOUNTS), Level.NOTE) == [
        f"{folder} seems to be synced by a program, which does not know of locks ('.stfolder')"
    ]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("name", ["boxes", "my box", "Toolbox"])
def test_a_name_that_only_holds_that_of_a_program_is_worth_none(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert told(check_folder(folder, mounts=NO_MOUNTS), Level.NOTE) == []


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize(
    ("mode", "is_private", "finding"),
    [
        (0o600, True, None),
        (0o640, True, note("a b is open to others than its owner (mode 640)", "chmod 600 '{path}'")),
        (0o640, False, None),
        (0o602, True, wrong("a b can be written by everyone (mode 602)", "chmod o-w '{path}'")),
        (0o666, False, wrong("a b can be written by everyone (mode 666)", "chmod o-w '{path}'")),
    ],
    ids=["private", "open", "open and may be", "writable", "writable and may not be"],
)
def test_modes_that_are_too_wide_are_told(
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


def temporary_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the temporary file that a replacement of ``path`` goes through."""
    names: list[str] = []

    def replace(source: str, target: str) -> None:
        names.append(source)
        rename(source, target)

    rename: Callable[[str, str], None] = os.replace
    monkeypatch.setattr(os, "replace", replace)
    replace_file(path, b"{}")
    return Path(names[0])


@pytest.mark.requirement("DOC-1")
def test_what_was_left_over_is_named_and_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    stale = temporary_name(path, monkeypatch)
    copy = tmp_path / "a.json.corrupt-20260301T120000000000Z-00000000"
    for made in (stale, copy, tmp_path / "b.json.corrupt-1", tmp_path / ".a.json.swp"):
        made.write_text("x")
    with untouched(tmp_path):
        assert told(check_leftovers(path), Level.NOTE) == [
            f"damaged copies of a.json were kept: {copy.name}",
            f"a server is writing a.json now, or was killed as it did: {stale.name}",
        ]


@pytest.mark.requirement("DOC-1")
@pytest.mark.parametrize("folder", ["", "none"], ids=["empty folder", "no folder"])
def test_where_nothing_is_left_over_that_is_said(tmp_path: Path, folder: str) -> None:
    found = list(check_leftovers(tmp_path / folder / "a", tmp_path / folder / "b"))
    assert found == [right("nothing is left over beside a and b")]
