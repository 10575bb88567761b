"""Weighted choice."""

from __future__ import annotations

from collections import Counter
from random import Random

from traffic.dice import Weighted, between, mostly


def test_weighted_choice_follows_the_weights() -> None:
    random = Random(1)
    weighted = Weighted(("a", "b", "never"), (3, 1, 0))
    counts = Counter(weighted.choose(random) for _ in range(10_000))
    # a standard deviation is 43, so 200 is more than four of them
    assert abs(counts["a"] - 7_500) < 200
    assert counts.keys() == {"a", "b"}


def test_mostly_with_shares_of_zero_and_one() -> None:
    random = Random(1)
    assert {mostly("usual", {"rare": 0.0}).choose(random) for _ in range(1_000)} == {"usual"}
    assert {mostly("usual", {"rare": 1.0}).choose(random) for _ in range(1_000)} == {"rare"}


def test_the_lowest_random_number_chooses_nothing_of_weight_zero() -> None:
    class Lowest(Random):
        def random(self) -> float:
            return 0.0

    assert Weighted(("never", "always"), (0, 1)).choose(Lowest()) == "always"


def test_between_includes_both_ends() -> None:
    random = Random(1)
    assert {between(random, 3, 5) for _ in range(1_000)} == {3, 4, 5}
    assert between(random, 4, 4) == 4
