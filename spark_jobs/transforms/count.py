"""Grouping of clicks into counts: the live key, and partial counts per partition of the log.

Belongs here: the one grouping that stream and batch share.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from warehouse.tables import LIVE_CLICKS_MINUTE

LIVE_KEY = LIVE_CLICKS_MINUTE.key
"""advertiser_id, campaign_id, ad_id, minute, country, device"""
HOUR_PARTITION = LIVE_CLICKS_MINUTE.partition_by
"""click_date, click_hour"""


def count_by_key(clicks: DataFrame, *also: Column) -> DataFrame:
    """LIVE_KEY, HOUR_PARTITION, ``clicks`` LONG and what is to be aggregated ``also``; one row a key.

    ``clicks``: one row a click to be counted.
    """
    return clicks.groupBy(*LIVE_KEY, *HOUR_PARTITION).agg(F.count(F.lit(1)).alias("clicks"), *also)


def partial_counts(clicks: DataFrame, log: int) -> DataFrame:
    """One row a key: ``parts``, an array of (source "log:partition", clicks, first offset, last offset).

    Two steps: the first needs no more than a row per key and partition of the log to leave a task, so a hot ad costs
    a row a partition; only these rows are shuffled to the second.
    """
    source = F.concat(F.lit(f"{log}:"), F.col("partition").cast("string"))
    by_partition = clicks.groupBy(*LIVE_KEY, *HOUR_PARTITION, "partition").agg(
        F.count(F.lit(1)).alias("clicks"), F.min("offset").alias("first"), F.max("offset").alias("last")
    )
    part = F.struct(source.alias("source"), "clicks", "first", "last")
    return by_partition.groupBy(*LIVE_KEY, *HOUR_PARTITION).agg(F.collect_list(part).alias("parts"))
