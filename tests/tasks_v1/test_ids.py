"""Ids that rise with time: their form, their order, and that none is given twice."""

import re
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_v1_mcp.service import new_id

MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)

moments = st.datetimes(datetime(1970, 1, 1), datetime(2112, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is given
randoms = st.randoms(use_true_random=False)


@given(moments, randoms)
def test_an_id_is_12_characters_of_crockford_base32_behind_a_prefix(moment: datetime, rng: Random) -> None:
    assert re.fullmatch("task_[0-9A-HJKMNP-TV-Z]{12}", new_id(moment, (), rng))


@given(moments, st.timedeltas(timedelta(microseconds=1), timedelta(days=100)), randoms)
def test_ids_sort_by_their_moments_to_the_microsecond(moment: datetime, later: timedelta, rng: Random) -> None:
    assert new_id(moment, (), rng) < new_id(moment + later, (), rng)


def test_the_moment_counts_in_any_time_zone() -> None:
    local = MOMENT.astimezone(timezone(timedelta(hours=9)))
    assert new_id(local, (), Random(1)) == new_id(MOMENT, (), Random(1))


@pytest.mark.requirement("C4")
def test_a_taken_id_gives_way_to_the_next() -> None:
    first = new_id(MOMENT, (), Random(1))
    second = new_id(MOMENT, {first}, Random(1))
    third = new_id(MOMENT, {first, second}, Random(1))
    assert first < second < third < new_id(MOMENT + timedelta(microseconds=2), (), Random(1))
