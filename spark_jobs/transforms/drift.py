"""Live against final per advertiser and hour, with the cause of each difference.

Belongs here: gathering the causes. The arithmetic is that of ``domain/drift.py``, as columns; a test holds them equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from domain.drift import PER_MILLE
from spark_jobs.transforms.dedup import POSITION

BY = ("click_hour", "advertiser_id")
_COUNTED = ("raw_clicks", "live_clicks", "final_clicks", "late_clicks", "dedup_horizon_clicks")


def compare_with_live(counted: Mapping[str, DataFrame], per_mille: int, floor_clicks: int) -> DataFrame:
    """BY, every count, ``difference_clicks``, ``missing_clicks``, ``extra_clicks`` and ``is_alert``.

    ``counted``: by name of the count, one of raw_clicks, live_clicks, final_clicks, late_clicks, dedup_horizon_clicks,
    a frame with BY and that column, in any number of rows.
    """
    zeros = [F.lit(0).cast("bigint").alias(name) for name in _COUNTED]
    parts = [
        rows.select(
            *BY, *(F.col(name) if zero_of == name else zero for zero_of, zero in zip(_COUNTED, zeros, strict=True))
        )
        for name, rows in counted.items()
    ]
    summed = reduce(DataFrame.unionByName, parts).groupBy(*BY).agg(*(F.sum(name).alias(name) for name in _COUNTED))
    difference = F.col("live_clicks") - F.col("final_clicks")
    unexplained = difference + F.col("late_clicks") - F.col("dedup_horizon_clicks")
    return summed.withColumns(
        {
            "difference_clicks": difference,
            "missing_clicks": F.greatest(-unexplained, F.lit(0)),
            "extra_clicks": F.greatest(unexplained, F.lit(0)),
            "is_alert": _is_over_bar(F.abs(difference), per_mille, floor_clicks),
        }
    )


def count_by_advertiser(clicks: DataFrame, name: str) -> DataFrame:
    """BY and the number of rows as ``name``."""
    return clicks.groupBy(*BY).agg(F.count(F.lit(1)).alias(name))


def refused_as_late(late_clicks: DataFrame, billable: DataFrame) -> DataFrame:
    """The billable clicks that live refused: final has them, live has not."""
    return billable.join(late_clicks.select(*POSITION), list(POSITION), "left_semi")


def counted_twice_by_live(repeats: DataFrame, late_clicks: DataFrame) -> DataFrame:
    """Of repeats further apart than the live horizon (first copies to live), those that live did not refuse as late."""
    return repeats.join(late_clicks.select(*POSITION), list(POSITION), "left_anti")


def _is_over_bar(distance: Column, per_mille: int, floor_clicks: int) -> Column:
    return (distance > floor_clicks) & (distance * PER_MILLE > F.col("final_clicks") * per_mille)
