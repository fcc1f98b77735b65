"""The page on a failover has every event in the table of its way, and each reason once."""

from __future__ import annotations

import pytest

from tests.failover.ledger import Tally
from tests.failover.observe import Observation
from tests.failover.report import report


def seen(name: str, through: str, tally: Tally, gap: float = 2.54, **reasons: int) -> Observation:
    return Observation(name, through, tally, gap=gap, slowest=3.0, rate=[1, 2], ended=30.0, reasons=reasons)


@pytest.mark.requirement("HO-10")
def test_a_page_has_each_event_in_the_table_of_its_way_and_each_reason_with_its_number() -> None:
    sound = Tally(acknowledged=1200, present=1200, refused=3, unknown=2, carried_out=1)
    page = report(
        [
            seen("a server killed", "http", sound, locked=2),
            seen("primary killed", "store", Tally(acknowledged=5, lost=["w"]), locked=1),
        ]
    )
    over_http, _, by_engine = page.partition("## By the engine")
    assert "| a server killed | 1,200 | 1,200 | **0** | **0** | **0** | **0** | 3 | 2 | 1 | 2.5 | 3.0 |" in over_http
    assert "| primary killed | 5 | 0 | **1** |" in by_engine
    assert "- 3 × locked" in by_engine


@pytest.mark.requirement("HO-10", "EN-22")
def test_a_long_gap_and_a_lost_change_are_faults() -> None:
    sound, lossy = Tally(), Tally(lost=["w"])
    found = [seen("an event", "http", each, gap) for each, gap in ((sound, 30.0), (sound, 30.1), (lossy, 0.1))]
    assert [each.is_sound for each in found] == [True, False, False]
