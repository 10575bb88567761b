"""How the clock of a place cuts time into buckets: local hours, days of 23 to 25 hours, as runs of equal buckets.

Belongs here: arithmetic over the offsets that a zone is given with; UTC is the zone with one run. Which zones there are
is ``warehouse/time_zones.py``; SQL over runs, ``warehouse/buckets_sql.py``.

A local day lasts from midnight to the next one, or from the first minute after midnight where the clock jumps over it.
A local hour starts whenever the clock shows a whole hour, and anew where the clock is set, so that an hour that comes
twice is two buckets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cached_property
from itertools import pairwise

from domain.buckets import BUCKET_LENGTH, DAY, HOUR, MINUTE, Granularity, hour_of, minute_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MARGIN = 2 * DAY
"""Around the asked range, so that the buckets at its edges are known as a whole: longer than any local day."""
HOURS_OF_DAY = frozenset(range(24))


@dataclass(frozen=True)
class Run:
    """Buckets of one length, the first starting at ``start`` (UTC); the last may be cut short by the next run."""

    start: datetime
    length: timedelta


@dataclass(frozen=True)
class Offset:
    """What the clock of the place is ahead of UTC from ``start`` (UTC) on."""

    start: datetime
    ahead: timedelta


@dataclass(frozen=True)
class Buckets:
    """The buckets of a range: runs in ascending order, and the offsets by which their starts are told."""

    runs: tuple[Run, ...]
    offsets: tuple[Offset, ...] = ()

    def start_of(self, at: datetime) -> datetime:
        """The start (UTC) of the bucket that ``at`` lies in."""
        run = self.runs[max(bisect_right(self.runs, at, key=lambda run: run.start) - 1, 0)]
        return at - (at - run.start) % run.length

    @cached_property
    def split_hours(self) -> frozenset[int]:
        """The hours of the UTC day inside which a bucket may start: their clicks are told apart by minutes alone."""
        hours: set[int] = set()
        for run in self.runs:
            if run.start != hour_of(run.start):
                hours |= HOURS_OF_DAY if run.length == HOUR else {run.start.hour}
        return frozenset(hours)


def buckets_between(start: datetime, end: datetime, granularity: Granularity, zone: tzinfo | None) -> Buckets:
    """The buckets of ``[start, end)`` (UTC) by the clock of a zone, or by UTC. Offsets are whole minutes.

    A minute starts at the same instant everywhere.
    """
    if zone is None:
        return Buckets((Run(EPOCH, BUCKET_LENGTH[granularity]),))
    first, last = start - MARGIN, end + MARGIN
    offsets = tuple(_offsets(first, last, zone))
    if granularity == "minute":
        return Buckets((Run(EPOCH, MINUTE),), offsets)
    starts = _hours(offsets) if granularity == "hour" else _days(first.date(), last.date(), zone)
    return Buckets(tuple(starts), offsets)


def local_midnight(day: date, zone: tzinfo | None) -> datetime:
    """When (UTC) the day begins in the zone: the first midnight of two, or the end of a gap that midnight lies in."""
    return datetime.combine(day, time(), tzinfo=zone or UTC).astimezone(UTC)


def _offsets(first: datetime, last: datetime, zone: tzinfo) -> Iterator[Offset]:
    """Found by looking day by day; no zone sets its clock there and back within one."""
    at, ahead = first, _ahead(first, zone)
    yield Offset(first, ahead)
    while at < last:
        until = at + DAY
        now_ahead = _ahead(until, zone)
        if now_ahead != ahead:
            yield Offset(_first_minute(at, until, zone), now_ahead)
            ahead = now_ahead
        at = until


def _first_minute(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The minute at which the offset changes between the two."""
    ahead = _ahead(before, zone)
    while after - before > MINUTE:
        middle = minute_of(before + (after - before) / 2)
        if _ahead(middle, zone) == ahead:
            before = middle
        else:
            after = middle
    return after


def _ahead(at: datetime, zone: tzinfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)


def _hours(offsets: Iterable[Offset]) -> Iterator[Run]:
    for index, offset in enumerate(offsets):
        since_whole = (offset.start + offset.ahead - EPOCH) % HOUR
        if not since_whole:
            yield Run(offset.start, HOUR)
        elif index == 0:  # no clock was set here: the range begins within an hour
            yield Run(offset.start - since_whole, HOUR)
        else:
            yield Run(offset.start, HOUR - since_whole)
            yield Run(offset.start + HOUR - since_whole, HOUR)


def _days(first: date, last: date, zone: tzinfo) -> Iterator[Run]:
    """A day that a place left out has no length, and is none."""
    days = (first + index * DAY for index in range((last - first).days + 2))
    midnights = sorted({local_midnight(day, zone) for day in days})
    length = None
    for start, end in pairwise(midnights):
        if end - start != length:
            length = end - start
            yield Run(start, length)
