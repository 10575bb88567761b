"""What must be counted of the records that were sent, by plain lines of its own.

Belongs here: the truth. It shares no code with the counting rule (``domain/counting.py``, ``domain/parsing.py``) and
never will: two codes that agree are worth more than one. It relies on what the sender guarantees: all records of one
run are logged within hours, records of one key in one partition, in the order in which they were sent. So of an
identity the first click that was sent counts, and every other is a duplicate, whatever their times say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from traffic.event import HOUR_US, MINUTE_US, SECOND_US, Dimensions, PlannedEvent

NO_TIME = -1
"""Stands for hour and minute where the click service sets the time, so that nobody knows it beforehand."""


class Recount:
    """Looks at every record in sending order; minutes and hours are numbered since 1970.

    ``minutes``: billable clicks by minute and dimensions; ``late``: those of them that live must refuse. ``hours``: by
    hour and advertiser what became of its raw clicks. ``highest_us``: per partition the newest time among the clicks
    that are no duplicates; it begins with what earlier runs left in the log.
    """

    def __init__(
        self,
        partition_of: Callable[[bytes], int],
        late_bound_seconds: int,
        earlier_highest_us: Mapping[int, int],
        has_times: bool = True,
    ) -> None:
        self._partition_of = partition_of
        self._late_bound_us = late_bound_seconds * SECOND_US
        self._has_times = has_times
        self._first: dict[tuple[bytes, int], Dimensions] = {}
        self.highest_us = dict(earlier_highest_us)
        self.minutes: defaultdict[int, Counter[Dimensions]] = defaultdict(Counter)
        self.late: defaultdict[int, Counter[Dimensions]] = defaultdict(Counter)
        self.hours: defaultdict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        self.invalid: Counter[str] = Counter()
        self.records_count = 0

    def look_at(self, event: PlannedEvent) -> None:
        """Counts one record."""
        self.records_count += 1
        if event.reason is not None:
            self.invalid[event.reason] += 1
            return
        hour = event.clicked_us // HOUR_US if self._has_times else NO_TIME
        outcomes = self.hours[hour, event.dimensions.advertiser_id]
        outcomes["raw"] += 1
        if event.kind != "click":
            outcomes[event.kind] += 1
        elif event.has_copies and (winner := self._first.get((event.key, event.dimensions.ad_id))) is not None:
            outcomes["duplicate" if winner == event.dimensions else "conflicting_duplicate"] += 1
        else:
            if event.has_copies:
                self._first[event.key, event.dimensions.ad_id] = event.dimensions
            outcomes["billable"] += 1
            self._count(event, outcomes)

    def _count(self, event: PlannedEvent, outcomes: Counter[str]) -> None:
        if not self._has_times:
            self.minutes[NO_TIME][event.dimensions] += 1
            return
        clicked_us = event.clicked_us
        minute = clicked_us // MINUTE_US
        self.minutes[minute][event.dimensions] += 1
        partition = self._partition_of(event.key)
        highest_us = self.highest_us.get(partition, clicked_us)
        if clicked_us < highest_us - self._late_bound_us:
            outcomes["late"] += 1
            self.late[minute][event.dimensions] += 1
        self.highest_us[partition] = max(highest_us, clicked_us)
