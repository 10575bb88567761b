"""Generated weeks of metrics: daily and weekly rhythm, growth, honest noise, a launch and a holiday.

Belongs here: clean weeks. What goes wrong in them: ``quality_faults.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domain.metric_history import Family, History
from domain.quality_metrics import WHOLE, Metric

Array = NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday."""
WEEK_HOURS, DAY_HOURS = 168, 24
HOURLY_CLICKS = 12_000
GROWTH_A_WEEK = 0.006
ADVERTISERS, ADS_EACH, COUNTRIES = 10, 4, ("US", "DE", "FR", "GB", "IN", "BR", "JP", "CA", "ES", "IT", "PL", "ZZ")
DEVICES = {"mobile": 0.62, "desktop": 0.3, "tablet": 0.05, "other": 0.03}
SERVERS = {"edge-1": 0.3, "edge-2": 0.27, "edge-3": 0.25, "edge-4": 0.18}
KINDS = {"click": 0.965, "head": 0.015, "prefetch": 0.02}
NULLS = {"country": 0.004, "user_agent": 0.02, "campaign_id": 0.001, "ip": 0.0005, "impression_id": 0.0}
QUARANTINED = {"malformed": 0.0006, "future_dated": 0.0002, "unknown_ad": 0.0003}
LAGS_MS = {"p50": (700, 0.05), "p95": (2_400, 0.08), "p99": (5_200, 0.12), "max": (20_000, 0.5)}
LAUNCH_WEEKS, HOLIDAY_WEEKS = 31, 47
"""In which week of the generated ones, from 0."""
SMALLEST, LARGEST = 1, 2


@dataclass(frozen=True)
class World:
    """``is_explained`` says of each hour whether the calendar explains it."""

    history: History
    is_explained: NDArray[np.bool_]


def build_world(weeks: int, seed: int) -> World:
    """So many weeks from ``START``; the same for the same seed."""
    chance = np.random.default_rng(seed)
    hours = np.arange(weeks * WEEK_HOURS)
    factor, is_explained = _events(hours)
    total = HOURLY_CLICKS * _rhythm(hours) * factor * _noise(chance, hours, 0.03, 0.02)
    shares = 1 / np.arange(1, ADVERTISERS + 1) ** 1.7
    shares /= shares.sum()
    own = np.stack([_noise(chance, hours, 0.04, 0.03) for _ in range(ADVERTISERS)], axis=1)
    by_advertiser = chance.poisson(total[:, None] * shares * own)
    ads = np.concatenate([_split(chance, by_advertiser[:, n], _ad_mix(chance, hours)) for n in range(ADVERTISERS)], 1)
    rows = by_advertiser.sum(axis=1)
    families = {
        "rows": _family((WHOLE,), rows[:, None]),
        "by_advertiser": _family(tuple(str(n + 1) for n in range(ADVERTISERS)), by_advertiser, rows),
        "by_ad": _family(tuple(str(101 + n) for n in range(ads.shape[1])), ads, rows),
        "by_country": _family(COUNTRIES, _split(chance, rows, _country_mix(chance, hours)), rows),
        "lag": _quantiles(chance, hours, LAGS_MS),
        "clicks_per_ad": _family(("p50", "p95", "max"), np.quantile(ads, (0.5, 0.95, 1), axis=1).T.round()),
    }
    for name, mix in (("by_device", DEVICES), ("by_server", SERVERS), ("by_kind", KINDS)):
        parts = _split(chance, rows, _mix(chance, hours, np.array(list(mix.values())), 0.02))
        families[name] = _family(tuple(mix), parts, rows)
    families |= _shares(chance, hours, rows, families)
    return World(History(START, np.ones(len(hours), dtype=bool), dict(sorted(families.items()))), is_explained)


def metrics_at(history: History, row: int) -> list[Metric]:
    """The metric rows of an hour, as a measuring job writes them."""
    if not history.is_measured[row]:
        return []
    found = []
    hour = history.start + row * timedelta(hours=1)
    for name, family in history.families.items():
        unit = "ms" if name == "lag" else "values" if name == "distinct" else "rows"
        for column, group in enumerate(family.groups):
            amount, out_of = family.amount[row, column], family.out_of[row, column]
            if not np.isnan(amount):
                table = "drift" if name in {"live", "final"} else "raw_clicks"
                part = None if np.isnan(out_of) else int(out_of)
                found.append(Metric(table, hour, name, group, int(amount), part, unit))
    return found


