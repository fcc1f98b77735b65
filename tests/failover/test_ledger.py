"""The ledger of a failover finds every answer that was not true."""

from __future__ import annotations

import pytest

from tests.failover.ledger import Attempt, Fate, tally

ACKNOWLEDGED = Attempt("a", 0.0, fate=Fate.ACKNOWLEDGED)
REFUSED = Attempt("r", 0.0, fate=Fate.REFUSED)
UNKNOWN = Attempt("u", 0.0)
SEEN = Attempt("s", 0.0, was_seen=True)
NOT_SEEN = Attempt("n", 0.0, was_seen=False)


@pytest.mark.sample
@pytest.mark.requirement("HO-10")
@pytest.mark.parametrize(
    ("attempt", "count", "fault"),
    [
        (ACKNOWLEDGED, 0, "lost"),
        (ACKNOWLEDGED, 2, "doubled"),
        (REFUSED, 1, "denied"),
        (UNKNOWN, 2, "doubled"),
        (SEEN, 0, "reversed"),
        (NOT_SEEN, 1, "reversed"),
    ],
    ids=["lost", "acknowledged, twice", "denied", "unknown, twice", "seen, and gone", "not seen, and there"],
)
def test_a_change_that_contradicts_its_answer_is_named(attempt: Attempt, count: int, fault: str) -> None:
    result = tally([attempt], {attempt.word: count})
    faults = {name: getattr(result, name) for name in ("lost", "doubled", "denied", "reversed")}
    assert faults == {name: [attempt.word] if name == fault else [] for name in faults}
    assert not result.is_sound


@pytest.mark.requirement("HO-10")
def test_an_unknown_change_may_have_been_made_or_not() -> None:
    found = {"a": 1, "u": 1, "s": 1}
    result = tally([ACKNOWLEDGED, REFUSED, UNKNOWN, SEEN, NOT_SEEN, Attempt("v", 0.0)], found)
    assert result.is_sound
    assert (result.acknowledged, result.present, result.refused, result.unknown, result.carried_out) == (1, 1, 1, 4, 2)
