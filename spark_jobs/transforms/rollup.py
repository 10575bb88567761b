"""From minutes to hours and days, and the law that they agree: day = sum of hours = sum of minutes, for every key.

Belongs here: the sums and their differences. What a difference means to people is ``domain/conservation.py``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from domain.conservation import RollupKey

KEY = RollupKey._fields


def hours_of_minutes(minutes: DataFrame) -> DataFrame:
    """Rows of ``final_clicks_hour`` from rows of minutes."""
    hour = F.date_trunc("hour", "minute").alias("hour")
    return minutes.groupBy(*KEY, "click_date", hour).agg(F.sum("clicks").alias("clicks"))


def days_of_hours(hours: DataFrame) -> DataFrame:
    """Rows of ``final_clicks_day`` from rows of hours."""
    return hours.groupBy(*KEY, "click_date").agg(F.sum("clicks").alias("clicks"))


def unequal_rollups(minutes: DataFrame, hours: DataFrame, days: DataFrame) -> DataFrame:
    """Each key and bucket that is not the sum of its finer buckets: KEY, granularity, bucket_us, clicks, finer_clicks.

    An absent row counts as 0. ``bucket_us`` is the bucket's start in microseconds since 1970.
    """
    return _unequal(hours, hours_of_minutes(minutes), "hour", "hour").unionByName(
        _unequal(days, days_of_hours(hours), "day", "click_date")
    )


def _unequal(coarse: DataFrame, summed: DataFrame, granularity: str, bucket: str) -> DataFrame:
    bucket_us = F.unix_micros(F.col(bucket).cast("timestamp")).alias("bucket_us")
    sides = [
        rows.select(*KEY, bucket_us, *(F.col("clicks") * sign for sign in signs))
        for rows, signs in ((coarse, (1, 0)), (summed, (0, 1)))
    ]
    names = (*KEY, "bucket_us", "clicks", "finer_clicks")
    both = sides[0].toDF(*names).unionByName(sides[1].toDF(*names))
    totals = both.groupBy(*KEY, "bucket_us").agg(
        F.sum("clicks").alias("clicks"), F.sum("finer_clicks").alias("finer_clicks")
    )
    return totals.where("clicks != finer_clicks").withColumn("granularity", F.lit(granularity))
