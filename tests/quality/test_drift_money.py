"""Both counts of sealed hours are priced as the plain rule says, from the attempt that readers see."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from domain.ads import Ad
from domain.buckets import hour_of, parse_utc
from domain.drift_money import HourMoney, MoneyByHour
from domain.prices import PriceHistory
from quality.drift_history import read_errors, seals_between
from quality.drift_money import read_money
from tests.support.books import Books, books, by_hour
from tests.support.counts_tables import Clicks
from warehouse.ads import snapshot_ads
from warehouse.layout import tables_path
from warehouse.prices import read_prices

TEN = parse_utc("2026-05-03T10:00Z")
ELEVEN = TEN + timedelta(hours=1)
NOON = TEN + timedelta(hours=2)


def _ad(ad_id: int, price_micros: int | None, currency: str | None = "EUR", advertiser_id: int = 10) -> Ad:
    priced = None if price_micros is None else currency
    return Ad(ad_id, advertiser_id, 100, "https://shop.example/", price_micros, priced)


def _money(found: Books, advertiser_id: int | None = None) -> MoneyByHour | None:
    seals = seals_between(found.settings, None, None)
    return read_money(found.settings, seals, read_errors(found.settings, seals, advertiser_id), advertiser_id)


def _sealed(found: Books, live: Sequence[Clicks], final: Sequence[Clicks]) -> None:
    """Both counts of hours 10 and 11; drift says of live what its rows hold."""
    found.write_live(live)
    for hour in (TEN, ELEVEN):
        held = Counter[int]()
        for row in live:
            held[row.advertiser] += row.clicks if hour_of(row.at) == hour else 0
        found.seal({hour: [row for row in final if hour_of(row.at) == hour]}, live=held)
    found.publish(NOON)


def test_the_price_is_that_of_the_start_of_the_minute(tmp_path: Path) -> None:
    """1.00 EUR from 10:05:00, 2.00 EUR from 10:05:30. Minute 10:04 has no price, 10:05 the first, 10:06 the second:
    live 2 * 1 + 4 * 2 = 10, final 3 * 1 + 1 * 2 = 5. Ad 2 has no price, ad 3 another currency.
    """
    found = books(tmp_path)
    snapshot_ads(found.settings, [_ad(1, 1_000_000), _ad(2, None), _ad(3, 7, "USD")], TEN + timedelta(minutes=5))
    snapshot_ads(found.settings, [_ad(1, 2_000_000)], TEN + timedelta(minutes=5, seconds=30))
    minutes = [f"2026-05-03T10:0{minute}Z" for minute in (4, 5, 6)]
    live = [Clicks(minute, clicks) for minute, clicks in zip(minutes, (9, 2, 4), strict=True)]
    final = [Clicks(minute, clicks) for minute, clicks in zip(minutes, (8, 3, 1), strict=True)]
    others = [Clicks(minutes[1], 5, ad=2), Clicks(minutes[1], 6, ad=3)]
    _sealed(found, [*live, *others], [*final, *others])
    assert _money(found) == {
        (TEN, 10): [HourMoney("EUR", 10_000_000, 5_000_000, 5_000_000), HourMoney("USD", 42, 42, 0)]
    }


def test_only_what_readers_see(tmp_path: Path) -> None:
    """Hour 10 by its revision, hour 11 as sealed; hour 12 is not published, and live of it is nobody's. Law 13."""
    found = books(tmp_path)
    snapshot_ads(found.settings, [_ad(1, 10), _ad(2, 1_000, advertiser_id=11)], TEN)
    live = [Clicks("2026-05-03T10:05Z", 9), Clicks("2026-05-03T11:05Z", 1), Clicks("2026-05-03T12:05Z", 3)]
    theirs = Clicks("2026-05-03T11:06Z", 5, ad=2, advertiser=11)
    found.write_live([*live, theirs])
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8)), live={10: 9})
    found.seal(by_hour(Clicks("2026-05-03T11:05Z", 4), theirs), live={10: 1, 11: 5})
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 7)), live={10: 9})
    found.publish(TEN)
    found.seal(by_hour(Clicks("2026-05-03T12:05Z", 3)), live={10: 3})
    ours = {(TEN, 10): [HourMoney("EUR", 90, 70, 20)], (ELEVEN, 10): [HourMoney("EUR", 10, 40, -30)]}
    assert _money(found) == {**ours, (ELEVEN, 11): [HourMoney("EUR", 5_000, 5_000, 0)]}
    assert _money(found, 10) == ours
    assert _money(found, 12) is None


def test_live_that_is_no_longer_what_it_was(tmp_path: Path) -> None:
    """F4: of hour 10 no live row is left, and that is not an amount of zero."""
    found = books(tmp_path)
    snapshot_ads(found.settings, [_ad(1, 10)], TEN)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8)), live={10: 9})
    found.publish(TEN)
    assert _money(found) == {(TEN, 10): [HourMoney("EUR", None, 80, None)]}


def test_without_a_price_no_count_is_read(tmp_path: Path) -> None:
    found = books(tmp_path)
    snapshot_ads(found.settings, [_ad(1, None), _ad(2, 10, advertiser_id=11)], TEN)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8)), live={10: 8})
    found.publish(TEN)
    for name in ("live_clicks_minute", "reconciled_clicks_minute"):
        shutil.rmtree(tables_path(found.settings) / name)
    assert _money(found, 10) is None


def test_no_hour_no_money(tmp_path: Path) -> None:
    found = books(tmp_path)
    snapshot_ads(found.settings, [_ad(1, 10)], TEN)
    assert _money(found) == {}


@pytest.fixture(scope="module")
def random_books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Books, list[Clicks], list[Clicks]]:
    """Three ads that change price, currency and owner while they are clicked."""
    dice = random.Random(7)
    found = books(tmp_path_factory.mktemp("money") / "home")
    for turn in range(12):
        ads = [
            _ad(ad, dice.choice((None, 1, 2**40)), dice.choice(["EUR", "USD"]), dice.randint(10, 11))
            for ad in (1, 2, 3)
        ]
        snapshot_ads(found.settings, ads, TEN + timedelta(minutes=10 * turn, seconds=dice.randint(0, 60)))
    rows = [
        Clicks(
            TEN + timedelta(minutes=dice.randint(0, 119)),
            dice.randint(1, 10**6),
            dice.randint(1, 3),
            dice.randint(10, 11),
        )
        for _ in range(400)
    ]
    live, final = rows[:200], rows[200:]
    _sealed(found, live, final)
    return found, live, final


def test_two_engines_one_answer(random_books: tuple[Books, list[Clicks], list[Clicks]]) -> None:
    found, *counts = random_books
    history = PriceHistory([row for who in (10, 11) for row in read_prices(found.settings, who)])
    sums = Counter[tuple[datetime, int, str, int]]()
    for side, rows in enumerate(counts):
        for row in rows:
            price = history.price_at(row.advertiser, row.ad, row.at)
            if price is not None:
                sums[hour_of(row.at), row.advertiser, price.currency, side] += row.clicks * price.price_micros
    keys = sorted({key[:3] for key in sums})
    expected: dict[tuple[datetime, int], list[HourMoney]] = {}
    for hour, who, currency in keys:
        amounts = sums[hour, who, currency, 0], sums[hour, who, currency, 1]
        expected.setdefault((hour, who), []).append(HourMoney(currency, *amounts, amounts[0] - amounts[1]))
    assert len(keys) == 7, "of hour, advertiser and currency hardly one is left out"
    assert _money(found) == expected
