"""UTC buckets: minute, hour and day starts, and the hours of a range.

Belongs here: arithmetic on aware UTC instants. Local days are sets of UTC minutes and are computed where they are
asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Literal

Granularity = Literal["minute", "hour", "day"]

MICROSECOND = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

BUCKET_LENGTH: dict[Granularity, timedelta] = {"minute": MINUTE, "hour": HOUR, "day": DAY}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def minute_of(at: datetime) -> datetime:
    """The start of the minute that ``at`` (aware, UTC) lies in."""
    return at.replace(second=0, microsecond=0)


def hour_of(at: datetime) -> datetime:
    """The start of the hour that ``at`` (aware, UTC) lies in."""
    return at.replace(minute=0, second=0, microsecond=0)


def day_of(at: datetime) -> datetime:
    """The start of the UTC day that ``at`` (aware, UTC) lies in."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def bucket_of(at: datetime, granularity: Granularity) -> datetime:
    """The start of the bucket of this granularity that ``at`` lies in."""
    match granularity:
        case "minute":
            return minute_of(at)
        case "hour":
            return hour_of(at)
        case "day":
            return day_of(at)


def hours_between(start: datetime, end: datetime) -> Iterator[datetime]:
    """Hour starts in the half-open range ``[start, end)``; both must be whole hours."""
    hour = start
    while hour < end:
        yield hour
        hour += HOUR


def hours_by_day(hours: list[datetime]) -> dict[date, list[datetime]]:
    """The hours grouped by their UTC date, both in ascending order: one group is one Spark run."""
    days: dict[date, list[datetime]] = {}
    for hour in sorted(hours):
        days.setdefault(hour.date(), []).append(hour)
    return days


def to_unix_micros(at: datetime) -> int:
    """Microseconds since 1970: how SQL is given an aware instant, so that no time zone gets in."""
    return (at - _EPOCH) // MICROSECOND


def from_unix_micros(unix_micros: int) -> datetime:
    """The aware UTC instant so many microseconds after 1970."""
    return _EPOCH + unix_micros * MICROSECOND


def parse_utc(text: str) -> datetime:
    """An aware UTC instant from ISO 8601 text that carries a zone; ``ValueError`` otherwise."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no zone")
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} lies beyond the years that can be told") from error


def format_utc(at: datetime) -> str:
    """ISO 8601 with ``Z``, whole seconds where there is no fraction: the one way instants are printed."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
