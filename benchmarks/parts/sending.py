"""Traffic for the benchmarks: the usual with every oddity, and plain variants whose count any contestant can reach.

Belongs here: options of the generator. The variants have no late, malformed or non-click events, since the peers judge
none; so each contestant must count exactly the clicks that were sent, and the benchmark holds it to that.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from domain.buckets import hour_of
from domain.settings import Settings
from traffic.options import Shares, TrafficOptions
from traffic.run import RunReceipt, generate
from warehouse.clock import now

HOURS = 3
REPEATING_SHARE = 0.8
"""Of the clicks; each has 1.24 repeats on average, which makes half of all events repeats."""
VARIANTS: dict[str, tuple[float, Shares]] = {
    "uniform": (0.0, Shares.none()),
    "hot_30": (0.3, Shares.none()),
    "hot_60": (0.6, Shares.none()),
    "hot_90": (0.9, Shares.none()),
    "repeats_50": (0.0, replace(Shares.none(), duplicates=REPEATING_SHARE)),
}
"""By name: the share of clicks on one ad, and the oddities. Uniform is the everyday mix without a hot ad: Zipf."""


def send(settings: Settings, clicks: int, hours: int = HOURS) -> int:
    """Traffic of the last hours with the usual oddities; returns the records sent."""
    return _sent(settings, traffic_options(settings, clicks, 0.3, Shares(), hours)).truth.records_count


def send_variant(settings: Settings, events: int, variant: str) -> tuple[int, int]:
    """About so many events of a variant; returns the records sent, and the clicks that must be counted of them."""
    hot_share, shares = VARIANTS[variant]
    clicks = round(events * (0.5 if shares.duplicates else 1))
    receipt = _sent(settings, traffic_options(settings, clicks, hot_share, shares))
    return receipt.truth.records_count, clicks


def traffic_options(
    settings: Settings, clicks: int, hot_share: float, shares: Shares, hours: int = HOURS
) -> TrafficOptions:
    """Clicks of the last whole hours on 2,000 ads."""
    until = hour_of(now())
    return TrafficOptions(
        clicks_count=clicks,
        seed=1,
        start_at=until - timedelta(hours=hours),
        end_at=until,
        late_bound_seconds=settings.late_bound_seconds,
        ads_count=2_000,
        advertisers_count=50,
        hot_share=hot_share,
        shares=shares,
    )


def _sent(settings: Settings, options: TrafficOptions) -> RunReceipt:
    receipt = generate(settings, options, now(), lambda _: None)
    records = receipt.truth.records_count
    print(f"sent {records:,} records to {settings.clicks_topic} at {records / receipt.sending_seconds:,.0f}/s")
    return receipt
