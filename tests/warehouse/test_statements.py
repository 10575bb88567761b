"""Statements: local days out of UTC minutes, whatever the zone, and no other figures than those of the close."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.buckets import parse_utc
from domain.errors import IntegrityError, UsageError
from domain.periods import Period, parse_period
from domain.settings import Settings
from tests.support.counts_tables import Clicks, CountsTables, counts_tables
from tests.support.peaks import peak_bytes
from tests.support.periods import DECEMBER, NOVEMBER, OCTOBER, close_month, settle_month
from tests.support.statements import statement_bytes
from warehouse import statements
from warehouse.ads import snapshot_ads
from warehouse.prices import MONEY
from warehouse.statements import DAY_KEY, Statement, read_statement

QUARTER = timedelta(minutes=15)
QUARTERS_A_DAY = 96
ZONE_CASES = {
    # UTC+5:30 all year: 18.5 h of the first day, 5.5 h of a day after the last
    "Asia/Kolkata 2026-11": {"2026-11-01": 74, "2026-12-01": 22},
    # UTC+5:45
    "Asia/Kathmandu 2026-11": {"2026-11-01": 73, "2026-12-01": 23},
    # from UTC+11 to UTC+10:30 on the 5th, a day of 24.5 h
    "Australia/Lord_Howe 2026-04": {"2026-04-01": 52, "2026-04-05": 98, "2026-05-01": 42},
    # and back on 4 October, a day of 23.5 h
    "Australia/Lord_Howe 2026-10": {"2026-10-01": 54, "2026-10-04": 94, "2026-11-01": 44},
    # from UTC-5 to UTC-4 on the 8th, a day of 23 h
    "America/New_York 2026-03": {"2026-02-28": 20, "2026-03-08": 92, "2026-03-31": 80},
    # and back on 1 November, a day of 25 h
    "America/New_York 2026-11": {"2026-10-31": 16, "2026-11-01": 100, "2026-11-30": 76},
}


def _closed(home: Path, period: Period, rows: Sequence[Clicks]) -> CountsTables:
    tables = counts_tables(home)
    settle_month(tables, period, rows)
    close_month(tables.settings, period)
    return tables


def _rows(statement: Statement) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in statement.clicks.select([*DAY_KEY, "clicks"]).to_pylist()]


@pytest.mark.parametrize("case", ZONE_CASES)
def test_a_click_each_quarter_of_an_hour(tmp_path: Path, case: str) -> None:
    zone, month = case.split()
    period = parse_period(month)
    rows = [Clicks(hour + index * QUARTER, 1) for hour in period.hours for index in range(4)]
    statement = read_statement(_closed(tmp_path, period, rows).settings, 10, period, zone)
    days = {str(row["date"]): row["clicks"] for row in statement.clicks.to_pylist()}
    assert {day: clicks for day, clicks in days.items() if clicks != QUARTERS_A_DAY} == ZONE_CASES[case]
    assert list(days) == sorted(days)
    assert statement.total_clicks == len(rows) == sum(days.values())


def test_minutes_at_the_edges_of_a_local_day(tmp_path: Path) -> None:
    rows = [Clicks("2026-11-09T18:29Z", 1), Clicks("2026-11-09T18:30Z", 20), Clicks("2026-11-10T18:29Z", 300)]
    statement = read_statement(_closed(tmp_path, NOVEMBER, rows).settings, 10, NOVEMBER, "Asia/Kolkata")
    assert _rows(statement) == [(date(2026, 11, 9), 100, 1, 1), (date(2026, 11, 10), 100, 1, 320)]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> CountsTables:
    """November is closed; October and December have clicks too. Advertiser 11 has its own. Only to be read."""
    found = counts_tables(tmp_path_factory.mktemp("closed"))
    rows = [
        Clicks("2026-10-31T23:59Z", 1_000),
        Clicks("2026-11-01T00:00Z", 1, ad=2),
        Clicks("2026-11-01T00:00Z", 2, ad=1, country="US"),
        Clicks("2026-11-01T00:30Z", 4, ad=1, device="tablet"),
        Clicks("2026-11-01T00:30Z", 8, ad=1, campaign=99),
        Clicks("2026-11-30T23:59Z", 16),
        Clicks("2026-11-30T23:59Z", 32, advertiser=11),
        Clicks("2026-12-01T00:00Z", 2_000),
    ]
    for period in (OCTOBER, NOVEMBER, DECEMBER):
        settle_month(found, period, rows)
    close_month(found.settings, OCTOBER)
    close_month(found.settings, NOVEMBER)
    return found


@pytest.fixture
def tables(closed: CountsTables, tmp_path: Path) -> CountsTables:
    """A copy that a test may change."""
    home = tmp_path / "home"
    shutil.copytree(closed.settings.home, home)
    return CountsTables(Settings(home=home))


def test_by_day_campaign_and_ad(closed: CountsTables) -> None:
    first, last = date(2026, 11, 1), date(2026, 11, 30)
    statement = read_statement(closed.settings, 10, NOVEMBER, "UTC")
    assert _rows(statement) == [(first, 99, 1, 8), (first, 100, 1, 6), (first, 100, 2, 1), (last, 100, 1, 16)]
    assert (statement.total_clicks, statement.close.billable_clicks) == (31, 63)
    assert read_statement(closed.settings, 11, NOVEMBER, "UTC").total_clicks == 32


def test_a_statement_of_nothing(closed: CountsTables) -> None:
    statement = read_statement(closed.settings, 12, NOVEMBER, "UTC")
    assert (_rows(statement), statement.total_clicks) == ([], 0)
    assert statement.clicks.column_names == ["date", "campaign_id", "ad_id", "clicks", *MONEY.names]
    assert (statement.amounts, statement.adjusted_amounts) == ([], [])


def test_each_click_costs_what_its_minute_says(tables: CountsTables) -> None:
    """A price holds from its instant on; clicks before the first one have none, and each price has a row of its own."""
    for at, price, currency in (
        ("2026-11-01T00:00:00.000001Z", 250_000, "EUR"),
        ("2026-11-30T23:59Z", 300_000, "USD"),
        ("2026-12-01T00:00Z", 999, "EUR"),
    ):
        snapshot_ads(tables.settings, [Ad(1, 10, 100, "https://example.org/", price, currency)], parse_utc(at))
    statement = read_statement(tables.settings, 10, NOVEMBER, "UTC")
    assert [tuple(row.values())[2:] for row in statement.clicks.to_pylist()] == [
        (1, 8, 250_000, "EUR", 2_000_000),
        (1, 4, 250_000, "EUR", 1_000_000),
        (1, 2, None, None, None),
        (2, 1, None, None, None),
        (1, 16, 300_000, "USD", 4_800_000),
    ]
    assert statement.amounts == [("EUR", 12, 3_000_000), ("USD", 16, 4_800_000)]
    assert statement.total_clicks == 31
    assert read_statement(tables.settings, 11, NOVEMBER, "UTC").amounts == []


def test_an_amount_that_no_column_holds(tables: CountsTables) -> None:
    """16 clicks at 2**62 are an error, not some other number."""
    ad = Ad(1, 10, 100, "https://example.org/", 2**62, "EUR")
    snapshot_ads(tables.settings, [ad], parse_utc("2026-10-01T00:00Z"))
    with pytest.raises(IntegrityError, match="an amount is too large"):
        read_statement(tables.settings, 10, NOVEMBER, "UTC")


def test_an_open_period_has_none(closed: CountsTables) -> None:
    with pytest.raises(UsageError, match="a statement of period 2026-12, which is open; expected a closed one"):
        read_statement(closed.settings, 10, DECEMBER, "UTC")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "America", "UTC\0"])
def test_a_zone_that_does_not_exist(closed: CountsTables, zone: str) -> None:
    with pytest.raises(UsageError, match="expected a name of the time zone database"):
        read_statement(closed.settings, 10, NOVEMBER, zone)


def test_figures_that_are_no_longer_those_of_the_close(tables: CountsTables) -> None:
    """A statement of too little, because rows are gone, must not leave the house."""
    tables.publish(tables.write_final([Clicks("2026-11-01T00:00Z", 62)]))
    with pytest.raises(IntegrityError, match="its days add up to 62 clicks; expected 63"):
        read_statement(tables.settings, 10, NOVEMBER, "UTC")
    rows = [Clicks("2026-11-01T00:00Z", 63)]
    tables.publish(tables.write_final(rows)._replace(minute=tables.write_final_minute([])))
    with pytest.raises(IntegrityError, match="the minutes of advertiser 10 add up to 0 clicks; expected 63"):
        read_statement(tables.settings, 10, NOVEMBER, "UTC")


def test_twice_the_ads_take_no_more_memory(many: CountsTables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "ROWS_AT_ONCE", 500)

    def write(advertiser_id: int) -> None:
        statement = read_statement(many.settings, advertiser_id, NOVEMBER, "UTC")
        for file_format in ("csv", "parquet"):
            assert len(statement_bytes(statement, file_format)) > MANY
        assert statement.amounts == [("EUR", advertiser_id * MANY, advertiser_id * MANY * 5)]

    peaks = [peak_bytes(lambda who=who: write(who)) for who in (1, 2)]  # type: ignore[misc]
    assert peaks[1] < 1.3 * peaks[0]


MANY = 4_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> CountsTables:
    """Advertiser 1 has many ads, advertiser 2 twice as many; each was clicked once, for 5 millionths."""
    found = counts_tables(tmp_path_factory.mktemp("many"))
    ads = [(1 if ad <= MANY else 2, ad) for ad in range(1, 3 * MANY + 1)]
    settle_month(found, NOVEMBER, [Clicks("2026-11-01T00:00Z", 1, ad=ad, advertiser=who) for who, ad in ads])
    close_month(found.settings)
    priced = [Ad(ad, who, 100, "https://example.org/", 5, "EUR") for who, ad in ads]
    snapshot_ads(found.settings, priced, parse_utc("2026-10-01T00:00Z"))
    return found
