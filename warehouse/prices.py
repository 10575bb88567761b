"""Money: what rows of clicks cost, by the history of prices in table ``ads``. Whole millionths, no fractions.

Belongs here: reading prices, and pricing tables of one advertiser. The rule is ``domain/prices.py``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from domain.prices import PriceHistory, PriceRow
from domain.settings import Settings
from warehouse.layout import dataset_of, open_table

_MONEY: dict[str, pa.DataType] = {"price_micros": pa.int64(), "currency": pa.string(), "amount_micros": pa.int64()}
MONEY = pa.schema(_MONEY)
"""Columns that pricing adds: all null where the ad had no price."""


def read_prices(settings: Settings, advertiser_id: int) -> list[PriceRow]:
    """Every price that ads of an advertiser ever had, by ad and time."""
    ads = dataset_of(open_table(settings, "ads"))
    rows = ads.to_table(columns=list(PriceRow._fields), filter=ds.field("advertiser_id") == advertiser_id)
    return sorted(PriceRow(**row) for row in rows.to_pylist())


def with_money(rows: pa.Table, prices: list[PriceRow], at: str) -> pa.Table:
    """The rows with the columns of ``MONEY``. ``at`` names the column of instants that prices are asked for.

    Each row has advertiser_id, ad_id and clicks, which may be negative.
    """
    history = PriceHistory(prices)
    keys = [rows.column(name).to_pylist() for name in ("advertiser_id", "ad_id", at, "clicks")]
    found = [(history.price_at(*key[:3]), key[3]) for key in zip(*keys, strict=True)]
    columns: dict[str, list[Any]] = {
        "price_micros": [price and price.price_micros for price, _ in found],
        "currency": [price and price.currency for price, _ in found],
        "amount_micros": [price and price.price_micros * clicks for price, clicks in found],
    }
    for field in MONEY:
        rows = rows.append_column(field, pa.array(columns[field.name], field.type))
    return rows
