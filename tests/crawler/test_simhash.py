"""SimHash: near for texts that are near, far for others, the same for the same words."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.simhash import SIMHASH_BITS, simhash

NEAR_BITS, FAR_BITS = 8, 18
"""Of 64: random texts differ in 32, give or take 4."""


def words(seed: int, count: int) -> list[str]:
    random = Random(seed)
    return [f"word{random.randrange(5_000)}" for _ in range(count)]


def distance(one: list[str], other: list[str]) -> int:
    bits = simhash(" ".join(one)), simhash(" ".join(other))
    assert bits[0] is not None
    assert bits[1] is not None
    return (bits[0] ^ bits[1]).bit_count()


@pytest.mark.parametrize("seed", range(20))
def test_one_word_of_five_hundred_moves_few_bits_and_another_text_many(seed: int) -> None:
    text = words(seed, 500)
    changed = [*text[:250], "another", *text[251:]]
    assert distance(text, changed) <= NEAR_BITS
    assert distance(text, words(seed + 1_000, 500)) >= FAR_BITS


def test_the_order_of_words_counts() -> None:
    text = words(1, 300)
    assert distance(text, text[::-1]) >= FAR_BITS


def test_repeating_a_text_moves_only_the_seam() -> None:
    text = words(2, 400)
    assert distance(text, text + text) <= NEAR_BITS


@pytest.mark.parametrize(("text", "is_none"), [("", True), (" \n\t", True), ("one", False), ("a b c", False)])
def test_short_texts_have_bits_where_they_have_words(text: str, is_none: bool) -> None:
    assert (simhash(text) is None) is is_none


@given(st.text(alphabet="abcd \n\u00e9", max_size=200))
def test_case_and_spaces_are_no_difference(text: str) -> None:
    found = simhash(text)
    assert found == simhash(f"  {text.upper()}  ") == simhash(" \n".join(text.split()))
    assert found is None or 0 <= found < 1 << SIMHASH_BITS


def test_it_is_the_same_in_every_process() -> None:
    """A stored value is compared with those of next year."""
    assert f"{simhash('the quick brown fox jumps over the lazy dog') or 0:016x}" == "1cb941e3015f4450"
