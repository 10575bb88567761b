"""Counts by key, and partial counts that know which offsets they hold."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.transforms.count import count_by_key, partial_counts

pytestmark = pytest.mark.spark

MINUTE = datetime(2026, 5, 4, 10, tzinfo=UTC)
SCHEMA = """advertiser_id long, campaign_id long, ad_id long, minute timestamp, country string, device string,
            click_date date, click_hour int, partition int, offset long"""


def clicks(spark: SparkSession, *places: tuple[int, int, int]) -> DataFrame:
    """Clicks of (ad, partition, offset)."""
    rows = [
        (1, 2, ad, MINUTE, "US", "mobile", MINUTE.date(), 10, partition, offset) for ad, partition, offset in places
    ]
    return spark.createDataFrame(rows, SCHEMA)


def test_one_row_a_key(spark: SparkSession) -> None:
    counted = count_by_key(clicks(spark, (1, 0, 0), (1, 1, 0), (2, 0, 1)))
    assert {row["ad_id"]: row["clicks"] for row in counted.collect()} == {1: 2, 2: 1}


def test_a_part_for_each_partition_with_its_first_and_last_offset(spark: SparkSession) -> None:
    counted = partial_counts(clicks(spark, (1, 0, 4), (1, 0, 9), (1, 3, 2), (2, 0, 5)), log=7)
    parts = {row["ad_id"]: sorted(tuple(part) for part in row["parts"]) for row in counted.collect()}
    assert parts == {1: [("7:0", 2, 4, 9), ("7:3", 1, 2, 2)], 2: [("7:0", 1, 5, 5)]}
