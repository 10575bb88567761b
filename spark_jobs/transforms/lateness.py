"""Which first copies come too late for the live count: judged in offset order, whatever the cut of batches.

Belongs here: the rule of lateness for a batch of one log. ``domain/counting.py`` has its plain-Python twin.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

LATE = "late"
HOUR_SEALED = "hour_sealed"


def judge_lateness(
    clicks: DataFrame,
    highest_clicked_at: Mapping[int, datetime],
    late_bound: timedelta,
    is_sealed: Column,
) -> DataFrame:
    """``clicks`` with ``late_reason``: null if counted live, else ``late`` or ``hour_sealed``.

    ``clicks``: partition, offset, clicked_at, ...; first copies only. ``highest_clicked_at``: per partition the highest
    of all earlier batches. A click is late if it lies more than the bound behind the highest clicked_at at the lower
    offsets of its own partition; a partition without any such click knows no lateness.
    """
    earlier = Window.partitionBy("partition").orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    carried = literal_by_partition(highest_clicked_at, "timestamp")
    highest = F.greatest(F.max("clicked_at").over(earlier), carried)
    bound = F.expr(f"INTERVAL {int(late_bound.total_seconds())} SECONDS")
    late_reason = F.when(is_sealed, HOUR_SEALED).when(F.col("clicked_at") < highest - bound, LATE)
    return clicks.withColumn("late_reason", late_reason)


def is_in_hours(hours: list[datetime]) -> Column:
    """Whether clicked_at lies in one of these hours (starts, aware UTC, ascending), as few ranges as it takes."""
    condition = F.lit(False)
    for start, end in _ranges(hours):
        condition = condition | ((F.col("clicked_at") >= F.lit(start)) & (F.col("clicked_at") < F.lit(end)))
    return condition


def literal_by_partition(values: Mapping[int, object], spark_type: str) -> Column:
    """A column that gives each partition its value; null for a partition that has none.

    One literal of type map: Spark keeps such a value outside the code that it generates, so that values which change
    with every batch do not make it compile the batch's code again.
    """
    if not values:
        return F.lit(None).cast(spark_type)
    entries = [F.lit(entry) for pair in values.items() for entry in pair]
    return F.try_element_at(F.create_map(*entries).cast(f"map<int,{spark_type}>"), F.col("partition"))


def _ranges(hours: list[datetime]) -> list[tuple[datetime, datetime]]:
    ranges: list[tuple[datetime, datetime]] = []
    for hour in hours:
        end = hour + timedelta(hours=1)
        if ranges and ranges[-1][1] == hour:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((hour, end))
    return ranges
