"""The partitions of everything that is kept by the hour or by the day: UTC, one start for all.

An hour becomes a key once it has ended; whether it may be sealed yet is the completeness gate's to say. Local days are
sets of UTC hours and no partitions.
"""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg

from domain.buckets import HOUR

FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
HOURS_PER_RUN = 24
"""A backfill runs a day of hours at a time: one Spark run, one commit per table."""

HOURLY = dg.HourlyPartitionsDefinition(start_date=FIRST_DAY, timezone="UTC", fmt="%Y-%m-%dT%H:%MZ")
DAILY = dg.DailyPartitionsDefinition(start_date=FIRST_DAY, timezone="UTC")
DAY_OF_HOURS = dg.BackfillPolicy.multi_run(max_partitions_per_run=HOURS_PER_RUN)


def hours_of(context: dg.AssetExecutionContext) -> list[datetime]:
    """The hours (starts, UTC) that this run is asked for, ascending."""
    window = context.partition_time_window
    count = int((window.end - window.start) / HOUR)
    return [window.start.astimezone(UTC) + HOUR * number for number in range(count)]
