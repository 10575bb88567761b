"""One answer is one publication: exact rows, final or live, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from domain.buckets import HOUR, MINUTE, format_utc, parse_utc
from domain.errors import IntegrityError
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables, Versions, brute_force, counts_tables, hours
from tests.support.periods import NOVEMBER, close_month, settle_month
from warehouse.counts import CountsReader
from warehouse.counts_query import GRANULARITIES, PARTS, CountsQuery, read_query
from warehouse.counts_sql import AnswerTooLargeError
from warehouse.layout import TableMissingError

Row = tuple[object, ...]
NAMES = {part: part for part in PARTS}
NOW = parse_utc("2026-06-01T00:00Z")
ALL_DAY = {"from": "2026-05-03T00:00Z", "to": "2026-05-04T00:00Z"}


@pytest.fixture
def tables(settings: Settings) -> CountsTables:
    return CountsTables(settings)


def _query(**given: str) -> CountsQuery:
    return read_query(ALL_DAY | {"group_by": ""} | {name.rstrip("_"): text for name, text in given.items()}, NAMES, NOW)


def _rows(tables: CountsTables, **given: str) -> list[Row]:
    return _flat(CountsReader(tables.settings).answer(_query(**given)).rows)


def _flat(rows: Iterable[dict[str, Any]]) -> list[Row]:
    """``(bucket without its date, ..., clicks, final or live)``."""
    return [
        (format_utc(row["bucket"])[8:16], *list(row.values())[1:-1], "final" if row["final"] else "live")
        for row in rows
    ]


LIVE = [
    Clicks("2026-05-03T08:59Z", 1),
    Clicks("2026-05-03T09:00Z", 2),
    Clicks("2026-05-03T10:30Z", 40),  # stale: the batch counted 4
    Clicks("2026-05-03T11:15Z", 7),  # stale: the batch has nothing for it
    Clicks("2026-05-03T12:00Z", 8),
    Clicks("2026-05-03T12:01Z", 16, country="FR"),
    Clicks("2026-05-03T13:59Z", 32, ad=2, campaign=200),
]
FINAL = [
    Clicks("2026-05-03T10:00Z", 100),
    Clicks("2026-05-03T10:30Z", 4),
    Clicks("2026-05-03T10:30Z", 5, country="FR"),
    Clicks("2026-05-03T10:30Z", 6, ad=2, campaign=200, device="tablet"),
    Clicks("2026-05-03T13:00Z", 500),  # sealed behind a hole: 12:00 is not
]
SEALED = [*hours("2026-05-03T10:00Z", 2), *hours("2026-05-03T13:00Z", 1)]
"""final is [10:00, 12:00)"""

ANSWERS: dict[str, tuple[dict[str, str], list[Row]]] = {
    "by hour": (
        {},
        [
            ("03T08:00", 1, "live"),
            ("03T09:00", 2, "live"),
            ("03T10:00", 100 + 4 + 5 + 6, "final"),
            ("03T12:00", 8 + 16, "live"),
            ("03T13:00", 32, "live"),
        ],
    ),
    "by minute": (
        {"granularity": "minute"},
        [
            ("03T08:59", 1, "live"),
            ("03T09:00", 2, "live"),
            ("03T10:00", 100, "final"),
            ("03T10:30", 4 + 5 + 6, "final"),
            ("03T12:00", 8, "live"),
            ("03T12:01", 16, "live"),
            ("03T13:59", 32, "live"),
        ],
    ),
    "a day that straddles final_until sums both and is not final": (
        {"granularity": "day"},
        [("03T00:00", 1 + 2 + 115 + 8 + 16 + 32, "live")],
    ),
    "by ad": (
        {"group_by": "ad"},
        [
            ("03T08:00", 1, 1, "live"),
            ("03T09:00", 1, 2, "live"),
            ("03T10:00", 1, 100 + 4 + 5, "final"),
            ("03T10:00", 2, 6, "final"),
            ("03T12:00", 1, 8 + 16, "live"),
            ("03T13:00", 2, 32, "live"),
        ],
    ),
    "by everything, in one order": (
        {"group_by": "device,country,ad,campaign,advertiser", "from": "2026-05-03T10:00Z", "to": "2026-05-03T11:00Z"},
        [
            ("03T10:00", 10, 100, 1, "DE", "mobile", 104, "final"),
            ("03T10:00", 10, 100, 1, "FR", "mobile", 5, "final"),
            ("03T10:00", 10, 200, 2, "DE", "tablet", 6, "final"),
        ],
    ),
    "the end is not part of the range": ({"to": "2026-05-03T09:00Z"}, [("03T08:00", 1, "live")]),
    "the start is": ({"from": "2026-05-03T09:00Z", "to": "2026-05-03T10:00Z"}, [("03T09:00", 2, "live")]),
    "an edge counts what lies inside": (
        {"from": "2026-05-03T10:30Z", "to": "2026-05-03T12:01Z"},
        [("03T10:00", 15, "final"), ("03T12:00", 8, "live")],
    ),
    "an empty range": ({"to": "2026-05-03T00:00Z"}, []),
    "one ad": ({"ads": "2"}, [("03T10:00", 6, "final"), ("03T13:00", 32, "live")]),
    "ads that have no clicks": ({"ads": "3,4"}, []),
    "S3: no ads are not all ads": ({"ads": ""}, []),
    "one campaign": ({"campaign": "200"}, [("03T10:00", 6, "final"), ("03T13:00", 32, "live")]),
    "filters narrow each other": ({"campaign": "200", "ads": "1"}, []),
    "another advertiser": ({"advertiser": "11"}, []),
}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> CountsTables:
    """``LIVE``, and ``FINAL`` published; for tests that only read."""
    tables = counts_tables(tmp_path_factory.mktemp("story") / "home")
    tables.write_live(LIVE)
    tables.settle(FINAL, SEALED)
    return tables


@pytest.mark.parametrize(("given", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answer(story: CountsTables, given: dict[str, str], expected: list[Row]) -> None:
    """F3: what is final comes from sealed rows only. F4, D5: the stream's stale row is gone once its hour is final."""
    assert _rows(story, **{f"{name}_": text for name, text in given.items()}) == expected


