"""final_until: the end of the run of sealed hours without a hole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import HOUR
from domain.finality import final_from, final_until

START = datetime(2026, 10, 25, tzinfo=UTC)


def _hour(number: int) -> datetime:
    return START + number * HOUR


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([], None),
        ([5], 6),
        ([0, 1, 2], 3),
        ([2, 0, 1], 3),
        ([0, 2], 1),
        ([0, 1, 3, 4], 2),
        ([23, 24, 25], 26),
    ],
    ids=["none", "one", "run", "any order", "hole", "hole later", "across midnight"],
)
def test_cases(hours: list[int], expected: int | None) -> None:
    assert final_until([_hour(number) for number in hours]) == (None if expected is None else _hour(expected))


SEALED = st.frozensets(st.integers(0, 60), min_size=1)


@given(SEALED)
def test_every_hour_up_to_it_is_sealed_and_the_next_is_not(numbers: frozenset[int]) -> None:
    hours = {_hour(number) for number in numbers}
    end = final_until(hours)
    assert end is not None
    hour = min(hours)
    while hour < end:
        assert hour in hours
        hour += HOUR
    assert end not in hours


@given(st.permutations(range(12)))
def test_hours_sealed_in_any_order_never_move_it_back_and_end_at_the_same(order: list[int]) -> None:
    """A backfill far before the first seal leaves what readers know as final; once no hole is left, all of it is."""
    hours: set[datetime] = set()
    known: datetime | None = None
    for number in order:
        hours.add(_hour(number))
        until = final_until(hours, known)
        assert until is not None
        assert known is None or until >= known
        start = final_from(hours, until)
        assert all(start + n * HOUR in hours for n in range((until - start) // HOUR))
        assert start - HOUR not in hours
        known = until
    assert known is not None
    assert (final_from(hours, known), known) == (_hour(0), _hour(12))


@given(SEALED)
def test_filling_the_holes_makes_all_of_it_final(numbers: frozenset[int]) -> None:
    run = range(min(numbers), max(numbers) + 1)
    assert final_until([_hour(number) for number in run]) == _hour(max(numbers)) + timedelta(hours=1)
