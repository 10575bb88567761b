"""A range is cut without gap or overlap, final figures come by the coarsest grain, nothing final from live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.buckets import BUCKET_LENGTH, HOUR, MINUTE, Granularity, bucket_of, parse_utc
from warehouse.ranges import (
    ATTEMPT_TABLE,
    FINAL_TABLE,
    LIVE_TABLE,
    FinalRange,
    Slice,
    by_split_hours,
    cut,
    from_attempts,
)

Cut = list[tuple[str, str, str]]
GRAIN = {table: grain for grain, table in FINAL_TABLE.items()}
LONG_FINAL = FinalRange(parse_utc("2026-05-01T00:00Z"), parse_utc("2026-06-01T00:00Z"))
SHORT_FINAL = FinalRange(parse_utc("2026-05-03T10:00Z"), parse_utc("2026-05-04T02:00Z"))


def _cut(start: str, end: str, granularity: Granularity, final: FinalRange | None) -> Cut:
    slices = cut(parse_utc(start + "Z"), parse_utc(end + "Z"), granularity, final)
    return [(part.table, f"{part.start:%dT%H:%M}", f"{part.end:%dT%H:%M}") for part in slices]


CASES: dict[str, tuple[Cut, Cut]] = {
    "nothing is published": (
        _cut("2026-05-03T10:05", "2026-05-03T12:00", "hour", None),
        [("live_clicks_minute", "03T10:05", "03T12:00")],
    ),
    "an empty range": (_cut("2026-05-03T10:05", "2026-05-03T10:05", "hour", LONG_FINAL), []),
    "whole days come from the day table": (
        _cut("2026-05-03T00:00", "2026-05-06T00:00", "day", LONG_FINAL),
        [("final_clicks_day", "03T00:00", "06T00:00")],
    ),
    "edges of days come from hours, edges of hours from minutes": (
        _cut("2026-05-03T22:58", "2026-05-05T01:02", "day", LONG_FINAL),
        [
            ("final_clicks_minute", "03T22:58", "03T23:00"),
            ("final_clicks_hour", "03T23:00", "04T00:00"),
            ("final_clicks_day", "04T00:00", "05T00:00"),
            ("final_clicks_hour", "05T00:00", "05T01:00"),
            ("final_clicks_minute", "05T01:00", "05T01:02"),
        ],
    ),
    "by hour, a day is never read": (
        _cut("2026-05-03T00:00", "2026-05-06T00:00", "hour", LONG_FINAL),
        [("final_clicks_hour", "03T00:00", "06T00:00")],
    ),
    "by minute, only minutes are read": (
        _cut("2026-05-03T00:00", "2026-05-06T00:00", "minute", LONG_FINAL),
        [("final_clicks_minute", "03T00:00", "06T00:00")],
    ),
    "inside one hour": (
        _cut("2026-05-03T11:10", "2026-05-03T11:20", "day", LONG_FINAL),
        [("final_clicks_minute", "03T11:10", "03T11:20")],
    ),
    "across a full hour but without one": (
        _cut("2026-05-03T10:50", "2026-05-03T11:10", "hour", LONG_FINAL),
        [("final_clicks_minute", "03T10:50", "03T11:10")],
    ),
    "live before the first sealed hour and from final_until on": (
        _cut("2026-05-03T00:00", "2026-05-05T00:00", "day", SHORT_FINAL),
        [
            ("live_clicks_minute", "03T00:00", "03T10:00"),
            ("final_clicks_hour", "03T10:00", "04T02:00"),
            ("live_clicks_minute", "04T02:00", "05T00:00"),
        ],
    ),
    "all before the first sealed hour": (
        _cut("2026-05-02T00:00", "2026-05-03T10:00", "day", SHORT_FINAL),
        [("live_clicks_minute", "02T00:00", "03T10:00")],
    ),
    "all after final_until": (
        _cut("2026-05-04T02:00", "2026-05-05T00:00", "day", SHORT_FINAL),
        [("live_clicks_minute", "04T02:00", "05T00:00")],
    ),
}


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES)
def test_cut(found: Cut, expected: Cut) -> None:
    assert found == expected


FIRST = datetime(2026, 5, 1, tzinfo=UTC)
minutes = st.integers(0, 5 * 24 * 60)
hours = st.integers(0, 5 * 24)


@given(minutes, minutes, hours, hours, st.sampled_from(["minute", "hour", "day"]))
def test_slices_cover_the_range_once(start: int, end: int, sealed: int, until: int, granularity: Granularity) -> None:
    start, end = sorted((start, end))
    sealed, until = sorted((sealed, until))
    final = FinalRange(FIRST + timedelta(hours=sealed), FIRST + timedelta(hours=until)) if sealed < until else None
    slices = cut(FIRST + start * MINUTE, FIRST + end * MINUTE, granularity, final)
    assert sum((part.end - part.start for part in slices), timedelta(0)) == (end - start) * MINUTE
    assert all(before.end <= after.start for before, after in pairwise(slices))
    assert all(_is_right_table(part, granularity, final) for part in slices)


def _is_right_table(part: Slice, granularity: Granularity, final: FinalRange | None) -> bool:
    is_within = final is not None and final.start <= part.start and part.end <= final.until
    if part.table == LIVE_TABLE:
        return final is None or part.end <= final.start or part.start >= final.until
    grain = GRAIN[part.table]
    is_whole = part.start == bucket_of(part.start, grain) and part.end == bucket_of(part.end, grain)
    return is_within and is_whole and BUCKET_LENGTH[grain] <= BUCKET_LENGTH[granularity]


def test_split_hours_stay_apart_where_minutes_are_gone() -> None:
    """No hour counts twice: what is read from attempts instead is the same hours, split or whole."""
    first = parse_utc("2026-05-03T00:00Z")
    hours = [first + index * HOUR for index in range(4)]
    whole = Slice(FINAL_TABLE["hour"], first, first + 4 * HOUR)
    slices = by_split_hours([whole], {18})
    assert [(part.table, part.hours) for part in slices] == [
        (FINAL_TABLE["hour"], "whole"),
        (FINAL_TABLE["minute"], "split"),
    ]
    gone = {FINAL_TABLE["hour"]: hours[1:2], FINAL_TABLE["minute"]: hours[1:3]}
    found = from_attempts(slices, gone, {hour: f"of {hour.hour}" for hour in hours})
    assert [(part.table, part.start.hour, part.end.hour, part.hours, part.attempts) for part in found] == [
        (FINAL_TABLE["hour"], 0, 1, "whole", None),
        (ATTEMPT_TABLE, 1, 2, "whole", {"of 1"}),
        (FINAL_TABLE["hour"], 2, 4, "whole", None),
        (FINAL_TABLE["minute"], 0, 1, "split", None),
        (ATTEMPT_TABLE, 1, 3, "split", {"of 1", "of 2"}),
        (FINAL_TABLE["minute"], 3, 4, "split", None),
    ]
    assert by_split_hours([whole], frozenset(range(24))) == (Slice(FINAL_TABLE["minute"], first, first + 4 * HOUR),)
