"""Any call to the operating system fails within any operation of any server: it is reported, and nothing is lost.

The errors that a disk gives take turns, call by call.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.acts import Act
from tests.core.faults import CODES
from tests.every_act import ACTS, mark_of
from tests.fault_checks import check_faults

EVERY_CALL = range(1, sys.maxsize)
HALVES = {"once": EVERY_CALL[::2], "for good": EVERY_CALL[1::2]}
"""The calls that fail in `.ci/run`: each once, either for a moment or from then on."""

EACH_ACT = [
    *(
        pytest.param(act, HALVES[word], word == "for good", id=f"{word}-{name}", marks=mark_of(name, turn))
        for turn, word in enumerate(HALVES)
        for name, act in ACTS.items()
    ),
    *(
        pytest.param(act, EVERY_CALL, word == "for good", id=f"{word}-{name}, every call", marks=pytest.mark.by_hand)
        for word in HALVES
        for name, act in ACTS.items()
    ),
]


def nothing(_: float) -> None:
    pass


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync succeeds or fails but takes no time, nor does the moment in which a damaged store is looked at twice."""
    monkeypatch.setattr(os, "fsync", nothing)
    monkeypatch.setattr(time, "sleep", nothing)


@pytest.mark.requirement("D4", "ERR-2", "D3", "L1", "HB-7", "HB-12", "HB-13", "HB-15", "HB-16")
@pytest.mark.parametrize(("act", "numbers", "for_good"), EACH_ACT)
def test_an_operation_of_which_any_step_fails_loses_nothing_and_work_goes_on(
    tmp_path: Path, act: Act, numbers: range, *, for_good: bool
) -> None:
    check_faults(act, tmp_path, CODES, numbers, for_good=for_good)
