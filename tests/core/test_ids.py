"""Ids: their form, their order, and that they end even when everything is taken."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_core.ids import prefixed_id, readable_id, short_id
from task_core.words import ADJECTIVES, NOUNS

PAIRS = frozenset(f"{adjective}-{noun}" for adjective, noun in product(ADJECTIVES, NOUNS))
MOMENT = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
SOURCE_ADJECTIVES = {"cool", "wild", "brave", "swift", "quiet", "bright", "calm", "eager", "gentle", "happy"}
SOURCE_NOUNS = {"apple", "coral", "tiger", "eagle", "stream", "mountain", "forest", "ocean", "star", "cloud"}


@pytest.mark.requirement("HB-1")
@pytest.mark.parametrize(
    ("words", "source"), [(ADJECTIVES, SOURCE_ADJECTIVES), (NOUNS, SOURCE_NOUNS)], ids=["adjectives", "nouns"]
)
def test_a_list_has_200_plain_words_in_order_and_those_of_the_source(words: tuple[str, ...], source: set[str]) -> None:
    assert len(words) >= 200
    assert list(words) == sorted(set(words))
    assert [word for word in words if not re.fullmatch("[a-z]{3,10}", word)] == []
    assert source <= set(words)


@pytest.mark.requirement("HB-1")
def test_no_word_is_both_adjective_and_noun() -> None:
    assert not set(ADJECTIVES) & set(NOUNS)


@pytest.mark.requirement("HB-1", "C4")
@given(st.randoms(use_true_random=False), st.sets(st.sampled_from(sorted(PAIRS)), max_size=50))
def test_a_readable_id_is_a_free_pair_of_words(rng: Random, taken: set[str]) -> None:
    assert readable_id(taken, rng) in PAIRS - taken


@pytest.mark.requirement("HB-1", "C4")
def test_the_last_free_pair_is_found() -> None:
    assert readable_id(PAIRS - {"cool-apple"}, Random(1)) == "cool-apple"


@pytest.mark.requirement("HB-1", "C4")
def test_when_the_pairs_run_out_a_number_follows() -> None:
    taken = set(PAIRS)
    first = readable_id(taken, Random(1))
    taken.add(first)
    assert first.removesuffix("-2") in PAIRS
    assert readable_id(taken, Random(1)) == first.removesuffix("-2") + "-3"


@pytest.mark.requirement("C4")
def test_ten_thousand_ids_are_all_different() -> None:
    rng = Random(1)
    taken: set[str] = set()
    for _ in range(10_000):
        taken.add(readable_id(taken, rng))
    assert len(taken) == 10_000


def test_whether_an_id_is_taken_can_be_asked_of_a_function() -> None:
    asked: list[str] = []

    def is_taken(candidate: str) -> bool:
        asked.append(candidate)
        return len(asked) < 3

    assert readable_id(is_taken, Random(1)) == asked[-1]
    assert len(asked) == 3


def test_when_everything_is_taken_the_search_ends() -> None:
    def is_taken(_: str) -> bool:
        return True

    for make in (readable_id, short_id):
        with pytest.raises(RuntimeError, match="taken"):
            make(is_taken, Random(1))
    with pytest.raises(RuntimeError, match="taken"):
        prefixed_id("task_", MOMENT, Random(1), is_taken)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2112, 1, 1)), st.randoms(use_true_random=False))  # noqa: DTZ001 - UTC is meant
def test_a_prefixed_id_is_12_characters_of_crockford_base32(moment: datetime, rng: Random) -> None:
    assert re.fullmatch("task_[0-9A-HJKMNP-TV-Z]{12}", prefixed_id("task_", moment, rng))


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(2112, 1, 1)),  # noqa: DTZ001 - UTC is meant
    st.timedeltas(timedelta(microseconds=1), timedelta(days=100)),
    st.randoms(use_true_random=False),
)
def test_prefixed_ids_sort_by_their_moments_to_the_microsecond(moment: datetime, later: timedelta, rng: Random) -> None:
    assert prefixed_id("task_", moment, rng) < prefixed_id("task_", moment + later, rng)


def test_the_moment_counts_in_any_time_zone() -> None:
    local = MOMENT.astimezone(timezone(timedelta(hours=9)))
    assert prefixed_id("task_", local, Random(1)) == prefixed_id("task_", MOMENT, Random(1))


def test_a_taken_prefixed_id_gives_way_to_the_next() -> None:
    first = prefixed_id("task_", MOMENT, Random(1))
    second = prefixed_id("task_", MOMENT, Random(1), {first})
    assert first < second < prefixed_id("task_", MOMENT + timedelta(microseconds=2), Random(1))


def test_a_short_id_is_8_characters_of_lower_case_base32_and_free() -> None:
    first = short_id((), Random(1))
    second = short_id({first}, Random(1))
    assert re.fullmatch("[a-z2-7]{8}", first)
    assert re.fullmatch("[a-z2-7]{8}", second)
    assert first != second
