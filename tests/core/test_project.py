"""Where a file of the project is, from the folder in which a client starts the server."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from task_core.bootstrap import find_in_project

NAME: Final = "LIST.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, two below that of the test, and below the home folder of somebody."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    folder = tmp_path / "home" / "project" / "src" / "deep"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_the_nearest_file_from_the_current_folder_upwards_is_found(folder: Path, levels: int) -> None:
    place = [folder, *folder.parents][levels]
    for path in [folder, *folder.parents][levels:3]:
        (path / NAME).touch()
    assert find_in_project(NAME) == str(place / NAME)


def test_another_folder_may_be_the_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / NAME).touch()
    monkeypatch.chdir(folder.parents[1])
    assert find_in_project(NAME) is None
    assert find_in_project(NAME, str(folder)) == str(folder / NAME)


def test_the_root_of_a_repository_is_the_last_that_is_searched(folder: Path) -> None:
    (folder.parents[1] / NAME).touch()
    (folder.parent / ".git").touch()  # a file, as in a worktree
    assert find_in_project(NAME) is None
    (folder.parent / NAME).touch()
    assert find_in_project(NAME) == str(folder.parent / NAME)


def test_neither_the_home_folder_nor_what_is_above_it_is_a_project(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).touch()
    (tmp_path / "home" / NAME).touch()
    assert find_in_project(NAME) is None
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    (tmp_path / "link").symlink_to("home")
    assert find_in_project(NAME, str(folder)) is None


def test_the_root_of_the_file_system_is_not_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "isfile", lambda _: True)
    assert find_in_project(NAME, "/") is None


@pytest.mark.skipif(sys.platform == "win32", reason="access there is not in the mode")
def test_a_folder_that_everybody_may_write_to_is_not_a_project(folder: Path) -> None:
    (folder.parent / NAME).touch()
    folder.parent.chmod(0o1777)
    assert find_in_project(NAME) is None


def test_neither_a_link_nor_a_folder_is_the_file(folder: Path) -> None:
    (folder / NAME).symlink_to(folder.parents[1] / "notes.md")
    (folder.parent / NAME).mkdir()
    (folder.parents[1] / "notes.md").touch()
    assert find_in_project(NAME) is None


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_current_folder_that_was_removed_has_no_project(folder: Path) -> None:
    folder.rmdir()
    assert find_in_project(NAME) is None


@pytest.mark.parametrize("start", ["/no such folder/at all", "a\0b"])
def test_what_is_not_a_folder_has_no_project(start: str) -> None:
    assert find_in_project(NAME, start) is None
