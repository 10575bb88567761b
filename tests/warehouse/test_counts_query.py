"""What cannot be asked is refused with found, expected and remedy; what can be asked is read exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from domain.buckets import parse_utc
from domain.errors import UsageError
from warehouse.counts_query import MAX_ADS, MAX_BUCKETS, PARTS, CountsQuery, read_query

NAMES = {part: f"the {part}" for part in PARTS}
RANGE = {"from": "2026-05-03T10:00Z", "to": "2026-05-03T12:00Z"}
START, END = parse_utc(RANGE["from"]), parse_utc(RANGE["to"])
NOW = parse_utc("2026-06-01T00:00Z")


def _read(**given: str | None) -> CountsQuery:
    return read_query(RANGE | {name.rstrip("_"): text for name, text in given.items()}, NAMES, NOW)


READ: dict[str, tuple[dict[str, str], CountsQuery]] = {
    "defaults: by hour, a row an ad": ({}, CountsQuery(START, END, "hour", ("ad",))),
    "ads, in any order, repeated, with spaces": ({"ads": "3, 1,3"}, CountsQuery(START, END, ad_ids=frozenset({1, 3}))),
    "an empty list of ads is none, not all": ({"ads": ""}, CountsQuery(START, END, ad_ids=frozenset())),
    "spaces are an empty list": ({"ads": "  "}, CountsQuery(START, END, ad_ids=frozenset())),
    "campaign and advertiser": (
        {"campaign": "7", "advertiser": "8"},
        CountsQuery(START, END, campaign_id=7, advertiser_id=8),
    ),
    "the group is kept in one order": (
        {"group_by": "device,ad,country"},
        CountsQuery(START, END, group_by=("ad", "country", "device")),
    ),
    "an empty group: one row a bucket": ({"group_by": ""}, CountsQuery(START, END, group_by=())),
    "another zone is the same instant": ({"from": "2026-05-03T12:00+02:00"}, CountsQuery(START, END)),
    "an empty range": ({"to": "2026-05-03T10:00Z"}, CountsQuery(START, START)),
    "the largest id": ({"campaign": str(2**63 - 1)}, CountsQuery(START, END, campaign_id=2**63 - 1)),
}


@pytest.mark.parametrize(("given", "expected"), READ.values(), ids=READ)
def test_read(given: dict[str, str], expected: CountsQuery) -> None:
    assert _read(**{f"{name}_": text for name, text in given.items()}) == expected


REFUSED: dict[str, tuple[dict[str, str | None], str]] = {
    "no from": ({"from": None}, "no the from"),
    "no to": ({"to": None}, "no the to"),
    "no zone": ({"from": "2026-05-03T10:00"}, "the from '2026-05-03T10:00'"),
    "a day": ({"from": "2026-05-03"}, "the from '2026-05-03'"),
    "a plus that a URL turned into a space": ({"from": "2026-05-03T10:00 00:00"}, "the from '2026-05-03T10:00 00:00'"),
    "no instant": ({"to": "yesterday"}, "the to 'yesterday'"),
    "an empty instant": ({"to": ""}, "the to ''"),
    "before the calendar": ({"from": "0001-01-01T00:00+14:00"}, "the from '0001-01-01T00:00+14:00'"),
    "S5: within a minute": (
        {"from": "2026-05-03T10:00:00.999Z"},
        "from 2026-05-03T10:00:00.999000Z lies within a minute",
    ),
    "S5: within a minute, at the end": ({"to": "2026-05-03T12:00:01Z"}, "to 2026-05-03T12:00:01Z lies within a minute"),
    "reversed": ({"from": "2026-05-03T12:01Z"}, "from 2026-05-03T12:01:00Z lies after to 2026-05-03T12:00:00Z"),
    "before clicks": ({"from": "1999-12-31T23:59Z"}, "from 1999-12-31T23:59:00Z"),
    "after the calendar": ({"to": "9999-06-01T00:00Z"}, "to 9999-06-01T00:00:00Z"),
    "granularity": ({"granularity": "week"}, "the granularity 'week'"),
    "group": ({"group_by": "ad,planet"}, "the group_by 'planet'"),
    "a gap in the group": ({"group_by": "ad,,device"}, "the group_by ''"),
    "a gap in the ads": ({"ads": "1,,2"}, "the ads ''"),
    "ad zero": ({"ads": "0"}, "the ads '0'"),
    "a negative ad": ({"ads": "-1"}, "the ads '-1'"),
    "an ad beyond 64 bits": ({"ads": str(2**63)}, f"the ads '{2**63}'"),
    "an ad in other digits": ({"ads": "١"}, "the ads '١'"),
    "SQL": ({"campaign": "1 OR 1=1"}, "the campaign '1 OR 1=1'"),
    "an empty campaign": ({"campaign": ""}, "the campaign ''"),
    "an empty advertiser": ({"advertiser": ""}, "the advertiser ''"),
    "too many ads": ({"ads": ",".join(map(str, range(1, MAX_ADS + 2)))}, "1,001 ads"),
    "too many minutes": (
        {"granularity": "minute", "to": "2026-07-03T10:00Z"},
        "a range of 61 days by minute",
    ),
}


@pytest.mark.parametrize(("given", "found"), REFUSED.values(), ids=REFUSED)
def test_refused(given: dict[str, str | None], found: str) -> None:
    with pytest.raises(UsageError) as caught:
        _read(**{f"{name}_": text for name, text in given.items()})
    assert caught.value.found == found
    assert caught.value.expected
    assert caught.value.remedy


def test_the_longest_range_is_the_limit() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)
    assert CountsQuery(start, start + timedelta(minutes=MAX_BUCKETS), "minute")
    with pytest.raises(UsageError, match="at most 50,000 buckets, 34 days by minute"):
        CountsQuery(start, start + timedelta(minutes=MAX_BUCKETS + 1), "minute")


@pytest.mark.parametrize(
    "start",
    [datetime(2026, 5, 1), datetime(2026, 5, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))],  # noqa: DTZ001
    ids=["naive", "half-hour zone"],
)
def test_only_utc_is_computed_with(start: Any) -> None:
    """S1: a bucket is never shifted by an offset."""
    with pytest.raises(UsageError, match="is not UTC"):
        CountsQuery(start, END)
