"""Which hours have raw clicks, told by the partitions of the table alone: no file is opened."""

from __future__ import annotations

from datetime import UTC, datetime, time

from domain.periods import Period, period_of
from domain.settings import Settings
from warehouse.layout import open_table


def filled_hours(settings: Settings, period: Period) -> frozenset[datetime]:
    """The hours of the period that ``raw_clicks`` has a partition of."""
    partitions = open_table(settings, "raw_clicks").partitions()
    hours = (_hour(one["click_date"], one["click_hour"]) for one in partitions)
    return frozenset(hour for hour in hours if period_of(hour) == period)


def _hour(click_date: str, click_hour: str) -> datetime:
    return datetime.combine(datetime.fromisoformat(click_date), time(int(click_hour)), UTC)
