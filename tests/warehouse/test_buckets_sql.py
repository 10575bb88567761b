"""SQL over runs says what the rule in Python says, and whole answers what brute force over minutes does."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import timedelta
from zoneinfo import ZoneInfo

import duckdb
import pytest

from domain.buckets import HOUR, MINUTE, Granularity, hour_of, parse_utc, to_unix_micros
from domain.errors import UsageError
from domain.local_buckets import buckets_between
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables, Versions, counts_tables, hours
from warehouse.buckets_sql import bucket_sql, is_split_sql, text_sql
from warehouse.counts import CountsReader
from warehouse.counts_query import PARTS, CountsQuery, read_query

SPANS = {
    "Lord Howe sets its clock by half an hour": ("Australia/Lord_Howe", "2026-10-02T00:00Z"),
    "Budapest, 25 hours": ("Europe/Budapest", "2026-10-24T00:00Z"),
    "Kathmandu": ("Asia/Kathmandu", "2026-05-03T00:00Z"),
    "behind UTC": ("America/St_Johns", "2026-03-07T00:00Z"),
}


@pytest.mark.parametrize("granularity", ["minute", "hour", "day"])
@pytest.mark.parametrize(("place", "first"), SPANS.values(), ids=SPANS)
def test_sql_is_the_rule(place: str, first: str, granularity: Granularity) -> None:
    """S1, S2."""
    zone, start = ZoneInfo(place), parse_utc(first)
    minutes = [start + index * MINUTE for index in range(60 * 60)]
    buckets = buckets_between(start, minutes[-1], granularity, zone)
    columns = f"{bucket_sql('us', buckets)}, {is_split_sql('us', buckets)}, {text_sql('us', buckets)}"
    span = f"range({to_unix_micros(start)}, {to_unix_micros(minutes[-1]) + 1}, {MINUTE.seconds * 1_000_000})"
    found = duckdb.sql(f"SELECT {columns} FROM {span} AS minutes(us) ORDER BY us").fetchall()
    assert found == [
        (
            to_unix_micros(buckets.start_of(at)),
            buckets.start_of(hour_of(at)) != buckets.start_of(hour_of(at) + HOUR - MINUTE),
            at.astimezone(zone).isoformat(),
        )
        for at in minutes
    ]


FIRST = parse_utc("2026-10-02T20:00Z")
FINAL_HOURS, ALL_HOURS = 60, 72
"""Over the night in which Lord Howe sets its clock by half an hour; the last hours are live."""
PLACES = ["Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Europe/Budapest", "America/St_Johns", "UTC"]
NAMES = {part: part for part in PARTS}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[CountsReader, list[Clicks]]:
    tables = counts_tables(tmp_path_factory.mktemp("zones") / "home")
    random.seed(7)
    rows = [
        Clicks(FIRST + index * MINUTE, random.randint(1, 9), country=random.choice(["DE", "FR", "ZZ"]), device=device)
        for index in range(0, ALL_HOURS * 60, 5)
        for device in ("mobile", "desktop")
    ]
    until = FIRST + FINAL_HOURS * HOUR
    tables.write_live([row for row in rows if row.at >= until])
    tables.settle([row for row in rows if row.at < until], hours("2026-10-02T20:00Z", FINAL_HOURS))
    return CountsReader(tables.settings), rows


@pytest.mark.parametrize("granularity", ["minute", "hour", "day"])
@pytest.mark.parametrize("place", PLACES)
def test_brute_force(world: tuple[CountsReader, list[Clicks]], place: str, granularity: Granularity) -> None:
    """S1, S2: each click in the bucket that the clock on the wall shows, none twice, final as whole buckets are."""
    reader, rows = world
    zone, until = ZoneInfo(place), FIRST + FINAL_HOURS * HOUR
    start, end = FIRST + timedelta(hours=2, minutes=7), FIRST + timedelta(hours=70, minutes=23)
    buckets = buckets_between(start, end, granularity, zone)
    expected: Counter[str] = Counter()
    for row in rows:
        if start <= row.at < end:
            expected[buckets.start_of(row.at).astimezone(zone).isoformat()] += row.clicks
    query = CountsQuery(start, end, granularity, (), zone=None if place == "UTC" else zone)
    found = reader.answer(query)
    assert {row["bucket"].astimezone(zone).isoformat(): row["clicks"] for row in found.rows} == expected
    for row in found.rows:
        last = buckets.start_of(until)
        assert row["final"] == (FIRST <= row["bucket"] < last)


def test_split_hours_come_from_minutes_and_all_others_from_hours(settings: Settings) -> None:
    """The tables disagree here, as they never may, to show which of them was read."""
    tables = CountsTables(settings)
    tables.write_live([])
    tables.seal(hours("2026-05-01T00:00Z", 96))
    rows = [Clicks("2026-05-02T18:10Z", 1), Clicks("2026-05-02T18:40Z", 2), Clicks("2026-05-02T19:00Z", 4)]
    minute = tables.write_final_minute(rows)
    hour = tables.write_final_hour([row._replace(clicks=row.clicks * 100) for row in rows])
    day = tables.write_final_day([row._replace(clicks=row.clicks * 10_000) for row in rows])
    tables.publish(Versions(minute, hour, day))

    def clicks(place: str) -> list[int]:
        given = {"from": "2026-05-02", "to": "2026-05-04", "time_zone": place, "granularity": "day", "group_by": ""}
        return [row["clicks"] for row in CountsReader(settings).answer(read_query(given, NAMES, FIRST)).rows]

    assert clicks("Asia/Kolkata") == [1, 2 + 400]
    assert clicks("Europe/Budapest") == [300 + 400]
    assert clicks("Africa/Abidjan") == clicks("UTC") == [70_000]


def test_last_day_is_billed_once(settings: Settings) -> None:
    """S2: to the end of a local month, the last day in, the first of the next out."""
    tables = CountsTables(settings)
    tables.write_live([Clicks("2026-04-30T21:59Z", 1), Clicks("2026-04-30T22:00Z", 2), Clicks("2026-05-31T21:59Z", 4)])
    given = {"from": "2026-05-01", "to": "2026-06-01", "time_zone": "Europe/Budapest", "granularity": "day"}
    answer = CountsReader(settings).answer(read_query(given, NAMES, FIRST))
    document = json.loads(b"".join(answer.json_chunks()))
    assert [(row["bucket"], row["clicks"]) for row in document["rows"]] == [
        ("2026-05-01T00:00:00+02:00", 2),
        ("2026-05-31T00:00:00+02:00", 4),
    ]
    assert (document["from"], document["time_zone"]) == ("2026-04-30T22:00:00Z", "Europe/Budapest")


FILTERED: dict[str, tuple[dict[str, str], int]] = {
    "one country": ({"country": "DE"}, 1 + 2),
    "two": ({"country": "FR, DE"}, 1 + 2 + 4),
    "S3: no country": ({"country": ""}, 0),
    "a device": ({"device": "desktop"}, 2),
    "S3: no device": ({"device": " "}, 0),
    "both": ({"device": "mobile", "country": "FR,ZZ"}, 4),
}


@pytest.mark.parametrize(("given", "expected"), FILTERED.values(), ids=FILTERED)
def test_filters(settings: Settings, given: dict[str, str], expected: int) -> None:
    """S3: an empty list is nothing, never everything."""
    tables = CountsTables(settings)
    at = "2026-05-03T10:00Z"
    tables.write_live([Clicks(at, 1), Clicks(at, 2, device="desktop"), Clicks(at, 4, country="FR")])
    asked = {"from": "2026-05-03T00:00Z", "to": "2026-05-04T00:00Z"} | given
    assert sum(row["clicks"] for row in CountsReader(settings).answer(read_query(asked, NAMES, FIRST)).rows) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"country": "de"},
        {"country": "DEU"},
        {"country": "DE,"},
        {"device": "phone"},
        {"time_zone": "CEST"},
        {"time_zone": "UTC", "from": "2026-02-30"},
    ],
)
def test_what_cannot_be_asked(given: dict[str, str]) -> None:
    asked = {"from": "2026-05-03T00:00Z", "to": "2026-05-04T00:00Z"} | given
    with pytest.raises(UsageError) as caught:
        read_query(asked, NAMES, FIRST)
    assert list(given)[-1] in caught.value.found