def test_before_the_first_publication_everything_is_live(tables: CountsTables) -> None:
    tables.write_live(LIVE)
    tables.write_final(FINAL)
    tables.seal(SEALED)
    answer = CountsReader(tables.settings).answer(_query(granularity="day"))
    assert _flat(answer.rows) == [("03T00:00", 1 + 2 + 40 + 7 + 8 + 16 + 32, "live")]
    assert (answer.finality.final_until, answer.finality.publication_number) == (None, None)


def test_a_sealed_hour_without_clicks_is_final_and_empty(tables: CountsTables) -> None:
    """F4: the batch has nothing for a key; the stream's row is gone."""
    tables.write_live([Clicks("2026-05-03T10:30Z", 3)])
    tables.settle([], hours("2026-05-03T10:00Z", 1))
    for granularity in ("minute", "hour", "day"):
        assert _rows(tables, granularity=granularity) == []


def test_a_day_is_final_when_all_of_it_is(tables: CountsTables) -> None:
    tables.write_live([])
    tables.settle([Clicks("2026-05-03T10:30Z", 3)], hours("2026-05-03T00:00Z", 23))
    assert _rows(tables, granularity="day") == [("03T00:00", 3, "live")]
    tables.settle([Clicks("2026-05-03T10:30Z", 3)], hours("2026-05-03T23:00Z", 1))
    assert _rows(tables, granularity="day") == [("03T00:00", 3, "final")]


def test_days_come_from_the_day_table_where_they_are_whole(tables: CountsTables) -> None:
    """The three tables disagree here, as they never may, to show which of them was read."""
    tables.write_live([])
    tables.seal(hours("2026-05-02T00:00Z", 49))
    minute = tables.write_final_minute([Clicks("2026-05-03T10:30Z", 1), Clicks("2026-05-04T00:30Z", 1)])
    hour = tables.write_final_hour([Clicks("2026-05-03T10:30Z", 20), Clicks("2026-05-04T00:30Z", 20)])
    day = tables.write_final_day([Clicks("2026-05-03T10:30Z", 300), Clicks("2026-05-04T00:30Z", 300)])
    tables.publish(Versions(minute, hour, day))
    long = {"granularity": "day", "to": "2026-05-04T02:00Z"}
    assert _rows(tables, **long) == [("03T00:00", 300, "final"), ("04T00:00", 20, "live")]
    assert _rows(tables, **long | {"from_": "2026-05-03T01:00Z"}) == [
        ("03T00:00", 20, "final"),
        ("04T00:00", 20, "live"),
    ]
    assert _rows(tables, from_="2026-05-03T10:01Z", to="2026-05-03T10:59Z") == [("03T10:00", 1, "final")]


