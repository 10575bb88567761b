"""Tables are priced as the plain rule says, row by row, in whole millionths."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ads import Ad
from domain.errors import IntegrityError
from domain.prices import PriceHistory, PriceRow
from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from tests.support.periods import NOVEMBER
from warehouse.ads import snapshot_ads
from warehouse.prices import MONEY, has_prices, prices_by_minute, with_money
from warehouse.schema import INSTANT

ROWS = pa.schema([pa.field("ad_id", pa.int64()), pa.field("minute", INSTANT), pa.field("clicks", pa.int64())])


def _at(minutes: int) -> datetime:
    return NOVEMBER.start + timedelta(minutes=minutes)


PRICES = st.dictionaries(
    st.tuples(st.integers(1, 3), st.integers(0, 9)), st.one_of(st.none(), st.integers(0, 10**9)), max_size=9
).map(
    lambda given: [
        PriceRow(10, ad_id, _at(minutes), micros, None if micros is None else "EUR")
        for (ad_id, minutes), micros in given.items()
    ]
)
CLICKS = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(-(10**6), 10**6)), max_size=9)


@settings(max_examples=25, deadline=None)
@given(PRICES, CLICKS)
def test_two_engines_one_answer(
    tmp_path_factory: pytest.TempPathFactory, prices: list[PriceRow], clicks: list[tuple[int, int, int]]
) -> None:
    home = Settings(home=tmp_path_factory.getbasetemp())
    rows = [{"ad_id": ad_id, "minute": _at(minutes), "clicks": count} for ad_id, minutes, count in clicks]
    history = PriceHistory(prices)
    expected = []
    for row in rows:
        price = history.price_at(10, row["ad_id"], row["minute"])
        money = (None, None, None) if price is None else (*price, price.price_micros * row["clicks"])
        expected.append(row | dict(zip(MONEY.names, money, strict=True)))
    found = with_money(home, pa.Table.from_pylist(rows, ROWS), prices, "minute")
    assert found.to_pylist() == expected
    assert found.schema == pa.schema([*ROWS, *MONEY])


def test_an_amount_that_no_column_holds(tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([{"ad_id": 1, "minute": _at(0), "clicks": 2}], ROWS)
    with pytest.raises(IntegrityError, match=r"an amount is too large: .*; expected one up to 9223372036854775807"):
        with_money(Settings(home=tmp_path), rows, [PriceRow(10, 1, _at(0), 2**62, "EUR")], "minute")


def test_prices_by_minute_of_whom_they_are_asked_for(tmp_path: Path) -> None:
    """Each change, with microseconds since 1970 of when it came into force; only a price is one, 0 as well."""
    tables = Settings(home=tmp_path)
    make_empty_tables(tables)
    assert not has_prices(tables, None)
    owned = ((1, 10, None), (2, 11, 0))
    ads = [
        Ad(ad_id, who, 100, "https://shop.example/", micros, micros if micros is None else "EUR")
        for ad_id, who, micros in owned
    ]
    snapshot_ads(tables, ads, _at(1))
    assert [has_prices(tables, who) for who in (None, 10, 11)] == [True, False, True]
    minute_us = (NOVEMBER.start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) + 60_000_000
    theirs = {"advertiser_id": 11, "ad_id": 2, "price_micros": 0, "currency": "EUR", "minute_us": minute_us}
    ours = {"advertiser_id": 10, "ad_id": 1, "price_micros": None, "currency": None, "minute_us": minute_us}
    assert prices_by_minute(tables, 11).read_all().to_pylist() == [theirs]
    assert sorted(prices_by_minute(tables).read_all().to_pylist(), key=lambda row: row["ad_id"]) == [ours, theirs]
