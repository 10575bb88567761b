"""When clicks happen, and in which order their events reach the log.

Belongs here: the spread of clicks over the range, and the queue of events that arrive later than they happened.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from random import Random

from traffic.event import HOUR_US, MINUTE_US, PlannedEvent

HOURLY_WEIGHTS = (4, 3, 3, 3, 3, 4, 5, 7, 8, 9, 9, 10, 10, 9, 9, 9, 9, 10, 11, 12, 11, 9, 7, 5)
"""How busy each UTC hour of the day is."""


def click_times(random: Random, start_us: int, end_us: int, clicks_count: int) -> Iterator[int]:
    """Exactly ``clicks_count`` times in ``[start_us, end_us)``, ascending; a minute at a time is in memory."""
    minutes = range(start_us, end_us, MINUTE_US)
    total_weight = sum(_weight(minute) for minute in minutes)
    weight_so_far = given = 0
    for minute in minutes:
        weight_so_far += _weight(minute)
        due = clicks_count * weight_so_far // total_weight
        yield from sorted(minute + int(random.random() * MINUTE_US) for _ in range(due - given))
        given = due


def _weight(minute_us: int) -> int:
    return HOURLY_WEIGHTS[minute_us // HOUR_US % len(HOURLY_WEIGHTS)]


class ArrivalQueue:
    """Events that wait for their arrival. Equal arrivals leave in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, PlannedEvent]] = []
        self._pushed = 0

    def push(self, arrival_us: int, event: PlannedEvent) -> None:
        """Keeps the event until its arrival."""
        self._pushed += 1
        heapq.heappush(self._waiting, (arrival_us, self._pushed, event))

    def due(self, until_us: int) -> Iterator[PlannedEvent]:
        """The events that have arrived by then, in order of arrival; they are gone from the queue."""
        while self._waiting and self._waiting[0][0] <= until_us:
            yield heapq.heappop(self._waiting)[2]

    def rest(self) -> Iterator[PlannedEvent]:
        """All that still waits, in order of arrival."""
        while self._waiting:
            yield heapq.heappop(self._waiting)[2]
