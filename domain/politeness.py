"""How often an origin is asked: gap, cap, back-off, Retry-After, Crawl-delay, as arithmetic on one bucket.

Belongs here: what a bucket becomes when a URL is claimed, a request starts, or a lease ends. Instants are microseconds
since 1970 by whatever clock the caller has; chance is an argument. Keeping buckets is ``crawler/frontier/``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from domain.buckets import to_unix_micros

SECOND_MICROS = 1_000_000
START_SLACK_MICROS = 50_000
"""Added to every gap: between the bucket's permission and the first byte, a worker needs a moment, and not always the
same; and a clock may count in milliseconds."""
LONGEST_CRAWL_DELAY_MICROS = 300 * SECOND_MICROS
"""A Crawl-delay above this is kept as well, but parks the origin until a person has looked."""
FIRST_BACKOFF_MICROS = 60 * SECOND_MICROS
LONGEST_BACKOFF_MICROS = 6 * 3_600 * SECOND_MICROS
"""The most that an origin may ask for with Retry-After, and where doubling ends."""
JITTER_RATIO = 0.25
"""Blocked origins come back spread over this share of their wait, always later than asked, never sooner."""
FIRST_RETRY_MICROS = 300 * SECOND_MICROS
LONGEST_RETRY_MICROS = 86_400 * SECOND_MICROS
_LONGEST_NUMBER = 18
_MOST_DOUBLINGS = 40


@dataclass(frozen=True)
class Bucket:
    """What an origin, or a group of origins, allows. ``claimable_at`` and ``startable_at`` never move back."""

    gap_micros: int
    in_flight_cap: int
    in_flight_count: int = 0
    claimable_at: int = 0
    startable_at: int = 0
    failure_count: int = 0
    """Throttled answers in a row."""

    def is_claimable(self, now: int) -> bool:
        """Whether one more URL may be claimed at this instant."""
        return self.claimable_at <= now and self.in_flight_count < self.in_flight_cap

    def claimed(self, now: int) -> Bucket:
        """One URL more is in flight, and the next is not claimed before the gap is over."""
        return replace(
            self, in_flight_count=self.in_flight_count + 1, claimable_at=max(self.claimable_at, now + self._pause)
        )

    def wait_micros(self, now: int) -> int:
        """How long a request has to wait; 0 means that it may start now."""
        return max(0, self.startable_at - now)

    def started(self, now: int) -> Bucket:
        """A request starts now; the next one starts, and the next URL is claimed, no sooner than after the gap."""
        return self._not_before(now + self._pause)

    def finished(self, now: int, started_at: int | None, duration_micros: int) -> Bucket:
        """A lease ended; its last request, permitted at ``started_at``, took that long by its worker's stopwatch.

        A worker that dawdled between permission and request pushes the clock on: the gap counts from the request. One
        that reports nonsense gets no more than the gap from its permission.
        """
        freed = self.freed()
        return freed if started_at is None else freed.requested(now, started_at, duration_micros)

    def requested(self, now: int, started_at: int, duration_micros: int) -> Bucket:
        """A request, permitted at ``started_at``, really began that long ago; the gap counts from then."""
        began_at = now - min(max(duration_micros, 0), max(now - started_at, 0))
        return self._not_before(began_at + self._pause)

    def freed(self) -> Bucket:
        """A lease ended without saying how."""
        return replace(self, in_flight_count=self.in_flight_count - 1)

    def throttled(self, now: int, retry_after_micros: int | None, chance: float) -> Bucket:
        """The origin asks for rest (429, 503): the longer of what it asks and of our doubling back-off, jittered."""
        count = self.failure_count + 1
        wait = max(backoff_micros(count), min(retry_after_micros or 0, LONGEST_BACKOFF_MICROS))
        return replace(self, failure_count=count)._not_before(now + max(jittered(wait, chance), self._pause))

    def calmed(self) -> Bucket:
        """An answer that was none of these ends the row."""
        return replace(self, failure_count=0)

    @property
    def _pause(self) -> int:
        return self.gap_micros + START_SLACK_MICROS if self.gap_micros else 0

    def _not_before(self, at: int) -> Bucket:
        return replace(self, claimable_at=max(self.claimable_at, at), startable_at=max(self.startable_at, at))


def gap_with(own_gap_micros: int, crawl_delay_micros: int | None) -> int:
    """The gap between requests: the larger of ours and of what robots.txt asks for."""
    return max(own_gap_micros, crawl_delay_micros or 0)


def is_parking(crawl_delay_micros: int | None) -> bool:
    """Whether a Crawl-delay is so long that a person has to decide; it is never cut short."""
    return (crawl_delay_micros or 0) > LONGEST_CRAWL_DELAY_MICROS


def crawl_delay_micros(seconds: float | None) -> int | None:
    """Crawl-delay as a robots.txt has it, rounded up. None for none, and for what is no length of time."""
    if seconds is None or math.isnan(seconds) or seconds < 0:
        return None
    longest_seconds = 100 * 365 * 86_400
    return math.ceil(min(seconds, longest_seconds) * SECOND_MICROS)


def backoff_micros(failure_count: int) -> int:
    """How long an origin rests after that many throttled answers in a row: doubling, up to a limit."""
    return _doubled(FIRST_BACKOFF_MICROS, failure_count, LONGEST_BACKOFF_MICROS)


def retry_micros(attempt_count: int, chance: float) -> int:
    """How long a URL waits after that many failed attempts: doubling, up to a limit, jittered."""
    return jittered(_doubled(FIRST_RETRY_MICROS, attempt_count, LONGEST_RETRY_MICROS), chance)


def jittered(micros: int, chance: float) -> int:
    """Longer by up to ``JITTER_RATIO``, never shorter. ``chance`` is from 0 up to 1."""
    return micros + int(micros * JITTER_RATIO * chance)


def retry_after_micros(text: str | None, at: datetime) -> int | None:
    """What a Retry-After header asks for, as a length of time: seconds, or an HTTP date seen from ``at``.

    None where it says nothing that can be understood. Never negative, never more than the longest back-off.
    """
    if text is None:
        return None
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit():
        asked = int(stripped) * SECOND_MICROS if len(stripped) <= _LONGEST_NUMBER else LONGEST_BACKOFF_MICROS
    else:
        try:
            until = parsedate_to_datetime(stripped)
        except (ValueError, OverflowError):
            return None
        zoned = until if until.tzinfo else until.replace(tzinfo=UTC)
        asked = to_unix_micros(zoned) - to_unix_micros(at)
    return min(max(asked, 0), LONGEST_BACKOFF_MICROS)


def _doubled(first: int, count: int, longest: int) -> int:
    return min(longest, first << min(max(count - 1, 0), _MOST_DOUBLINGS))
