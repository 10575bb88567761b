"""What may be asked about counts: a checked question, and how it is read from text.

Belongs here: bounds and meaning of a question's parts, the same for the command line and the metrics API. Answering is
``warehouse/counts.py``; whose rows a caller may see is decided by the caller's room.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from domain.as_of import check_settled
from domain.buckets import BUCKET_LENGTH, Granularity, format_utc, minute_of, parse_utc
from domain.errors import UsageError
from domain.events import DEVICES, MAX_INT64
from domain.local_buckets import Buckets, buckets_between, local_midnight
from warehouse.time_zones import UTC_NAME, read_zone

GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)
DEFAULT_GRANULARITY: Granularity = "hour"
GroupKey = Literal["advertiser", "campaign", "ad", "country", "device"]
GROUP_COLUMN: dict[GroupKey, str] = {
    "advertiser": "advertiser_id",
    "campaign": "campaign_id",
    "ad": "ad_id",
    "country": "country",
    "device": "device",
}
"""What counts may be grouped by, and the column of each, in the order in which an answer is sorted."""
DEFAULT_GROUP_BY: tuple[GroupKey, ...] = ("ad",)

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)
MAX_BUCKETS = 50_000
"""Of one question's range: 34 days of minutes, 5 years of hours, 136 years of days."""
MAX_ADS = 1_000
MAX_COUNTRIES = 300

