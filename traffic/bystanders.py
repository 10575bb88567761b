"""Events beside a click that must not be counted: HEAD, prefetch, malformed, future-dated, of an unknown ad.

Belongs here: events that are sent right before a click, most of them under the identity of that very click. If one of
them is taken for a click, or occupies the identity, the truth tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from domain.events import Kind, Reason
from traffic.catalogue import FIRST_UNKNOWN_AD_ID
from traffic.dice import between, mostly
from traffic.event import DAY_US, SECOND_US, PlannedEvent, microseconds
from traffic.malformed import MALFORMED_KINDS, MalformedKind
from traffic.options import TrafficOptions
from traffic.run_state import RunState
from traffic.visitors import Visitors
from traffic.visits import Visit, as_fields, write_event

FIRST_FUTURE_US = 4_102_444_800 * SECOND_US
"""2100-01-01: in the future whenever a run is sent, so that its bytes do not depend on when that is."""
LAST_FUTURE_US = 253_402_300_800 * SECOND_US - 1
"""The last microsecond of the year 9999."""
FUTURE_DAYS = 300_000
LONGEST_BEFORE_US = 3 * SECOND_US
UNKNOWN_ADS_COUNT = 1_000


class Bystanders:
    """Decides what is sent before a click, if anything."""

    def __init__(self, visitors: Visitors, options: TrafficOptions, run: RunState) -> None:
        self._random = random = run.random
        self._made = run.made
        self._visitors = visitors
        self._start_us = microseconds(options.start_at)
        shares = options.shares
        self._malformed = _in_turn(random)
        self._sort = mostly(
            "none",
            {
                "head_before_click": shares.heads / 2,
                "head_alone": shares.heads / 2,
                "prefetch_before_click": shares.prefetches / 2,
                "prefetch_alone": shares.prefetches / 2,
                "malformed": shares.malformed,
                "future_dated": shares.future,
                "unknown_ad": shares.unknown_ads,
            },
        )

    def before(self, visit: Visit, now_us: int) -> PlannedEvent | None:
        """The event that goes to the log right before this click; None mostly."""
        sort = self._sort.choose(self._random)
        if sort == "none":
            return None
        self._made[sort] += 1
        if sort.startswith(("head", "prefetch")):
            looked_at = self._visitors.arrive(now_us) if sort.endswith("_alone") else visit
            return self._not_a_click(looked_at, "head" if sort.startswith("head") else "prefetch")
        return self._invalid(sort, visit)

    def _invalid(self, sort: str, visit: Visit) -> PlannedEvent:
        if sort == "malformed":
            kind = next(self._malformed)
            return _planned(visit, kind.build(as_fields(visit)), reason=kind.reason)
        visit = self._visitors.again(visit, visit.clicked_us)
        if sort == "future_dated":
            visit = visit._replace(clicked_us=self._future())
            return _planned(visit, write_event(visit), reason="future_dated")
        ad_id = FIRST_UNKNOWN_AD_ID + between(self._random, 0, UNKNOWN_ADS_COUNT - 1)
        visit = visit._replace(dimensions=visit.dimensions._replace(ad_id=ad_id))
        return _planned(visit, write_event(visit), reason="unknown_ad")

    def _not_a_click(self, visit: Visit, kind: Kind) -> PlannedEvent:
        """Seconds before the click, yet not before the range."""
        earlier_us = visit.clicked_us - between(self._random, 0, LONGEST_BEFORE_US)
        visit = self._visitors.again(visit, max(self._start_us, earlier_us))
        return _planned(visit, write_event(visit, kind), kind=kind)

    def _future(self) -> int:
        days = between(self._random, 0, FUTURE_DAYS)
        return LAST_FUTURE_US if days % 10 == 0 else FIRST_FUTURE_US + days * DAY_US


def _planned(visit: Visit, value: bytes | None, kind: Kind = "click", reason: Reason | None = None) -> PlannedEvent:
    key = visit.impression_id.encode()
    return PlannedEvent(key, value, kind, visit.dimensions, visit.clicked_us, has_copies=False, reason=reason)


def _in_turn(random: Random) -> Iterator[MalformedKind]:
    """Every kind once, then all but the large ones over and over; the first turn starts anywhere."""
    first = between(random, 0, len(MALFORMED_KINDS) - 1)
    yield from MALFORMED_KINDS[first:] + MALFORMED_KINDS[:first]
    small = [kind for kind in MALFORMED_KINDS if not kind.is_large]
    while True:
        yield from small
