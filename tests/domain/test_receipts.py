"""The politeness receipt, from rows alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.politeness import SECOND_MICROS
from domain.receipts import Receipt, RequestRow, receipt

ROWS = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 30), st.sampled_from([200, 429, 503, None])).map(
        lambda row: RequestRow(row[0], row[0] + row[1], row[2])
    )
)


def made_of(rows: list[RequestRow], start: int = 0, end: int = 1_000, gap: int = 10, cap: int = 1) -> Receipt:
    return receipt("https://a.example", (start, end), rows, gap_micros=gap, in_flight_cap=cap)


def test_figures_of_a_window() -> None:
    rows = [RequestRow(30, 35, 503), RequestRow(0, 9, 200), RequestRow(10, 19, 429), RequestRow(1_000, 1_001, 200)]
    made = made_of(rows)
    assert (made.request_count, made.smallest_gap_micros, made.most_in_flight_count) == (3, 10, 1)
    assert (made.throttled_count, made.server_error_count, made.unanswered_count) == (1, 1, 0)
    assert (made.rate_per_mille_of_cap, made.is_polite) == (30, True)
    assert made_of([], gap=0).rate_per_mille_of_cap is None
    assert made_of([], gap=2 * SECOND_MICROS).cap_per_hour == 1_800


@pytest.mark.parametrize(
    ("rows", "is_polite"),
    [
        ([RequestRow(0, 5, 200), RequestRow(9, 12, 200)], False),  # 9 of 10
        ([RequestRow(0, 11, 200), RequestRow(10, 12, 200)], False),  # two at once
        ([RequestRow(0, 10, 200), RequestRow(10, 12, 200)], True),
        ([RequestRow(0, 0, None), RequestRow(0, 0, 200)], False),  # one without an answer, at the same instant
        ([], True),
    ],
)
def test_too_soon_and_too_many_are_seen(rows: list[RequestRow], is_polite: bool) -> None:
    assert made_of(rows).is_polite is is_polite


def test_what_began_before_the_window_counts_beside_it() -> None:
    rows = [RequestRow(95, 130, 200), RequestRow(103, 104, 200)]
    made = made_of(rows, start=100)
    assert (made.request_count, made.smallest_gap_micros, made.most_in_flight_count) == (1, 8, 2)


@given(ROWS)
def test_figures_are_what_brute_force_finds(rows: list[RequestRow]) -> None:
    made = made_of(rows)
    starts = [row.started_at for row in rows]
    gaps = [abs(a - b) for i, a in enumerate(starts) for b in starts[i + 1 :]]
    flying = [sum(row.started_at <= at < max(row.ended_at, row.started_at + 1) for row in rows) for at in range(140)]
    assert made.smallest_gap_micros == (min(gaps) if gaps else None)
    assert made.most_in_flight_count == max(flying)
    assert made.request_count == len(rows)
