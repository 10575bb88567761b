"""final_until: the end of the run of sealed hours without a hole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import HOUR
from domain.finality import final_until

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


@given(SEALED, st.integers(0, 60))
def test_another_seal_never_moves_it_back_unless_it_starts_earlier(numbers: frozenset[int], more: int) -> None:
    before = final_until({_hour(number) for number in numbers})
    after = final_until({_hour(number) for number in numbers | {more}})
    assert before is not None
    assert after is not None
    assert after >= before or more < min(numbers)


@given(SEALED)
def test_filling_the_holes_makes_all_of_it_final(numbers: frozenset[int]) -> None:
    run = range(min(numbers), max(numbers) + 1)
    assert final_until([_hour(number) for number in run]) == _hour(max(numbers)) + timedelta(hours=1)
