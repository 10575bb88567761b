"""What is counted of the records of a batch while they pass: aggregates to put beside others or to observe.

Belongs here: the columns. Their names are the fields of ``ReadCounts`` in ``spark_jobs/batch_log.py``.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def read_counts() -> list[Column]:
    """Over parsed events, the refused ones included: LONGs, and the newest append time as microseconds since 1970."""
    return [
        F.count(F.lit(1)).alias("in_count"),
        F.expr("count_if(reason IS NULL)").alias("parsed_count"),
        F.expr("count_if(reason IS NOT NULL)").alias("quarantined_count"),
        F.expr("count_if(reason IS NULL AND kind = 'click')").alias("click_count"),
        F.expr("unix_micros(max(appended_at))").alias("newest_appended_micros"),
    ]


def copy_count() -> Column:
    """LONG: the rows that pass."""
    return F.count(F.lit(1)).alias("copy_count")