def _events(hours: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """A launch lifts three days by 80 %, a holiday lets one fall to 45 %."""
    week, hour = hours // WEEK_HOURS, hours % WEEK_HOURS
    is_launch = (week == LAUNCH_WEEKS) & (hour >= DAY_HOURS) & (hour < 4 * DAY_HOURS)
    is_holiday = (week == HOLIDAY_WEEKS) & (hour >= 3 * DAY_HOURS) & (hour < 4 * DAY_HOURS)
    return np.where(is_launch, 1.8, np.where(is_holiday, 0.45, 1.0)), is_launch | is_holiday


def _rhythm(hours: NDArray[np.int64]) -> Array:
    of_day = 1 + 0.55 * np.sin((hours % DAY_HOURS - 8) / DAY_HOURS * 2 * np.pi)
    of_week = np.where(hours % WEEK_HOURS >= 5 * DAY_HOURS, 0.75, 1.08)
    return of_day * of_week * (1 + GROWTH_A_WEEK) ** (hours / WEEK_HOURS)


def _noise(chance: np.random.Generator, hours: NDArray[np.int64], of_hours: float, of_days: float) -> Array:
    """Each hour on its own, and days that remember the day before, joined by straight lines."""
    days = len(hours) // DAY_HOURS + 2
    steps, walk = chance.normal(0, of_days, days), np.zeros(days)
    for day in range(1, days):
        walk[day] = 0.5 * walk[day - 1] + steps[day] * np.sqrt(0.75)
    slow = np.interp(hours / DAY_HOURS, np.arange(days), walk)
    noise: Array = np.exp(chance.normal(0, of_hours, len(hours)) + slow)
    return noise


def _mix(chance: np.random.Generator, hours: NDArray[np.int64], mix: Array, noise: float) -> Array:
    noisy = mix * np.exp(chance.normal(0, noise, (len(hours), mix.shape[-1])))
    normalised: Array = noisy / noisy.sum(axis=1, keepdims=True)
    return normalised


def _country_mix(chance: np.random.Generator, hours: NDArray[np.int64]) -> Array:
    """Each country has its evening."""
    base = 1 / np.arange(1, len(COUNTRIES) + 1) ** 1.1
    phase = np.linspace(0, DAY_HOURS, len(COUNTRIES), endpoint=False)
    evening = 1 + 0.4 * np.sin((hours[:, None] - phase) / DAY_HOURS * 2 * np.pi)
    return _mix(chance, hours, base * evening, 0.03)


def _ad_mix(chance: np.random.Generator, hours: NDArray[np.int64]) -> Array:
    return _mix(chance, hours, np.array([0.4, 0.3, 0.2, 0.1]), 0.06)


def _split(chance: np.random.Generator, whole: NDArray[Any], mix: Array) -> NDArray[np.int64]:
    return chance.multinomial(whole, mix / mix.sum(axis=1, keepdims=True))


def _quantiles(chance: np.random.Generator, hours: NDArray[np.int64], lags: dict[str, tuple[int, float]]) -> Family:
    load = 1 + 0.15 * _rhythm(hours)
    values = [middle * load * np.exp(chance.normal(0, noise, len(hours))) for middle, noise in lags.values()]
    return _family(tuple(lags), np.stack(values, axis=1).round())


def _shares(
    chance: np.random.Generator, hours: NDArray[np.int64], rows: NDArray[np.int64], families: dict[str, Family]
) -> dict[str, Family]:
    def some(share: float) -> NDArray[np.int64]:
        return chance.poisson(rows * share * np.exp(chance.normal(0, 0.08, len(hours))))

    by_kind = families["by_kind"].amount
    duplicates, late = some(0.012), some(0.0015)
    excluded = np.stack([by_kind[:, 1], by_kind[:, 2], duplicates], axis=1)
    clicks = families["by_advertiser"].amount
    lost = np.stack(
        [chance.multinomial(int(n), row / row.sum()) for n, row in zip(excluded.sum(1), clicks, strict=True)]
    )
    final = clicks - lost
    distinct = np.stack([rows, (rows * 0.8).round(), np.full(len(hours), 40)], axis=1)
    return {
        "duplicates": _family((WHOLE,), duplicates[:, None], rows),
        "late": _family((WHOLE,), late[:, None], rows),
        "excluded": _family(("head", "prefetch", "duplicate"), excluded, rows),
        "nulls": _family(tuple(NULLS), np.stack([some(share) for share in NULLS.values()], axis=1), rows),
        "quarantined": _family(
            tuple(QUARANTINED), np.stack([some(share) for share in QUARANTINED.values()], axis=1), rows
        ),
        "distinct": _family(("impression_id", "ip", "ad_id"), distinct),
        "new_ads": _family((WHOLE,), chance.poisson(0.05, (len(hours), 1))),
        "vanished_ads": _family((WHOLE,), chance.poisson(0.05, (len(hours), 1))),
        "unknown_ads": _family((WHOLE,), np.zeros((len(hours), 1))),
        "final": _family(families["by_advertiser"].groups, final),
        "live": _family(families["by_advertiser"].groups, final.copy()),
    }


def _family(groups: tuple[str, ...], amount: NDArray[Any], out_of: NDArray[Any] | None = None) -> Family:
    whole = np.full(amount.shape, np.nan) if out_of is None else np.repeat(out_of[:, None], amount.shape[1], axis=1)
    return Family(groups, amount.astype(float), whole.astype(float))
