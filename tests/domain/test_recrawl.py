"""The rate of change from history, the next visit within its bounds, and what proves that validators lie."""

from __future__ import annotations

from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.recrawl import (
    LONGEST_FACTOR,
    MOST_COMPARISONS_COUNT,
    SHORTEST_PART,
    Seen,
    after_visit,
    are_constant,
    chance_of,
    change_micros,
    is_sampled,
    next_interval,
)

HOUR = 3_600_000_000
VISITS = st.lists(
    st.tuples(st.integers(1, 100 * HOUR), st.sampled_from(["same", "other", "cut", "304"])), min_size=1, max_size=60
)


def _history(*hashes: str | None, interval: int = HOUR) -> Seen:
    seen = Seen()
    for number, content_hash in enumerate(hashes):
        seen = after_visit(seen, number * interval, content_hash)
    return seen


def test_the_estimate_is_the_bias_reduced_one() -> None:
    """Four comparisons, one change, an hour apart: -ln(3.5 / 4.5) changes an hour."""
    seen = _history("a", "a", "b", "b", "b")
    assert (seen.comparison_count, seen.change_count, seen.observed_micros) == (4, 1, 4 * HOUR)
    assert change_micros(seen) == int(HOUR / -log(3.5 / 4.5))
    assert change_micros(_history("a", "b", "c")) == int(HOUR / -log(0.5 / 2.5)), "finite where all changed"
    assert change_micros(_history("a", "a")) is None
    assert change_micros(Seen()) is None


def test_the_estimate_finds_the_rate_of_a_page() -> None:
    """A page that changes every five hours, by chance, seen hourly: the estimate comes near that, on average."""
    chance = Random(5)
    estimates = []
    for _ in range(300):
        seen, version = Seen(), 0
        for visit in range(MOST_COMPARISONS_COUNT + 1):
            version += int(chance.random() < 1 - 2.718281828 ** (-1 / 5))
            seen = after_visit(seen, visit * HOUR, str(version))
        estimates.append(1 / (change_micros(seen) or 10**18))
    assert 4 * HOUR < len(estimates) / sum(estimates) < 6 * HOUR


def test_what_is_not_whole_proves_nothing() -> None:
    """C23: a body that was cut is neither changed nor unchanged, and nor is the next one, compared with it."""
    seen = _history("a", None, "a", "a")
    assert (seen.comparison_count, seen.change_count) == (1, 0)
    assert seen.visited_at == 3 * HOUR
    confirmed = after_visit(_history("a"), HOUR, None, is_unmodified=True)
    assert (confirmed.comparison_count, confirmed.change_count, confirmed.content_hash) == (1, 0, "a")


def test_what_does_not_change_backs_off_and_what_changes_comes_sooner() -> None:
    seen, intervals = _history("a"), []
    for _ in range(6):
        seen = after_visit(seen, (seen.visited_at or 0) + 8 * HOUR, "a")
        seen = seen._replace(interval_micros=next_interval(seen, 8 * HOUR))
        intervals.append(seen.interval_micros // HOUR)
    assert intervals == [16, 32, 64, 64, 64, 64]
    assert next_interval(_history("a", "b", "c", "d", interval=8 * HOUR), 8 * HOUR) < 5 * HOUR
    assert next_interval(_history("a"), 8 * HOUR) == 8 * HOUR


@given(VISITS, st.integers(SHORTEST_PART, 1_000 * HOUR))
def test_a_next_visit_lies_within_its_bounds(visits: list[tuple[int, str]], usual: int) -> None:
    """Whatever happened, and however often: within a quarter and eight times; history stays small; at most doubled."""
    seen, at, number = Seen(), 0, 0
    for elapsed, what in visits:
        at, before = at + elapsed, seen
        number += what == "other"
        seen = after_visit(seen, at, str(number) if what in {"same", "other"} else None, what == "304")
        interval = next_interval(seen, usual)
        assert usual // SHORTEST_PART <= interval <= usual * LONGEST_FACTOR
        assert interval <= max(2 * (before.interval_micros or usual), usual)
        assert 0 <= seen.change_count <= seen.comparison_count <= MOST_COMPARISONS_COUNT
        assert seen.observed_micros >= seen.comparison_count
        seen = seen._replace(interval_micros=interval)


@given(st.text(max_size=50), st.integers(0, 2**40))
def test_chance_is_the_same_for_the_same_visit(url: str, fence: int) -> None:
    assert 0 <= chance_of(url, fence) == chance_of(url, fence) < 1
    assert is_sampled(url, fence, 1_000)
    assert not is_sampled(url, fence, 0)


def test_the_sample_has_its_share() -> None:
    drawn = sum(is_sampled(f"https://a.example/{number}", 3, 50) for number in range(10_000))
    assert 400 < drawn < 600


@pytest.mark.parametrize(
    ("before", "after", "is_constant"),
    [
        (('"v"', None), ('"v"', None), True),
        (('"v"', "Mon"), ('"w"', "Mon"), False),
        (('"v"', "Mon"), ('"v"', "Tue"), True),
        ((None, "Mon"), (None, "Mon"), True),
        ((None, "Mon"), ('"v"', "Mon"), True),
        ((None, None), (None, None), False),
        (('"v"', None), (None, None), False),
    ],
)
def test_validators_that_name_one_version(
    before: tuple[str | None, str | None], after: tuple[str | None, str | None], is_constant: bool
) -> None:
    assert are_constant(before, after) is is_constant
