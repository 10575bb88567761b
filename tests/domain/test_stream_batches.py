"""Freshness, forecast and alerts over recorded batches: bounds that hold, and no forecast that nobody can make."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.stream_batches import (
    Forecast,
    Freshness,
    Pace,
    StreamBatch,
    ended_within,
    forecast,
    freshness_alerts,
    freshness_of,
)
from tests.support.batches import AT, batch, waited

PACE = Pace(timedelta(seconds=5), max_batch_events=1_000)
MINUTE = timedelta(minutes=1)


def test_the_window_is_ten_minutes_up_to_now() -> None:
    ended = [batch(ended_seconds_ago=seconds) for seconds in (600, 599, 0, -1)]
    assert ended_within(ended, AT) == ended[1:3]


def test_freshness_bounds_what_the_clicks_waited() -> None:
    # 100 clicks: 90 waited at most 3 s, 8 at most 20 s, 2 at most 60 s. So 95 of them at most 20 s, 99 at most 60 s.
    found = freshness_of([waited(60, 50, 2), waited(3, 1, 90), waited(20, 2, 8)])
    assert found == Freshness(100, 1.0, 3.0, 20.0, 60.0, 60.0)


@pytest.mark.parametrize("counted", [0, None], ids=["nothing counted", "the archive"])
def test_batches_that_count_nothing_say_nothing_of_freshness(counted: int | None) -> None:
    assert freshness_of([batch(counted_count=counted)]) is None
    assert freshness_of([]) is None


@given(st.lists(st.lists(st.floats(0, 900), min_size=1, max_size=8), min_size=1, max_size=8))
def test_quantiles_are_never_too_low(waits_of_batches: list[list[float]]) -> None:
    """Of the true waits at least that share lies at or below the bound, and the worst one is exact."""
    found = freshness_of([waited(max(waits), min(waits), len(waits)) for waits in waits_of_batches])
    assert found is not None
    waits = [wait for of_batch in waits_of_batches for wait in of_batch]
    grain = 1e-5  # instants are whole microseconds
    for share, bound in ((0.5, found.p50_seconds), (0.95, found.p95_seconds), (0.99, found.p99_seconds)):
        assert sum(wait <= bound + grain for wait in waits) >= share * len(waits)
    assert found.worst_seconds == pytest.approx(max(waits), abs=grain)
    assert found.best_seconds == pytest.approx(min(waits), abs=grain)


def full(ended_seconds_ago: float, lag: int) -> StreamBatch:
    """A batch of catching up: 1,000 records in 10 s."""
    return batch(ended_seconds_ago=ended_seconds_ago, duration_seconds=10, in_count=1_000, lag_events={0: lag})


def test_a_backlog_ends_when_reading_outruns_the_log() -> None:
    # The first batch was planned 20 s ago with 9,500 beyond it; a second one took 1,000. 9,000 are left, so the log
    # took in 9,000 - 9,500 + 1,000 = 500 in 20 s, 25 a second. At 100 a second read, 9,000 go in 9,000 / 75 = 120 s.
    found = forecast("live", [full(0, 9_000), full(10, 9_500), batch("archive")], 9_000, PACE, AT)
    assert found == Forecast("live", 9_000, 100.0, 25.0, AT + timedelta(seconds=120))


def test_a_log_that_grows_faster_than_it_is_read_has_no_end() -> None:
    found = forecast("live", [full(0, 20_000), full(10, 9_500)], 20_000, PACE, AT)
    assert (found.growth_per_second, found.level_at) == (575.0, None)


def test_what_fits_into_one_batch_is_read_by_the_next() -> None:
    """Small batches cost what they cost: their pace says nothing of a full one."""
    found = forecast("live", [batch(duration_seconds=40, in_count=2)], 900, PACE, AT)
    assert found.level_at == AT + timedelta(seconds=40)


def test_the_pause_between_batches_is_a_part_of_the_pace() -> None:
    found = forecast("live", [batch(duration_seconds=1, in_count=50)], 0, PACE, AT)
    assert found.read_per_second == 10.0


@pytest.mark.parametrize(("lag", "level_at"), [(0, AT), (5, None)])
def test_without_batches_only_a_level_query_is_known(lag: int, level_at: object) -> None:
    assert forecast("live", [batch("archive")], lag, PACE, AT) == Forecast("live", lag, level_at=level_at)  # type: ignore[arg-type]


FRESH = freshness_of([waited(60, 50, 2)])


@pytest.mark.parametrize(
    ("overdue", "bound", "expected"),
    [
        (0, 1, []),
        (None, 1, []),
        (0, 0.5, ["of the last 10 minutes a click waited 60.0 s until it was seen; expected at most 30 s"]),
        (1_234, 1, ["1,234 records wait for live longer than 60 s"]),
    ],
    ids=["at the bound", "the log does not answer", "a slow batch", "the stream is off"],
)
def test_what_alerts(overdue: int | None, bound: float, expected: list[str]) -> None:
    assert freshness_alerts(FRESH, overdue, bound * MINUTE) == expected


def test_nothing_counted_and_nothing_waiting_is_no_alert() -> None:
    assert freshness_alerts(None, 0, MINUTE) == []
