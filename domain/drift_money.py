"""Live against final in money: what both counts of an advertiser's hour come to, each currency apart.

Belongs here: exact integer arithmetic over priced rows. Reading and pricing them is ``quality/drift_money.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from domain.drift_history import HourError


class PricedClicks(NamedTuple):
    """What the minutes of an advertiser's hour hold, and cost, in one currency; None for clicks without a price."""

    hour: datetime
    advertiser_id: int
    currency: str | None
    live_clicks: int
    final_clicks: int
    live_amount_micros: int
    final_amount_micros: int


@dataclass(frozen=True)
class HourMoney:
    """Of an advertiser's hour in one currency. A side whose minutes no longer hold the clicks that the hour was sealed
    with is None: what those came to is not known. ``difference_amount_micros`` is live - final.
    """

    currency: str
    live_amount_micros: int | None
    final_amount_micros: int | None
    difference_amount_micros: int | None


@dataclass(frozen=True)
class MoneySummary:
    """Of an advertiser in one currency over ``hour_count`` hours. Hours of which a side is not known are in no sum;
    they are counted in ``unknown_hour_count``. Of no hour the sums are None.
    """

    currency: str
    hour_count: int
    unknown_hour_count: int
    live_amount_micros: int | None
    final_amount_micros: int | None
    difference_amount_micros: int | None


MoneyByHour = Mapping[tuple[datetime, int], Sequence[HourMoney]]
"""By hour and advertiser, one for each currency."""


def money_of_hours(errors: Iterable[HourError], priced: Iterable[PricedClicks]) -> MoneyByHour:
    """What the hours of ``errors`` come to; an hour without a priced click has no entry."""
    of_hour: dict[tuple[datetime, int], list[PricedClicks]] = defaultdict(list)
    for one in priced:
        of_hour[one.hour, one.advertiser_id].append(one)
    found = {(one.hour, one.advertiser_id): _money(one, of_hour[one.hour, one.advertiser_id]) for one in errors}
    return {key: money for key, money in found.items() if money}


def money_summarised(hours: MoneyByHour) -> dict[int, list[MoneySummary]]:
    """By advertiser the sums over its hours, one for each currency, ascending."""
    of: dict[tuple[int, str], list[HourMoney]] = defaultdict(list)
    for (_, advertiser_id), money in hours.items():
        for one in money:
            of[advertiser_id, one.currency].append(one)
    found: dict[int, list[MoneySummary]] = {}
    for (advertiser_id, currency), money in sorted(of.items()):
        found.setdefault(advertiser_id, []).append(_summary(currency, money))
    return found


def _money(error: HourError, priced: Sequence[PricedClicks]) -> list[HourMoney]:
    is_live_known = sum(one.live_clicks for one in priced) == error.live_clicks
    is_final_known = sum(one.final_clicks for one in priced) == error.final_clicks
    found = []
    for one in sorted(priced, key=lambda each: each.currency or ""):
        if one.currency is not None:
            live = one.live_amount_micros if is_live_known else None
            final = one.final_amount_micros if is_final_known else None
            difference = None if live is None or final is None else live - final
            found.append(HourMoney(one.currency, live, final, difference))
    return found


def _summary(currency: str, hours: Sequence[HourMoney]) -> MoneySummary:
    known = [
        (one.live_amount_micros, one.final_amount_micros)
        for one in hours
        if one.live_amount_micros is not None and one.final_amount_micros is not None
    ]
    if not known:
        return MoneySummary(currency, 0, len(hours), None, None, None)
    live, final = sum(amount for amount, _ in known), sum(amount for _, amount in known)
    return MoneySummary(currency, len(known), len(hours) - len(known), live, final, live - final)
