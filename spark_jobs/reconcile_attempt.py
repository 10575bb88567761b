"""Writes an attempt at some hours of a date: their counts, their exclusions, their drift; one commit each.

Belongs here: writing, and reading an attempt again. Whether what was written obeys the laws is ``reconcile_checks.py``.
Rows of an attempt that no seal names are no truth: readers pass them by, and the next run counts again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.reconcile_count import DayCount
from spark_jobs.transforms.count import count_by_key
from spark_jobs.transforms.dedup import POSITION
from spark_jobs.transforms.drift import compare_with_live, counted_twice_by_live, refused_as_late
from warehouse.spark.append import append_rows
from warehouse.table import Table
from warehouse.tables.click_exclusions import CLICK_EXCLUSIONS
from warehouse.tables.drift import DRIFT
from warehouse.tables.reconciled_clicks_minute import RECONCILED_CLICKS_MINUTE

Attempts = Mapping[int, str]
"""By hour of the day the id of the computation."""


def new_attempt_id(at: datetime) -> str:
    """A UUIDv7: unique, and in the order of time."""
    unix_ms = int(at.timestamp() * 1000)
    random = int.from_bytes(os.urandom(10), "big")
    rand_a, rand_b = random >> 68, random & ((1 << 62) - 1)
    return str(UUID(int=unix_ms << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b))


def counts_of(count: DayCount) -> DataFrame:
    """Billable clicks by the live key, minute by minute."""
    return count_by_key(count.billable)


def exclusions_of(count: DayCount) -> DataFrame:
    """Excluded clicks, each with the position of the copy that stands for it."""
    winner = {f"winner_{name}": F.col(f"winner.{name}") for name in POSITION}
    return count.excluded.withColumns(winner).drop("winner")


def write_counts(count: DayCount, attempts: Attempts) -> None:
    """Appends the attempts' rows to ``reconciled_clicks_minute``."""
    _append(counts_of(count), count, attempts, RECONCILED_CLICKS_MINUTE)


def write_exclusions(count: DayCount, attempts: Attempts) -> None:
    """Appends the attempts' rows to ``click_exclusions``."""
    _append(exclusions_of(count), count, attempts, CLICK_EXCLUSIONS)


def write_drift(count: DayCount, attempts: Attempts, tallies: DataFrame) -> None:
    """Compares with the live counts and appends to ``drift``. ``tallies``: click_hour, advertiser_id, raw, billable."""
    is_date = F.col("click_date") == F.lit(count.day)
    late = count.read("late_clicks").where(is_date)
    counted = {
        "raw_clicks": tallies.withColumnRenamed("raw", "raw_clicks"),
        "final_clicks": tallies.withColumnRenamed("billable", "final_clicks"),
        "live_clicks": count.rows_of_hours("live_clicks_minute").withColumnRenamed("clicks", "live_clicks"),
        "late_clicks": refused_as_late(late, count.billable).withColumn("late_clicks", F.lit(1)),
    }
    repeats = count.repeats_beyond(count.settings.live_horizon)
    if repeats is not None:
        counted["dedup_horizon_clicks"] = counted_twice_by_live(repeats, late).withColumn(
            "dedup_horizon_clicks", F.lit(1)
        )
    settings = count.settings
    rows = compare_with_live(counted, settings.drift_alert_per_mille, settings.drift_floor_clicks)
    hour = F.make_timestamp(
        *(F.lit(part) for part in count.day.timetuple()[:3]), F.col("click_hour"), F.lit(0), F.lit(0)
    )
    append_rows(
        rows.withColumns({"attempt": _by_hour(attempts), "hour": hour, "click_date": F.lit(count.day)}),
        settings,
        DRIFT,
    )


def written_counts(count: DayCount, attempts: Attempts) -> DataFrame:
    """What ``reconciled_clicks_minute`` holds of the attempts."""
    return _written(count, attempts, RECONCILED_CLICKS_MINUTE.name)


def written_exclusions(count: DayCount, attempts: Attempts) -> DataFrame:
    """What ``click_exclusions`` holds of the attempts."""
    return _written(count, attempts, CLICK_EXCLUSIONS.name)


def written_drift(count: DayCount, attempts: Attempts) -> DataFrame:
    """What ``drift`` holds of the attempts."""
    is_date = F.col("click_date") == F.lit(count.day)
    return count.read(DRIFT.name).where(is_date & F.col("attempt").isin(sorted(attempts.values())))


def _append(rows: DataFrame, count: DayCount, attempts: Attempts, table: Table) -> None:
    """As few files as it takes: one an hour, more where an hour is large."""
    gathered = rows.withColumn("attempt", _by_hour(attempts)).hint("rebalance", "click_hour")
    append_rows(gathered, count.settings, table)


def _written(count: DayCount, attempts: Attempts, table: str) -> DataFrame:
    return count.rows_of_hours(table).where(F.col("attempt").isin(sorted(attempts.values())))


def _by_hour(attempts: Attempts) -> Column:
    pairs = [F.lit(value) for pair in attempts.items() for value in pair]
    return F.create_map(*pairs)[F.col("click_hour")]
