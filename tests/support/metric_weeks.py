"""Weeks of metrics with a rhythm and honest noise, for tests of what judges them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import numpy as np

from domain.buckets import HOUR
from domain.quality_metrics import WHOLE, Metric

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
COUNTRIES = {"US": 0.6, "DE": 0.3, "FR": 0.1}
KINDS = {"click": 0.97, "head": 0.02, "prefetch": 0.01}
CLICKS = 4_000
WEEK = timedelta(weeks=1)


def hour_metrics(hour: datetime, factor: float = 1.0, countries: Mapping[str, float] = COUNTRIES) -> list[Metric]:
    """Of one hour, the same for the same hour: clicks by a daily rhythm, two advertisers, three countries."""
    number = (hour - MONDAY) // HOUR
    chance = np.random.default_rng(number + 1)
    rhythm = 1 + 0.5 * np.sin(hour.hour / 24 * 2 * np.pi)
    clicks = chance.poisson(CLICKS * rhythm * factor * np.exp(chance.normal(0, 0.02)))
    large = int(chance.binomial(clicks, 0.9))
    split = chance.multinomial(clicks, list(countries.values()))
    by_kind = chance.multinomial(clicks, list(KINDS.values()))
    groups = {
        "by_advertiser": {"1": large, "2": clicks - large},
        "by_country": dict(zip(countries, split, strict=True)),
        "by_device": {"mobile": clicks},
        "by_server": {"edge-1": clicks},
        "by_kind": dict(zip(KINDS, by_kind, strict=True)),
        "excluded": {"head": by_kind[1], "prefetch": by_kind[2]},
        "nulls": {"impression_id": 0, "country": 3},
    }
    return sorted(_metrics(hour, int(clicks), groups))


def weeks_of_metrics(start: datetime, end: datetime) -> list[Metric]:
    """Of each hour of ``[start, end)``."""
    hours = (start + number * HOUR for number in range((end - start) // HOUR))
    return [one for hour in hours for one in hour_metrics(hour)]


def _metrics(hour: datetime, clicks: int, groups: Mapping[str, Mapping[str, int]]) -> Iterator[Metric]:
    table = "raw_clicks"
    yield Metric(table, hour, "rows", WHOLE, clicks, None, "rows")
    yield Metric(table, hour, "distinct", "impression_id", clicks, None, "values")
    yield Metric(table, hour, "unknown_ads", WHOLE, 0, None, "rows")
    yield Metric(table, hour, "lag", "p50", 800, None, "ms")
    for name, amounts in groups.items():
        yield from (
            Metric(table, hour, name, group, int(amount), clicks, "clicks") for group, amount in amounts.items()
        )
    lost = int(sum(groups["excluded"].values()))
    counted = {"1": groups["by_advertiser"]["1"] - lost, "2": groups["by_advertiser"]["2"]}
    for name in ("live", "final"):
        yield from (Metric("drift", hour, name, group, amount, None, "clicks") for group, amount in counted.items())
