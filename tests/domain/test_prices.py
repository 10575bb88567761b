"""The price in force at an instant, and amounts as people read them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.prices import Price, PriceHistory, PriceRow, amount_text, amounts_text
from tests.support.periods import NOVEMBER

START = NOVEMBER.start
TICK = timedelta(microseconds=1)
HISTORY = PriceHistory(
    [
        PriceRow(10, 1, START + timedelta(hours=2), None, None),
        PriceRow(10, 1, START, 250_000, "EUR"),
        PriceRow(11, 1, START + timedelta(hours=1), 999, "USD"),
        PriceRow(10, 1, START + timedelta(hours=3), 0, "EUR"),
    ]
)


@pytest.mark.parametrize(
    ("hours", "ticks", "expected"),
    [
        (0, -1, None),
        (0, 0, Price(250_000, "EUR")),
        (1, 0, Price(250_000, "EUR")),  # what another advertiser paid for the ad
        (2, -1, Price(250_000, "EUR")),
        (2, 0, None),  # no price any more
        (3, 0, Price(0, "EUR")),
    ],
)
def test_the_newest_that_has_come(hours: int, ticks: int, expected: Price | None) -> None:
    assert HISTORY.price_at(10, 1, START + timedelta(hours=hours) + ticks * TICK) == expected


def test_an_ad_without_a_history() -> None:
    assert HISTORY.price_at(10, 2, START) is None


@pytest.mark.parametrize(
    ("amount_micros", "expected"),
    [
        (0, "0.00 EUR"),
        (250_000, "0.25 EUR"),
        (-1, "-0.000001 EUR"),
        (-1_500_000, "-1.50 EUR"),
        (9_007_199_254_740_993_000_001, "9,007,199,254,740,993.000001 EUR"),
    ],
)
def test_amounts(amount_micros: int, expected: str) -> None:
    assert amount_text(amount_micros, "EUR") == expected


def test_amounts_of_several_currencies() -> None:
    assert amounts_text({"USD": 0, "EUR": -250_000}) == "-0.25 EUR, 0.00 USD"
    assert amounts_text({}) == ""
