"""Claims in any order of calls, deaths and restarts: no fault is found, and one is where a protection is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from task_core.claims.session_files import SessionFiles
from task_core.store import claim_register as register_module
from task_core.store.claim_register import ClaimRegister
from tests.core.claims_machine import WORLDS, run_machine


@pytest.mark.requirement("AG-11", "AG-12", "AG-13", "AG-14", "AG-15", "AG-19")
@pytest.mark.parametrize("world", WORLDS)
def test_no_two_living_agents_hold_a_task_and_none_loses_its_claim(world: str) -> None:
    run_machine(world, examples=20, steps=30)


def hold_no_lock(patch: pytest.MonkeyPatch) -> None:
    """Let sessions have files without a lock."""
    patch.setattr(SessionFiles, "_begin", lambda it: Path(it._folder).mkdir(exist_ok=True))  # noqa: SLF001


def check_no_changes(patch: pytest.MonkeyPatch) -> None:
    """Let transactions end without a check of what they changed."""
    patch.setattr(register_module, "check_changes", lambda _changes, claims, *_: [*claims])


def check_no_numbers(patch: pytest.MonkeyPatch) -> None:
    """Let calls in the name of claims that have ended pass as those of the agent that made them."""
    agent = ClaimRegister.agent
    assert agent.fget
    find = agent.fget
    patch.setattr(ClaimRegister, "agent", property(lambda it: find(it)._replace(number=0)))


@pytest.mark.requirement("AG-19")
@pytest.mark.parametrize(
    ("switch_off", "world"),
    [
        (hold_no_lock, "json"),
        (hold_no_lock, "sqlite"),
        (check_no_changes, "json"),
        (check_no_changes, "memory"),
        (check_no_numbers, "deadlines"),
        (check_no_numbers, "servers"),
    ],
)
def test_without_any_of_the_protections_the_model_finds_the_fault(
    monkeypatch: pytest.MonkeyPatch, switch_off: Callable[[pytest.MonkeyPatch], None], world: str
) -> None:
    switch_off(monkeypatch)
    with pytest.raises(AssertionError):
        run_machine(world, examples=200, steps=30, is_searching=True)
