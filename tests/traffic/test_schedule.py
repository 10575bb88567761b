"""When clicks happen, and the queue of what arrives later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from tests.traffic.samples import event
from traffic.event import HOUR_US, microseconds
from traffic.schedule import HOURLY_WEIGHTS, ArrivalQueue, click_times

START_US = microseconds(datetime(2026, 3, 1, tzinfo=UTC))


def test_exactly_so_many_times_in_the_range_and_in_order() -> None:
    for count in (1, 7, 1_000):
        times = list(click_times(Random(1), START_US, START_US + 2 * HOUR_US, count))
        assert len(times) == count
        assert times == sorted(times)
        assert times[0] >= START_US
        assert times[-1] < START_US + 2 * HOUR_US


def test_busy_hours_get_more() -> None:
    end_us = microseconds(datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=1))
    times = list(click_times(Random(1), START_US, end_us, 10 * sum(HOURLY_WEIGHTS)))
    hours = [(time - START_US) // HOUR_US for time in times]
    # whole minutes get whole clicks, so an hour may get one click more or less
    assert all(abs(hours.count(hour) - 10 * weight) <= 1 for hour, weight in enumerate(HOURLY_WEIGHTS))


def test_queue_gives_what_is_due_by_arrival_and_equals_in_their_order() -> None:
    queue = ArrivalQueue()
    for name, arrival_us in (("c", 30), ("a", 10), ("b1", 20), ("b2", 20)):
        queue.push(arrival_us, event(name, 0))
    assert [each.key for each in queue.due(20)] == [b"a", b"b1", b"b2"]
    assert list(queue.due(29)) == []
    assert [each.key for each in queue.rest()] == [b"c"]
