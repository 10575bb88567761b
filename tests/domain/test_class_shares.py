"""Whose turn it is: shares are kept, nobody starves, nobody saves up."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.class_shares import IDLE_CLAIMS, ClassTurns, check_class
from domain.errors import UsageError


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9), min_size=1), st.integers(1, 20))
def test_shares_are_kept_to_within_one_claim(shares: dict[str, int], rounds: int) -> None:
    turns = ClassTurns(shares)
    served: Counter[str] = Counter()
    for _ in range(rounds * sum(shares.values())):
        first = turns.order()[0]
        served[first] += 1
        turns = turns.served(first)
    assert all(abs(served[name] - rounds * share) <= 1 for name, share in shares.items())


def test_an_idle_class_is_passed_over_and_saves_nothing_up() -> None:
    turns = ClassTurns({"a": 1, "b": 1})
    for _ in range(8):
        turns = turns.served("b")
    turns = turns.found_idle("a")
    assert turns.order() == ["b", "a"]
    for _ in range(IDLE_CLAIMS):
        turns = turns.served("b")
    assert turns.order() == ["a", "b"]
    claims: Counter[str] = Counter()
    for _ in range(64):
        first = turns.order()[0]
        claims[first] += 1
        turns = turns.served(first)
    assert (
        claims["a"] - claims["b"] == IDLE_CLAIMS
    )  # what it missed while it was passed over, not what it missed before


def test_a_class_has_a_name() -> None:
    check_class("news")
    with pytest.raises(UsageError, match="class 'gossip'; expected one of news, "):
        check_class("gossip")
