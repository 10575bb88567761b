"""What a click costs: the price of its ad at the start of its minute, in whole millionths of a currency unit.

Belongs here: the rule, for one instant. Pricing whole tables by it is ``warehouse/prices.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

MICROS = 1_000_000


class PriceRow(NamedTuple):
    """From when on an ad of an advertiser costs so much; both None where it has no price from then on."""

    advertiser_id: int
    ad_id: int
    valid_from: datetime
    price_micros: int | None
    currency: str | None


class Price(NamedTuple):
    """Of one click."""

    price_micros: int
    currency: str


class PriceHistory:
    """All prices there ever were. An ad that changes hands has a history with each advertiser."""

    def __init__(self, rows: Iterable[PriceRow]) -> None:
        self._rows: dict[tuple[int, int], list[PriceRow]] = {}
        for row in sorted(rows, key=lambda one: one.valid_from):
            self._rows.setdefault((row.advertiser_id, row.ad_id), []).append(row)

    def price_at(self, advertiser_id: int, ad_id: int, at: datetime) -> Price | None:
        """The price in force: that of the newest row whose ``valid_from`` has come. None where there is none."""
        rows = self._rows.get((advertiser_id, ad_id), [])
        place = bisect_right(rows, at, key=lambda one: one.valid_from)
        if place == 0:
            return None
        price_micros, currency = rows[place - 1].price_micros, rows[place - 1].currency
        return None if price_micros is None or currency is None else Price(price_micros, currency)


def amount_text(amount_micros: int, currency: str) -> str:
    """An amount for people, exact: 250000 millionths are 0.25."""
    whole, rest = divmod(abs(amount_micros), MICROS)
    fraction = f"{rest:06}".rstrip("0").ljust(2, "0")
    return f"{'-' if amount_micros < 0 else ''}{whole:,}.{fraction} {currency}"


def amounts_text(amounts_micros: Mapping[str, int]) -> str:
    """Amounts by currency, in the order of the currencies, with commas; empty where there is none."""
    return ", ".join(amount_text(micros, currency) for currency, micros in sorted(amounts_micros.items()))