def test_an_answer_names_what_it_was_made_of(tables: CountsTables) -> None:
    live_version = tables.write_live(LIVE)
    tables.settle(FINAL, SEALED)
    tables.settle(FINAL, [])
    answer = CountsReader(tables.settings).answer(_query())
    assert answer.live_version == live_version
    assert answer.finality.document() == {
        "publication_number": 2,
        "final_from": "2026-05-03T10:00:00Z",
        "final_until": "2026-05-03T12:00:00Z",
        "closed_until": None,
    }
    assert CountsReader(tables.settings).finality() == answer.finality


def test_what_is_written_but_not_published_is_not_seen(tables: CountsTables) -> None:
    """Law 8: a publisher writes minute, then hour, then day; until it publishes, each answer is as before."""
    before, after = [Clicks("2026-05-03T10:30Z", 3)], [Clicks("2026-05-03T10:30Z", 5), Clicks("2026-05-03T11:00Z", 7)]
    tables.write_live([])
    tables.settle(before, hours("2026-05-03T10:00Z", 1))
    reader = CountsReader(tables.settings)

    def by_grain() -> list[list[Row]]:
        """By the reader that has answered before, and by one that opens every table anew."""
        kept, fresh = (
            [_flat(each.answer(_query(granularity=grain)).rows) for grain in GRANULARITIES]
            for each in (reader, CountsReader(tables.settings))
        )
        assert kept == fresh
        return fresh

    first = by_grain()
    assert first == [[("03T10:30", 3, "final")], [("03T10:00", 3, "final")], [("03T00:00", 3, "live")]]
    tables.seal(hours("2026-05-03T11:00Z", 1))
    minute = tables.write_final_minute(after)
    assert by_grain() == first
    hour = tables.write_final_hour(after)
    assert by_grain() == first
    day = tables.write_final_day(after)
    assert by_grain() == first
    tables.publish(Versions(minute, hour, day))
    assert by_grain() == [
        [("03T10:30", 5, "final"), ("03T11:00", 7, "final")],
        [("03T10:00", 5, "final"), ("03T11:00", 7, "final")],
        [("03T00:00", 12, "live")],
    ]


def test_a_publication_that_became_visible_shows_whole(tables: CountsTables) -> None:
    """Law 8: a whole day, read by day and by hour, is one publication's, before and after."""
    tables.write_live([])
    day = hours("2026-05-03T00:00Z", 24)
    tables.settle([Clicks("2026-05-03T10:30Z", 3)], day)
    reader = CountsReader(tables.settings)
    newer = tables.write_final([Clicks("2026-05-03T10:30Z", 4)])
    assert [row["clicks"] for row in reader.answer(_query(granularity="day")).rows] == [3]
    tables.publish(newer)
    assert [row["clicks"] for row in reader.answer(_query(granularity="day")).rows] == [4]


def test_an_hour_sealed_before_the_first_counts_once_it_is_published(tables: CountsTables) -> None:
    tables.write_live(LIVE)
    tables.settle(FINAL, SEALED)
    first = _rows(tables, to="2026-05-03T10:00Z")
    assert first == [("03T08:00", 1, "live"), ("03T09:00", 2, "live")]
    tables.seal(hours("2026-05-03T09:00Z", 1))
    versions = tables.write_final([Clicks("2026-05-03T09:00Z", 9), *FINAL])
    assert _rows(tables, to="2026-05-03T10:00Z") == first
    tables.publish(versions)
    assert _rows(tables, to="2026-05-03T10:00Z") == [("03T08:00", 1, "live"), ("03T09:00", 9, "final")]


