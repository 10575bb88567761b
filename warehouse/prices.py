"""Money: what rows of clicks cost, by the history of prices in table ``ads``. Whole millionths, no fractions.

Belongs here: reading prices of an advertiser, and pricing its rows. The rule is that of ``domain/prices.py``; tables
are priced by SQL, which the tests hold equal to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from domain.adjustments import Adjustment
from domain.errors import IntegrityError
from domain.events import MAX_INT64
from domain.prices import PriceHistory, PriceRow
from domain.settings import Settings
from warehouse.duck_engine import opened_engine
from warehouse.layout import dataset_of, open_table
from warehouse.schema import INSTANT

_MONEY: dict[str, pa.DataType] = {"price_micros": pa.int64(), "currency": pa.string(), "amount_micros": pa.int64()}
MONEY = pa.schema(_MONEY)
"""Columns that pricing adds: all null where the ad had no price."""
_PRICES: dict[str, pa.DataType] = {
    "ad_id": pa.int64(),
    "valid_from": INSTANT,
    "price_micros": pa.int64(),
    "currency": pa.string(),
}
PRICES = pa.schema(_PRICES)

PRICED_JOIN = "ASOF LEFT JOIN prices USING (advertiser_id, ad_id, minute_us)"
"""Gives rows by advertiser, ad and minute, in microseconds since 1970, their prices out of ``prices_by_minute``."""

PRICED_SQL = """
SELECT own.*, prices.price_micros, prices.currency, own.clicks * prices.price_micros AS amount_micros
FROM own ASOF LEFT JOIN prices ON own.ad_id = prices.ad_id AND own.{at} >= prices.valid_from
ORDER BY place
"""
"""Each row with the newest price that had come into force; a product that is too large is an error."""


class AdjustmentMoney(NamedTuple):
    """An adjustment with what it costs; all None where the ad had no price."""

    adjustment: Adjustment
    price_micros: int | None
    currency: str | None
    amount_micros: int | None


def read_prices(settings: Settings, advertiser_id: int) -> list[PriceRow]:
    """Every price that ads of an advertiser ever had, by ad and time."""
    ads = dataset_of(open_table(settings, "ads"))
    rows = ads.to_table(columns=list(PriceRow._fields), filter=_of(advertiser_id)).to_pylist()
    return [PriceRow(**row) for row in sorted(rows, key=lambda row: (row["ad_id"], row["valid_from"]))]


def has_prices(settings: Settings, advertiser_id: int | None) -> bool:
    """Whether any ad, or any of an advertiser, ever had a price."""
    is_priced = (ds.field("price_micros") >= 0) & _of(advertiser_id)
    ads = dataset_of(open_table(settings, "ads"))
    return ads.scanner(columns=["ad_id"], filter=is_priced).head(1).num_rows > 0


def prices_by_minute(settings: Settings, advertiser_id: int | None = None) -> pa.RecordBatchReader:
    """Every price of all ads, or of an advertiser's, with ``minute_us`` from when on it holds, for ``PRICED_JOIN``."""
    columns = {name: ds.field(name) for name in ("advertiser_id", "ad_id", "price_micros", "currency")}
    columns["minute_us"] = ds.field("valid_from").cast(pa.int64())
    ads = dataset_of(open_table(settings, "ads"))
    rows = ads.scanner(columns=columns, filter=_of(advertiser_id))  # type: ignore[arg-type] # the stubs lack projections
    return rows.to_reader()


def price_table(prices: Sequence[PriceRow]) -> pa.Table:
    """These prices, in the columns of ``PRICES``."""
    return pa.Table.from_pylist([{name: getattr(row, name) for name in PRICES.names} for row in prices], PRICES)


def with_money(settings: Settings, rows: pa.Table, prices: Sequence[PriceRow], at: str) -> pa.Table:
    """The rows of one advertiser, in their order, with the columns of ``MONEY``. ``prices`` are that advertiser's.

    Each row has ad_id and clicks, which may be negative; ``at`` names the column of instants that prices are asked for.
    ``IntegrityError`` for an amount that no column holds.
    """
    schema = pa.schema([*rows.schema, *MONEY])
    placed = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    with opened_engine(settings) as engine:
        engine.register("own", placed)
        engine.register("prices", price_table(prices))
        try:
            priced: pa.Table = engine.sql(PRICED_SQL.format(at=at)).to_arrow_table()
        except duckdb.OutOfRangeException as error:
            raise IntegrityError(
                f"an amount is too large: {error}", f"one up to {MAX_INT64}", "look at the prices in table ads"
            ) from error
    return priced.select(schema.names).cast(schema)


def adjustments_with_money(settings: Settings, adjustments: Sequence[Adjustment]) -> list[AdjustmentMoney]:
    """Each adjustment at the price of its charge hour's start, in their order."""
    owners = {one.advertiser_id for one in adjustments}
    history = PriceHistory(row for own in owners for row in read_prices(settings, own))
    found = []
    for one in adjustments:
        price = history.price_at(one.advertiser_id, one.ad_id, one.charge_hour)
        amount = None if price is None else one.delta_clicks * price.price_micros
        found.append(AdjustmentMoney(one, price and price.price_micros, price and price.currency, amount))
    return found


def amounts_of(settings: Settings, adjustments: Sequence[Adjustment]) -> dict[str, int]:
    """What adjustments cost together, by currency."""
    sums: Counter[str] = Counter()
    for one in adjustments_with_money(settings, adjustments):
        if one.currency is not None and one.amount_micros is not None:
            sums[one.currency] += one.amount_micros
    return dict(sorted(sums.items()))


def _of(advertiser_id: int | None) -> ds.Expression:
    return ds.scalar(True) if advertiser_id is None else ds.field("advertiser_id") == advertiser_id
