"""Readable ids: their words, and that a free one is found at once however many are taken."""

import re
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat_mcp.id_words import ADJECTIVES, NOUNS
from heartbeat_mcp.task_rules import PAIRS, readable_id

WORDS = frozenset(f"{adjective}-{noun}" for adjective, noun in product(ADJECTIVES, NOUNS))
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
    assert len(WORDS) == PAIRS


@pytest.mark.requirement("HB-1", "C4")
@settings(max_examples=30)
@given(st.integers(), st.sets(st.sampled_from(sorted(WORDS)), max_size=50))
def test_a_readable_id_is_a_free_pair_of_words(seed: int, taken: set[str]) -> None:
    assert readable_id(taken.__contains__, Random(seed)) in WORDS - taken


@pytest.mark.requirement("HB-1", "C4")
@pytest.mark.parametrize(("refused", "end"), [(31, ""), (32, "-2"), (63, "-2"), (64, "-3")])
def test_after_32_taken_pairs_a_number_follows(refused: int, end: str) -> None:
    asked: list[str] = []

    def is_taken(candidate: str) -> bool:
        asked.append(candidate)
        return len(asked) <= refused

    found = readable_id(is_taken, Random(1))
    assert (found, len(asked)) == (asked[-1], refused + 1)
    assert found.endswith(end)
    assert found.removesuffix(end) in WORDS


@pytest.mark.requirement("HB-1", "C4")
@pytest.mark.parametrize("number_taken", [0, PAIRS - 1, PAIRS, 25 * PAIRS])
def test_among_a_million_a_free_id_is_found_as_quickly_as_among_none(number_taken: int) -> None:
    asked: list[str] = []
    rounds = number_taken // PAIRS

    def is_taken(candidate: str) -> bool:
        asked.append(candidate)
        number = candidate.partition("-")[2].partition("-")[2]
        return int(number or 1) <= rounds

    assert asked == [readable_id(is_taken, Random(1), number_taken)]


@pytest.mark.requirement("C4")
def test_ten_thousand_ids_are_all_different() -> None:
    rng = Random(1)
    taken: set[str] = set()
    for _ in range(10_000):
        taken.add(readable_id(taken.__contains__, rng, len(taken)))
    assert len(taken) == 10_000
