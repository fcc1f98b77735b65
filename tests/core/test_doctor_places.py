"""Where a file is, by what the kernel lists and by the names of folders (DOC-1)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from task_core.doctor import Finding, Level, check_folder, find_mount

pytestmark = pytest.mark.requirement("DOC-1")

MOUNTS: Final = r"""22 1 98:0 / / rw,noatime shared:1 - ext4 /dev/root rw,errors=continue
23 22 0:21 / /net rw - nfs nas:/export rw
24 23 0:22 / /net/x/my\040disk rw shared:7 master:2 - tmpfs tmpfs rw
25 22 98:0 /a/HEARTBEAT.md /b/HEARTBEAT.md rw - ext4 /dev/root rw
26 22 0:23 / /twice rw - nfs4 nas:/first rw
27 26 98:1 / /twice rw - btrfs /dev/sdb rw
28 22 0:24 / /mnt/tab\011and\134slash rw - 9p C: rw
"""

PLACES: Final = {
    "/": (Path("/"), "ext4"),
    "/nets/x": (Path("/"), "ext4"),
    "/net": (Path("/net"), "nfs"),
    "/net/x/tasks.json": (Path("/net"), "nfs"),
    "/net/x/my disk/tasks.json": (Path("/net/x/my disk"), "tmpfs"),
    "/b/HEARTBEAT.md": (Path("/b/HEARTBEAT.md"), "ext4"),
    "/b/HEARTBEAT.md.bak": (Path("/"), "ext4"),
    "/twice/tasks.json": (Path("/twice"), "btrfs"),
    "/mnt/tab\tand\\slash/x": (Path("/mnt/tab\tand\\slash"), "9p"),
}


@pytest.mark.parametrize(("place", "mount"), PLACES.items(), ids=PLACES)
def test_a_path_is_on_the_nearest_mount_above_it_and_of_two_on_the_later(
    tmp_path: Path, place: str, mount: tuple[Path, str]
) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS, "utf-8")
    assert find_mount(Path(place), tmp_path / "mountinfo") == mount


def test_where_no_mounts_are_listed_none_is_known(tmp_path: Path) -> None:
    assert find_mount(tmp_path, tmp_path / "none") is None


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="only Linux lists its mounts so")
def test_the_list_of_this_machine_is_read() -> None:
    assert find_mount(Path("/proc/some")) == (Path("/proc"), "proc")


KINDS: Final = {
    **dict.fromkeys(["nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "virtiofs", "vboxsf"], True),
    **dict.fromkeys(["fuse.sshfs", "fuse.rclone", "fuse.vmhgfs-fuse", "fuse.s3fs", "fuse.gcsfuse"], True),
    **dict.fromkeys(["lustre", "fakeowner", "fuse.grpcfuse", "fuse.osxfs"], True),
    **dict.fromkeys(["ext4", "tmpfs", "btrfs", "overlay", "fuse.ntfs-3g", "fuseblk", "nfsd4x"], False),
}


def test_file_systems_that_other_machines_write_to_are_known_by_name(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    for kind, is_known in KINDS.items():
        mounts.write_text(f"22 1 98:0 / / rw - {kind} /dev/root rw\n")
        levels = [finding.level for finding in check_folder(tmp_path, mounts=mounts)]
        assert (kind, Level.WRONG in levels) == (kind, is_known)


NAMES: Final = (
    *("Dropbox", "Dropbox (Work)", "OneDrive", "OneDrive - Company", "Google Drive", "GoogleDrive-me@example.org"),
    *("iCloudDrive", "Mobile Documents", "com~apple~CloudDocs", "CloudStorage", "Box", "Box Sync", "Nextcloud"),
    *("ownCloud", "pCloud Drive", "pCloudDrive", "Seafile", "SynologyDrive", "Proton Drive", "Yandex.Disk"),
)


def notes(folder: Path) -> list[Finding]:
    """Return what is worth knowing about a folder that does not exist yet."""
    found = check_folder(folder, is_made=True, mounts=Path("/dev/null"))
    return [finding for finding in found if finding.level is Level.NOTE]


def test_a_folder_with_a_name_that_a_sync_program_uses_is_known_by_it(tmp_path: Path) -> None:
    for name in NAMES:
        (note,) = notes(tmp_path / name / "tasks")
        assert note.text.endswith(f"('{name}')")


@pytest.mark.parametrize("place", [".", ".."], ids=["the folder", "the one above"])
def test_a_folder_that_syncthing_has_marked_is_known_by_the_mark(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / place / ".stfolder").mkdir()
    (note,) = notes(folder)
    assert note.text.endswith("('.stfolder')")


def test_a_name_that_only_contains_that_of_a_sync_program_does_not_count(tmp_path: Path) -> None:
    for name in ("boxes", "my box", "Toolbox", "mobile"):
        assert notes(tmp_path / name) == []
