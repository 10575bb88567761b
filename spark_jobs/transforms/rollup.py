"""From minutes to hours and days.

Belongs here: the sums. That they agree is checked on what was written, by ``spark_jobs/publish_check.py``.
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
