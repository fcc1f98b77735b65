"""Ids that rise with time: their form, their order, and that none is given twice."""

import re
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_v1_mcp.service import IdMaker

MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)

moments = st.datetimes(datetime(1970, 1, 1), datetime(2112, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is given
randoms = st.randoms(use_true_random=False)


@given(moments, randoms)
def test_an_id_is_12_characters_of_crockford_base32_behind_a_prefix(moment: datetime, rng: Random) -> None:
    assert re.fullmatch("task_[0-9A-HJKMNP-TV-Z]{12}", IdMaker(rng).new_id(moment, ()))


@given(moments, st.timedeltas(timedelta(microseconds=1), timedelta(days=100)), randoms)
def test_ids_of_two_makers_sort_by_their_moments_to_the_microsecond(
    moment: datetime, later: timedelta, rng: Random
) -> None:
    assert IdMaker(rng).new_id(moment, ()) < IdMaker(rng).new_id(moment + later, ())


@pytest.mark.requirement("C4")
@given(st.lists(moments, min_size=2, max_size=20), randoms)
def test_the_ids_of_one_maker_rise_also_when_the_clock_steps_back(steps: list[datetime], rng: Random) -> None:
    maker = IdMaker(rng)
    ids = [maker.new_id(moment, ()) for moment in steps]
    assert ids == sorted(set(ids))


def test_the_moment_counts_in_any_time_zone() -> None:
    local = MOMENT.astimezone(timezone(timedelta(hours=9)))
    assert IdMaker(Random(1)).new_id(local, ()) == IdMaker(Random(1)).new_id(MOMENT, ())


@pytest.mark.requirement("C4")
def test_a_taken_id_gives_way_to_the_next() -> None:
    first = IdMaker(Random(1)).new_id(MOMENT, ())
    second = IdMaker(Random(1)).new_id(MOMENT, {first})
    third = IdMaker(Random(1)).new_id(MOMENT, {first, second})
    assert first < second < third < IdMaker(Random(1)).new_id(MOMENT + timedelta(microseconds=2), ())