PARTS = (
    "ads",
    "campaign",
    "advertiser",
    "country",
    "device",
    "from",
    "to",
    "time_zone",
    "granularity",
    "group_by",
    "as_of",
)
"""The parts of a question in text form."""
_ID = re.compile(r"[0-9]{1,19}\Z")
_COUNTRY = re.compile(r"[A-Z]{2}\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


@dataclass(frozen=True)
class CountsQuery:
    """Clicks per bucket and group in ``[start, end)``, whole UTC minutes. ``UsageError`` if it cannot be asked.

    A filter that is None is not there; an empty set selects nothing, never everything. ``zone`` is whose hours and days
    are counted by; None is UTC. With ``as_of`` the question is what was final at that instant.
    """

    start: datetime
    end: datetime
    granularity: Granularity = DEFAULT_GRANULARITY
    group_by: tuple[GroupKey, ...] = DEFAULT_GROUP_BY
    ad_ids: frozenset[int] | None = None
    campaign_id: int | None = None
    advertiser_id: int | None = None
    as_of: datetime | None = None
    countries: frozenset[str] | None = None
    devices: frozenset[str] | None = None
    zone: ZoneInfo | None = None

    def __post_init__(self) -> None:
        _check_instant("from", self.start)
        _check_instant("to", self.end)
        _check_length(self.start, self.end, self.granularity)
        if self.ad_ids is not None and len(self.ad_ids) > MAX_ADS:
            raise UsageError(
                f"{len(self.ad_ids):,} ads", f"at most {MAX_ADS:,}", "ask in several parts, or for their campaign"
            )

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of the group, in the order in which the answer is sorted."""
        return tuple(column for name, column in GROUP_COLUMN.items() if name in self.group_by)

    @cached_property
    def buckets(self) -> Buckets:
        """The buckets of the range, by the clock of the zone."""
        return buckets_between(self.start, self.end, self.granularity, self.zone)

    @property
    def grain(self) -> Granularity:
        """The longest UTC bucket that lies in one bucket of the question, split hours set aside."""
        is_utc = not any(offset.ahead for offset in self.buckets.offsets)
        return self.granularity if is_utc or self.granularity == "minute" else "hour"

    @property
    def time_zone(self) -> str:
        """The zone's name."""
        return UTC_NAME if self.zone is None else self.zone.key


def read_query(given: Mapping[str, str | None], names: Mapping[str, str], now: datetime) -> CountsQuery:
    """A question from text. ``given`` goes by ``PARTS``; ``names`` says what the person who typed it calls each part.

    ``UsageError`` names the part that is wrong; an ``as_of`` that is not over at ``now`` is.
    """
    text = {part: value for part, value in given.items() if value is not None}
    for part in ("from", "to"):
        if part not in text:
            raise UsageError(f"no {names[part]}", "a UTC minute such as 2026-01-31T13:00Z", "give it")
    zone = read_zone(names["time_zone"], text["time_zone"]) if "time_zone" in text else None
    has_days = "time_zone" in text
    return CountsQuery(
        start=_read_edge(names["from"], text["from"], zone, has_days),
        end=_read_edge(names["to"], text["to"], zone, has_days),
        granularity=_read_granularity(names["granularity"], text.get("granularity", DEFAULT_GRANULARITY)),
        group_by=_read_group(names["group_by"], text["group_by"]) if "group_by" in text else DEFAULT_GROUP_BY,
        ad_ids=_read_ids(names["ads"], text["ads"]) if "ads" in text else None,
        campaign_id=read_id(names["campaign"], text["campaign"]) if "campaign" in text else None,
        advertiser_id=read_id(names["advertiser"], text["advertiser"]) if "advertiser" in text else None,
        as_of=_read_past_instant(names["as_of"], text["as_of"], now) if "as_of" in text else None,
        countries=_read_countries(names["country"], text["country"]) if "country" in text else None,
        devices=_read_devices(names["device"], text["device"]) if "device" in text else None,
        zone=zone,
    )


def read_id(name: str, text: str) -> int:
    """The id of an ad, a campaign or an advertiser; ``UsageError`` otherwise."""
    if _ID.match(text.strip()) and 1 <= int(text) <= MAX_INT64:
        return int(text)
    raise UsageError(f"{name} {text!r}", f"a whole number from 1 to {MAX_INT64}", "correct it")


def _read_ids(name: str, text: str) -> frozenset[int]:
    return frozenset(read_id(name, part) for part in _listed(text))


def _read_countries(name: str, text: str) -> frozenset[str]:
    codes = frozenset(part.strip() for part in _listed(text))
    wrong = sorted(code for code in codes if not _COUNTRY.match(code))
    if wrong or len(codes) > MAX_COUNTRIES:
        found = f"{name} {wrong[0]!r}" if wrong else f"{len(codes):,} countries"
        raise UsageError(found, f"up to {MAX_COUNTRIES} codes of two capital letters such as DE, or ZZ", "correct it")
    return codes


def _read_devices(name: str, text: str) -> frozenset[str]:
    devices = frozenset(part.strip() for part in _listed(text))
    wrong = sorted(devices - set(DEVICES))
    if wrong:
        raise UsageError(f"{name} {wrong[0]!r}", f"any of {', '.join(DEVICES)}", "correct it")
    return devices


def _listed(text: str) -> list[str]:
    """What stands between commas; nothing is an empty list, and a filter that nothing passes."""
    return text.split(",") if text.strip() else []


def _read_edge(name: str, text: str, zone: ZoneInfo | None, has_days: bool) -> datetime:
    """An instant or, where a zone was named, a date: the start of that day there."""
    if not (has_days and _DATE.match(text)):
        return _read_instant(name, text)
    try:
        return local_midnight(date.fromisoformat(text), zone)
    except (ValueError, OverflowError):
        raise UsageError(f"{name} {text!r}", "a date of the calendar such as 2026-01-31", "correct it") from None


def _read_instant(name: str, text: str) -> datetime:
    try:
        return parse_utc(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{name} {text!r}",
            "an instant with its zone, such as 2026-01-31T13:00Z, or a date where a time zone is named",
            "correct it",
        ) from None


def _read_past_instant(name: str, text: str, now: datetime) -> datetime:
    at = _read_instant(name, text)
    check_settled(name, at, now)
    return at


def _read_granularity(name: str, text: str) -> Granularity:
    for granularity in GRANULARITIES:
        if text == granularity:
            return granularity
    raise UsageError(f"{name} {text!r}", f"one of {', '.join(GRANULARITIES)}", "correct it")


def _read_group(name: str, text: str) -> tuple[GroupKey, ...]:
    """The keys in the order of ``GROUP_COLUMN``, whatever the order they were typed in."""
    parts = {part.strip() for part in text.split(",")} if text.strip() else set()
    unknown = parts - set(GROUP_COLUMN)
    if unknown:
        expected = f"any of {', '.join(GROUP_COLUMN)}, or nothing for one row a bucket"
        raise UsageError(f"{name} {', '.join(sorted(unknown))!r}", expected, "correct it")
    return tuple(key for key in GROUP_COLUMN if key in parts)


def _check_instant(name: str, at: datetime) -> None:
    if at.utcoffset() != timedelta(0):
        raise UsageError(f"{name} {at.isoformat()} is not UTC", "an instant in UTC", "convert it")
    if at != minute_of(at):
        raise UsageError(
            f"{name} {format_utc(at)} lies within a minute",
            "the start of a minute, since counts are kept by the minute",
            f"ask for {format_utc(minute_of(at))} or the minute after",
        )
    if not EARLIEST <= at <= LATEST:
        raise UsageError(
            f"{name} {format_utc(at)}", f"an instant from {format_utc(EARLIEST)} to {format_utc(LATEST)}", "correct it"
        )


def _check_length(start: datetime, end: datetime, granularity: Granularity) -> None:
    if end < start:
        raise UsageError(
            f"from {format_utc(start)} lies after to {format_utc(end)}", "from before to", "exchange the two"
        )
    longest = MAX_BUCKETS * BUCKET_LENGTH[granularity]
    if end - start > longest:
        raise UsageError(
            f"a range of {(end - start).days:,} days by {granularity}",
            f"at most {MAX_BUCKETS:,} buckets, {longest.days:,} days by {granularity}",
            "shorten the range or take a coarser granularity",
        )
