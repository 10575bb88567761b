"""More events of one identity: double clicks, redeliveries, repeats hours and days later, copies that contradict.

Belongs here: when copies happen and what is different in them. All of them stand in the partition of their click, as
they have its key; which one counts depends on the order there alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from traffic.dice import Weighted, between, mostly
from traffic.dimensions import DimensionChooser
from traffic.event import DAY_US, HOUR_US, SECOND_US, PlannedEvent, microseconds
from traffic.options import TrafficOptions
from traffic.run_state import RunState
from traffic.visitors import Visitors
from traffic.visits import USER_AGENTS, Visit, write_event

SHORTEST_NEAR_US = SECOND_US // 20
LONGEST_NEAR_US = 20 * SECOND_US
LONGEST_FAR_US = 20 * HOUR_US
LONGEST_BEYOND_US = 10 * DAY_US
"""Beyond the final horizon too, by the time of the click. All are logged within one run, hence within any horizon."""
_NEAR_COPIES = Weighted((1, 2, 3), (7, 2, 1))


class Copies:
    """Decides for a click whether it is repeated, and makes its copies."""

    def __init__(
        self, visitors: Visitors, dimensions: DimensionChooser, options: TrafficOptions, run: RunState
    ) -> None:
        self._random = run.random
        self._made = run.made
        self._visitors = visitors
        self._dimensions = dimensions
        self._last_us = microseconds(options.end_at) - 1
        shares = options.shares
        self._sort = mostly(
            "none",
            {
                "double_click": shares.duplicates * 0.6,
                "redelivery": shares.duplicates * 0.4,
                "far_duplicate": shares.far_duplicates,
                "conflicting_copy": shares.conflicting,
            },
        )

    def choose(self) -> str:
        """Which sort of copies the next click has; ``none`` mostly."""
        return self._sort.choose(self._random)

    def of(self, sort: str, visit: Visit, value: bytes) -> Iterator[tuple[int, PlannedEvent]]:
        """The arrival and the event of each copy of a click that was written as ``value``."""
        match sort:
            case "double_click":
                for _ in range(_NEAR_COPIES.choose(self._random)):
                    visit = self._visitors.again(visit, self._near(visit.clicked_us))
                    yield self._planned(sort, visit)
            case "redelivery":
                yield self._planned(sort, visit, value, self._near(visit.clicked_us))
            case "far_duplicate":
                yield self._planned(*self._far(visit))
            case "conflicting_copy":
                is_near = self._random.getrandbits(1)
                copy = self._visitors.again(visit, self._near(visit.clicked_us)) if is_near else self._far(visit)[1]
                other = self._dimensions.conflicting(self._random, than=copy.dimensions)
                browser = copy.user_agent if other.device == copy.dimensions.device else USER_AGENTS[other.device][0]
                yield self._planned(sort, copy._replace(dimensions=other, user_agent=browser))

    def _near(self, clicked_us: int) -> int:
        return min(clicked_us + between(self._random, SHORTEST_NEAR_US, LONGEST_NEAR_US), self._last_us)

    def _far(self, visit: Visit) -> tuple[str, Visit]:
        """Hours later, or more than a day where the range is long enough; near the end of the range, sooner."""
        left_us = self._last_us - visit.clicked_us
        if left_us > DAY_US and self._random.getrandbits(1):
            later_us = between(self._random, DAY_US + 1, min(left_us, LONGEST_BEYOND_US))
            return "duplicate_beyond_a_day", self._visitors.again(visit, visit.clicked_us + later_us)
        later_us = between(self._random, min(HOUR_US, left_us), min(LONGEST_FAR_US, left_us))
        return "far_duplicate", self._visitors.again(visit, visit.clicked_us + later_us)

    def _planned(
        self, sort: str, visit: Visit, value: bytes | None = None, arrival_us: int | None = None
    ) -> tuple[int, PlannedEvent]:
        self._made[sort] += 1
        key = visit.impression_id.encode()
        event = PlannedEvent(
            key, value or write_event(visit), "click", visit.dimensions, visit.clicked_us, has_copies=True, reason=None
        )
        return visit.clicked_us if arrival_us is None else arrival_us, event
