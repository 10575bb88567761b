"""Weighted choice from one random number: by table, fast, and the same on every machine."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


class Weighted(Generic[T]):
    """Chooses one of ``outcomes``; weights need not sum up to one."""

    def __init__(self, outcomes: Sequence[T], weights: Sequence[float]) -> None:
        bounds = list(accumulate(weights))
        self._outcomes = outcomes
        self._bounds = [bound / bounds[-1] for bound in bounds[:-1]]

    def choose(self, random: Random) -> T:
        """One outcome; takes exactly one random number."""
        return self._outcomes[bisect_right(self._bounds, random.random())]


def mostly(usual: T, rare: Mapping[T, float]) -> Weighted[T]:
    """``usual``, but for each rare outcome its share of the cases."""
    return Weighted([*rare, usual], [*rare.values(), max(0.0, 1 - sum(rare.values()))])


def between(random: Random, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high`` inclusive."""
    return low + int(random.random() * (high - low + 1))
