"""The politeness receipt: how an origin was treated in a window, computed from a log of requests and nothing else.

Belongs here: the arithmetic. It takes rows of any log, ours or the origin's own, and knows nothing of leases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from domain.politeness import SECOND_MICROS

TOO_MANY_REQUESTS = 429
SERVER_ERRORS = range(500, 600)


class RequestRow(NamedTuple):
    """One request to an origin; instants are microseconds since 1970. No status means that no answer came."""

    started_at: int
    ended_at: int
    status: int | None


@dataclass(frozen=True)
class Receipt:
    """What one origin had to bear from ``start`` up to ``end``. Requests belong to the window that they start in."""

    origin: str
    start: int
    end: int
    request_count: int
    smallest_gap_micros: int | None
    """Between the starts of two requests one after the other; None where there are no two."""
    most_in_flight_count: int
    cap_per_hour: int | None
    """What the gap allows in an hour; None without a gap."""
    throttled_count: int
    server_error_count: int
    unanswered_count: int
    gap_micros: int
    in_flight_cap: int

    @property
    def rate_per_mille_of_cap(self) -> int | None:
        """Requests against what the gap would have allowed in the window, in thousandths."""
        if not self.gap_micros:
            return None
        return self.request_count * self.gap_micros * 1_000 // (self.end - self.start)

    @property
    def is_polite(self) -> bool:
        """No gap too small, never more in flight than the cap."""
        is_gap_kept = self.smallest_gap_micros is None or self.smallest_gap_micros >= self.gap_micros
        return is_gap_kept and self.most_in_flight_count <= self.in_flight_cap


def receipt(
    origin: str, window: tuple[int, int], requests: Iterable[RequestRow], *, gap_micros: int, in_flight_cap: int
) -> Receipt:
    """The receipt of a window, half-open. ``requests`` are those that touch it, in any order.

    One that started before the window still counts as in flight, and for the gap of the first inside it.
    """
    start, end = window
    rows = sorted((row for row in requests if row.started_at < end), key=attrgetter("started_at"))
    inside = [row for row in rows if row.started_at >= start]
    gaps = [later.started_at - sooner.started_at for sooner, later in pairwise(rows) if later.started_at >= start]
    return Receipt(
        origin=origin,
        start=start,
        end=end,
        request_count=len(inside),
        smallest_gap_micros=min(gaps, default=None),
        most_in_flight_count=_most_in_flight([row for row in rows if row.started_at >= start or row.ended_at > start]),
        cap_per_hour=3_600 * SECOND_MICROS // gap_micros if gap_micros else None,
        throttled_count=sum(row.status == TOO_MANY_REQUESTS for row in inside),
        server_error_count=sum(row.status in SERVER_ERRORS for row in inside if row.status is not None),
        unanswered_count=sum(row.status is None for row in inside),
        gap_micros=gap_micros,
        in_flight_cap=in_flight_cap,
    )


def _most_in_flight(rows: list[RequestRow]) -> int:
    """A request that ends in the instant in which another starts is not in flight beside it."""
    changes = sorted(
        [(row.started_at, 1) for row in rows] + [(max(row.ended_at, row.started_at + 1), -1) for row in rows]
    )
    most = current = 0
    for _, change in changes:
        current += change
        most = max(most, current)
    return most
