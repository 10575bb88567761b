"""Buckets by the clock of a place: no gap, no overlap, and the starts that the clock of the wall shows."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import DAY, HOUR, MINUTE, Granularity, bucket_of, format_utc, parse_utc
from domain.local_buckets import Buckets, buckets_between, local_midnight

STARTS: dict[str, tuple[str, Granularity, str, str, list[str]]] = {
    "S1: a day in Budapest starts the evening before": (
        "Europe/Budapest", "day", "2024-12-31T22:00Z", "2025-01-02T00:00Z",
        ["12-30T23:00", "12-31T23:00", "01-01T23:00"],
    ),
    "S2: a day of 23 hours": (
        "Europe/Budapest", "day", "2026-03-28T23:00Z", "2026-03-31T00:00Z",
        ["03-28T23:00", "03-29T22:00", "03-30T22:00"],
    ),
    "S2: a day of 25 hours": (
        "Europe/Budapest", "day", "2026-10-24T22:00Z", "2026-10-26T00:00Z", ["10-24T22:00", "10-25T23:00"],
    ),
    "an hour that comes twice": (
        "Europe/Budapest", "hour", "2026-10-25T00:00Z", "2026-10-25T02:30Z",
        ["10-25T00:00", "10-25T01:00", "10-25T02:00"],
    ),
    "a half-hour zone": (
        "Asia/Kolkata", "hour", "2026-05-03T10:00Z", "2026-05-03T12:00Z", ["05-03T09:30", "05-03T10:30", "05-03T11:30"],
    ),
    "3 quarters": ("Asia/Kathmandu", "day", "2026-05-03T10:00Z", "2026-05-04T00:00Z", ["05-02T18:15", "05-03T18:15"]),
    "Lord Howe, half an hour forward": (
        "Australia/Lord_Howe", "hour", "2026-10-03T14:00Z", "2026-10-03T17:00Z",
        ["10-03T13:30", "10-03T14:30", "10-03T15:30", "10-03T16:00"],
    ),
    "Lord Howe, half an hour back": (
        "Australia/Lord_Howe", "hour", "2026-04-04T14:00Z", "2026-04-04T16:00Z",
        ["04-04T14:00", "04-04T15:00", "04-04T15:30"],
    ),
    "a clock that is set within an hour, a minute after midnight": (
        "America/St_Johns", "hour", "2010-11-07T02:00Z", "2010-11-07T04:00Z",
        ["11-07T01:30", "11-07T02:30", "11-07T02:31", "11-07T03:30"],
    ),
    "a midnight that the clock jumps over": (
        "Africa/Cairo", "day", "2026-04-22T22:00Z", "2026-04-25T00:00Z", ["04-22T22:00", "04-23T22:00", "04-24T21:00"],
    ),
    "a midnight that comes twice": (
        "America/Havana", "day", "2026-10-31T04:00Z", "2026-11-02T06:00Z",
        ["10-31T04:00", "11-01T04:00", "11-02T05:00"],
    ),
    "a day that was left out": (
        "Pacific/Apia", "day", "2011-12-29T10:00Z", "2011-12-31T12:00Z", ["12-29T10:00", "12-30T10:00", "12-31T10:00"],
    ),
    "a minute is one everywhere": (
        "Asia/Kolkata", "minute", "2026-05-03T10:00Z", "2026-05-03T10:02Z", ["05-03T10:00", "05-03T10:01"],
    ),
    "UTC": ("", "day", "2026-05-03T10:00Z", "2026-05-04T10:00Z", ["05-03T00:00", "05-04T00:00"]),
}  # fmt: skip


@pytest.mark.parametrize(("zone", "granularity", "start", "end", "expected"), STARTS.values(), ids=STARTS)
def test_starts(zone: str, granularity: Granularity, start: str, end: str, expected: list[str]) -> None:
    """S1, S2."""
    first, last = parse_utc(start), parse_utc(end)
    buckets = buckets_between(first, last, granularity, ZoneInfo(zone) if zone else None)
    minutes = (first + index * MINUTE for index in range((last - first) // MINUTE))
    assert [format_utc(at)[5:16] for at in sorted({buckets.start_of(at) for at in minutes})] == expected


PLACES = [
    "Europe/Budapest",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Havana",
    "America/St_Johns",
    "Pacific/Apia",
]
INSTANTS = st.datetimes(datetime(2009, 1, 1), datetime(2030, 1, 1)).map(  # noqa: DTZ001 # made aware below
    lambda naive: parse_utc(f"{naive:%Y-%m-%dT%H:%M}Z")
)


@given(at=INSTANTS, place=st.sampled_from(PLACES), granularity=st.sampled_from(["hour", "day"]))
def test_every_minute_lies_in_a_bucket_of_its_own_day(at: datetime, place: str, granularity: Granularity) -> None:
    """Whatever the range is: a bucket starts at its own start, and its clock shows its hour or date."""
    zone = ZoneInfo(place)
    start = buckets_between(at, at + MINUTE, granularity, zone).start_of(at)
    assert start <= at < start + DAY + HOUR
    local, shown = at.astimezone(zone), start.astimezone(zone)
    assert (local.date(), local.hour if granularity == "hour" else 0) == (
        shown.date(), shown.hour if granularity == "hour" else 0,
    )  # fmt: skip
    wide = buckets_between(at - timedelta(days=400), at + timedelta(days=300), granularity, zone)
    assert wide.start_of(at) == wide.start_of(start) == start


def _split(place: str, granularity: Granularity) -> Buckets:
    return buckets_between(parse_utc("2026-01-01T00:00Z"), parse_utc("2027-01-01T00:00Z"), granularity, ZoneInfo(place))


def test_the_hours_that_buckets_split() -> None:
    assert _split("Europe/Budapest", "day").split_hours == frozenset()
    assert _split("Asia/Kolkata", "day").split_hours == {18}
    assert len(_split("Asia/Kolkata", "hour").split_hours) == 24
    assert _split("Australia/Lord_Howe", "day").split_hours == {13}


def test_midnight() -> None:
    """S2: the last day is a whole one, to the minute."""
    assert format_utc(local_midnight(date(2026, 5, 3), ZoneInfo("Asia/Kathmandu"))) == "2026-05-02T18:15:00Z"
    assert format_utc(local_midnight(date(2026, 5, 3), None)) == "2026-05-03T00:00:00Z"


@given(at=INSTANTS, granularity=st.sampled_from(["minute", "hour", "day"]))
def test_utc_is_the_buckets_that_are_kept(at: datetime, granularity: Granularity) -> None:
    assert buckets_between(at, at, granularity, None).start_of(at) == bucket_of(at, granularity)
