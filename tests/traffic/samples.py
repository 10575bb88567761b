"""Runs and records for the tests of the generator: small ones, with every oddity in plenty."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from traffic.event import Dimensions, PlannedEvent, microseconds
from traffic.options import Shares, TrafficOptions
from traffic.plan import TrafficPlan

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATE_BOUND_SECONDS = 310
PARTITIONS = 8

MANY = Shares(
    duplicates=0.2,
    far_duplicates=0.1,
    conflicting=0.1,
    heads=0.1,
    prefetches=0.1,
    malformed=0.15,
    future=0.05,
    unknown_ads=0.05,
    out_of_order=0.2,
    late=0.05,
    old_impressions=0.1,
    opaque=0.2,
    twins=0.1,
    odd_forms=0.1,
)
SHOP = Dimensions(11, 1101, 10_001, "DE", "mobile")


def options(clicks_count: int = 2_000, hours: int = 2, **changes: Any) -> TrafficOptions:
    """A run with every oddity often, from nine o'clock on."""
    base = TrafficOptions(
        clicks_count=clicks_count,
        seed=7,
        start_at=START,
        end_at=START + timedelta(hours=hours),
        late_bound_seconds=LATE_BOUND_SECONDS,
        ads_count=20,
        advertisers_count=3,
        shares=MANY,
    )
    return replace(base, **changes)


def planned(run: TrafficOptions) -> list[PlannedEvent]:
    """All records of the run."""
    return list(TrafficPlan(run).events())


def event(key: str, second: float, dimensions: Dimensions = SHOP, **changes: Any) -> PlannedEvent:
    """A click so many seconds after nine o'clock, known to have copies."""
    clicked_us = microseconds(START + timedelta(seconds=second))
    made = PlannedEvent(key.encode(), b"{}", "click", dimensions, clicked_us, has_copies=True, reason=None)
    return made._replace(**changes)