DAYS = 3
WORLDS = range(2)


@pytest.fixture(scope="module", params=WORLDS)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[CountsReader, list[Clicks]]:
    """Some days of random figures, final in the middle; and the rows that an answer should add up."""
    random = Random(request.param)
    tables = counts_tables(tmp_path_factory.mktemp("world") / "home")
    live, final = ([_random_clicks(random) for _ in range(400)] for _ in range(2))
    first, last = sorted(random.sample(range(DAYS * 24 + 1), 2))
    start = parse_utc("2026-05-03T00:00Z")
    tables.write_live(_distinct(live))
    tables.settle(_distinct(final), [start + hour * HOUR for hour in range(first, last)])
    is_final = {row: start + first * HOUR <= row.at < start + last * HOUR for row in (*live, *final)}
    rows = [row for row in _distinct(final) if is_final[row]] + [row for row in _distinct(live) if not is_final[row]]
    return CountsReader(tables.settings), rows


def _random_clicks(random: Random) -> Clicks:
    at = parse_utc("2026-05-03T00:00Z") + random.randrange(DAYS * 24 * 60) * MINUTE
    return Clicks(at, random.randint(1, 9), random.randint(1, 3), country=random.choice(["DE", "FR"]))


def _distinct(rows: Iterable[Clicks]) -> list[Clicks]:
    """One row a key, as the tables have it."""
    return list({(row.at, row.ad, row.country): row for row in rows}.values())


@settings_of_hypothesis(max_examples=15, deadline=None)
@given(st.integers(0, DAYS * 24 * 60), st.integers(0, DAYS * 24 * 60), st.booleans())
def test_minutes_hours_and_days_add_up_to_the_same(
    world: tuple[CountsReader, list[Clicks]], start: int, end: int, by_hours: bool
) -> None:
    """Law 9 at the reader: by minute, hour and day, each equal to adding the rows up one by one."""
    reader, rows = world
    first = parse_utc("2026-05-03T00:00Z")
    step = HOUR if by_hours else MINUTE
    start, end = sorted((start // (60 if by_hours else 1), end // (60 if by_hours else 1)))
    for granularity in GRANULARITIES:
        query = CountsQuery(first + start * step, first + end * step, granularity)
        found = {(row["bucket"], row["ad_id"]): row["clicks"] for row in reader.answer(query).rows}
        assert found == brute_force(rows, query.start, query.end, granularity)


def test_too_many_rows_are_refused(tables: CountsTables) -> None:
    tables.write_live(LIVE)
    assert len(CountsReader(tables.settings, max_rows=6).answer(_query()).rows) == 6
    with pytest.raises(AnswerTooLargeError) as caught:
        CountsReader(tables.settings, max_rows=5).answer(_query())
    assert caught.value.found == "an answer of more than 5 rows"
    assert "granularity" in caught.value.remedy


def test_a_home_without_tables_is_named(tmp_path: Path) -> None:
    """Not an empty answer: a wrong TALLYSTICK_HOME would look like an advertiser without clicks."""
    with pytest.raises(TableMissingError):
        CountsReader(Settings(home=tmp_path / "elsewhere")).answer(_query())


def test_a_version_that_is_gone_is_named(tables: CountsTables) -> None:
    tables.write_live(LIVE)
    tables.seal(SEALED)
    tables.publish(Versions(90, 91, 92))
    with pytest.raises(IntegrityError, match="version 91 of final_clicks_hour cannot be opened"):
        CountsReader(tables.settings).answer(_query())


def test_instants_of_rows_are_aware(tables: CountsTables) -> None:
    tables.write_live(LIVE[:1])
    (row,) = CountsReader(tables.settings).answer(_query()).rows
    assert row["bucket"] == parse_utc("2026-05-03T08:00Z")


def test_a_reader_that_stays_open_learns_of_a_close(tables: CountsTables) -> None:
    settle_month(tables, NOVEMBER)
    reader = CountsReader(tables.settings)
    assert reader.finality().closed_until is None
    close_month(tables.settings)
    assert reader.finality().closed_until == reader.answer(_query()).finality.closed_until == NOVEMBER.end
