"""Writes an attempt at some hours of a date: their counts and their exclusions, one commit each.

Belongs here: the rows of an attempt. Whether what was written obeys the laws is ``reconcile_checks.py``. Rows of an
attempt that no seal names are no truth: readers pass them by, and the next run counts again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.reconcile_count import DayCount, of_hours, read_table
from spark_jobs.transforms.dedup import POSITION
from spark_jobs.transforms.digest import WORDS
from warehouse.spark.append import append_rows
from warehouse.table import Table
from warehouse.tables.click_exclusions import CLICK_EXCLUSIONS
from warehouse.tables.reconciled_clicks_minute import RECONCILED_CLICKS_MINUTE

Attempts = Mapping[int, str]
"""By hour of the day the id of the computation."""


def new_attempt_id(at: datetime) -> str:
    """A UUIDv7: unique, and in the order of time."""
    unix_ms = int(at.timestamp() * 1000)
    random = int.from_bytes(os.urandom(10), "big")
    high, low = random >> 68, random & ((1 << 62) - 1)
    return str(UUID(int=unix_ms << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low))


def counts_of(count: DayCount) -> DataFrame:
    """Billable clicks by the live key, minute by minute."""
    return count.counts.drop(*WORDS)


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


def written_counts(count: DayCount, attempts: Attempts) -> DataFrame:
    """What ``reconciled_clicks_minute`` holds of the attempts."""
    return _written(count, attempts, RECONCILED_CLICKS_MINUTE)


def written_exclusions(count: DayCount, attempts: Attempts) -> DataFrame:
    """What ``click_exclusions`` holds of the attempts."""
    return _written(count, attempts, CLICK_EXCLUSIONS)


def _append(rows: DataFrame, count: DayCount, attempts: Attempts, table: Table) -> None:
    """As few files as it takes: one an hour, more where an hour is large."""
    pairs = [F.lit(value) for pair in attempts.items() for value in pair]
    numbered = rows.withColumn("attempt", F.create_map(*pairs)[F.col("click_hour")])
    append_rows(numbered.hint("rebalance", "click_hour"), count.settings, table)


def _written(count: DayCount, attempts: Attempts, table: Table) -> DataFrame:
    rows = of_hours(read_table(count.spark, count.settings, table.name), count.day, attempts)
    return rows.where(F.col("attempt").isin(sorted(attempts.values())))
