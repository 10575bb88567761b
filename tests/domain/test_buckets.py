"""Buckets of UTC instants, and instants as text."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import (
    BUCKET_LENGTH,
    HOUR,
    Granularity,
    bucket_of,
    day_of,
    format_utc,
    from_unix_micros,
    hour_of,
    hours_between,
    hours_by_day,
    minute_of,
    parse_utc,
    to_unix_micros,
)

AT = datetime(2026, 5, 4, 23, 59, 59, 999_999, tzinfo=UTC)
INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001


@given(INSTANTS)
def test_microseconds_since_1970_and_back(at: datetime) -> None:
    assert from_unix_micros(to_unix_micros(at)) == at
    assert to_unix_micros(at) == round(at.replace(microsecond=0).timestamp()) * 1_000_000 + at.microsecond


def test_starts_of_buckets() -> None:
    assert minute_of(AT) == datetime(2026, 5, 4, 23, 59, tzinfo=UTC)
    assert hour_of(AT) == datetime(2026, 5, 4, 23, tzinfo=UTC)
    assert day_of(AT) == datetime(2026, 5, 4, tzinfo=UTC)


@given(INSTANTS, st.sampled_from(get_args(Granularity)))
def test_an_instant_lies_in_its_bucket(at: datetime, granularity: Granularity) -> None:
    start = bucket_of(at, granularity)
    assert start <= at < start + BUCKET_LENGTH[granularity]
    assert bucket_of(start, granularity) == start


@given(INSTANTS)
def test_buckets_nest(at: datetime) -> None:
    assert day_of(hour_of(minute_of(at))) == day_of(at)
    assert hour_of(minute_of(at)) == hour_of(at)


def test_hours_of_a_range_exclude_its_end() -> None:
    start = datetime(2026, 5, 4, 22, tzinfo=UTC)
    assert list(hours_between(start, start + 3 * HOUR)) == [start, start + HOUR, start + 2 * HOUR]
    assert list(hours_between(start, start)) == []
    assert list(hours_between(start, start - HOUR)) == []


def test_a_day_has_24_hours_whatever_local_clocks_do() -> None:
    """O13: keys are UTC, so a change to winter time makes no 25th hour and loses none."""
    start = datetime(2026, 10, 25, tzinfo=UTC)
    assert len(set(hours_between(start, start + timedelta(days=1)))) == 24


def test_hours_are_grouped_by_utc_day_in_order() -> None:
    late, early, next_day = (datetime(2026, 5, 4, hour, tzinfo=UTC) for hour in (23, 1, 0))
    next_day += timedelta(days=1)
    assert list(hours_by_day([next_day, late, early]).items()) == [
        (date(2026, 5, 4), [early, late]),
        (date(2026, 5, 5), [next_day]),
    ]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-05-04T12:00:00Z", datetime(2026, 5, 4, 12, tzinfo=UTC)),
        ("2026-05-04T12:00:00.5Z", datetime(2026, 5, 4, 12, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-05-04T14:00:00+02:00", datetime(2026, 5, 4, 12, tzinfo=UTC)),
        ("2026-05-04T12Z", datetime(2026, 5, 4, 12, tzinfo=UTC)),
    ],
)
def test_instants_are_read(text: str, at: datetime) -> None:
    assert parse_utc(text) == at
    assert parse_utc(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "2026-05-04T12:00:00", "2026-05-04", "noon", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+01:00"],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever Python says of it
        parse_utc(text)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 5, 4, 12, tzinfo=UTC), "2026-05-04T12:00:00Z"),
        (datetime(2026, 5, 4, 12, 0, 0, 1, tzinfo=UTC), "2026-05-04T12:00:00.000001Z"),
        (datetime(2026, 5, 4, 14, tzinfo=timezone(timedelta(hours=2))), "2026-05-04T12:00:00Z"),
    ],
)
def test_instants_are_printed_one_way(at: datetime, text: str) -> None:
    assert format_utc(at) == text


@given(INSTANTS)
def test_printing_loses_nothing(at: datetime) -> None:
    assert parse_utc(format_utc(at)) == at
