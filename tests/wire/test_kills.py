"""A process is killed at every call to the system within any operation of any server: all or nothing of it is there."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.core.notes import DEADLINE
from tests.every_act import ACTS, mark_of
from tests.wire.database_kills import DATABASE_ACTS, check_database_kills, check_unseen_commit
from tests.wire.kills import check_kills, check_traced_kills, tracing_problem
from tests.wire.storm_process import CONTEXT

Check = Callable[[str, Path], int]

CREATIONS = [name for name, act in ACTS.items() if act.name == "create"]

TRACED = [CREATIONS[0], *(pytest.param(name, marks=pytest.mark.by_hand) for name in CREATIONS[1:])]
"""The creations, of which the first writes two files and the others one."""

TRACED_DATABASES = [
    pytest.param(name, marks=pytest.mark.by_hand if name == "another task" else ()) for name in DATABASE_ACTS
]
"""The acts on a database; to create another task and end makes every call of the one that is run by hand."""


def watched_kills(name: str, folder: Path) -> int:
    return check_kills(ACTS[name], folder)


def traced_kills(name: str, folder: Path) -> int:
    return check_traced_kills(ACTS[name], folder)


def database_kills(name: str, folder: Path) -> int:
    return check_database_kills(DATABASE_ACTS[name], folder)


def unseen_kills(_: str, folder: Path) -> int:
    return check_unseen_commit(folder)


def work(pipe: Connection, check: Check, name: str, folder: Path) -> None:
    """Carry out a check in this process, which forks, and send the number of kills, or what was found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", nothing)  # a kill loses nothing that the system has taken
        patch.setattr(time, "sleep", nothing)
        try:
            pipe.send(check(name, folder))
        except BaseException:  # noqa: BLE001 - handed to the test
            pipe.send(traceback.format_exc())


def nothing(_: float) -> None:
    pass


def kills_of(check: Check, name: str, folder: Path) -> int:
    """Return the number of kills that a check comes to in a process of its own."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=work, args=(theirs, check, name, folder), daemon=True)
    process.start()
    theirs.close()
    assert ours.poll(6 * DEADLINE), "the check never ends"
    kills = ours.recv()
    process.join(DEADLINE)
    assert isinstance(kills, int), kills
    return kills


@pytest.mark.requirement("D2", "D3", "C3", "D6", "HB-7", "HB-12", "HB-15", "HB-16")
@pytest.mark.parametrize("name", [pytest.param(name, marks=mark_of(name)) for name in ACTS])
def test_an_operation_killed_at_any_call_is_there_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    assert kills_of(watched_kills, name, tmp_path) > (0 if ACTS[name].is_reading else 10)


@pytest.mark.requirement("D2", "D3", "C3")
@pytest.mark.long
@pytest.mark.parametrize("name", TRACED)
def test_a_creation_killed_at_any_system_call_is_there_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    if problem := tracing_problem():
        pytest.skip(problem)
    folder = tmp_path / "work"
    folder.mkdir()
    assert kills_of(traced_kills, name, folder) > 10


@pytest.mark.requirement("D2", "D3", "C3", "EN-8")
@pytest.mark.long
@pytest.mark.parametrize("name", TRACED_DATABASES)
def test_a_creation_in_sqlite_killed_at_any_system_call_is_there_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    if problem := tracing_problem():
        pytest.skip(problem)
    folder = tmp_path / "work"
    folder.mkdir()
    assert kills_of(database_kills, name, folder) > 10


@pytest.mark.long
@pytest.mark.requirement("D2", "D3", "C3", "EN-8")
def test_a_commit_in_sqlite_that_a_kill_kept_from_others_is_gone_for_good_after_the_next_one(tmp_path: Path) -> None:
    if problem := tracing_problem():
        pytest.skip(problem)
    folder = tmp_path / "work"
    folder.mkdir()
    assert kills_of(unseen_kills, "", folder) == 2
