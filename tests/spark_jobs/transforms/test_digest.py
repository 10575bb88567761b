"""Spark's digest is that of ``domain/seals.py``, in any order and number of partitions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from domain.seals import SetDigest, billable_line
from spark_jobs.transforms.digest import digest_of_sums, with_digest_words, word_sums

pytestmark = pytest.mark.spark

AT = datetime(2026, 5, 4, 0, 0, tzinfo=UTC)
TYPES = (
    "click_hour int, log int, partition int, offset long, impression_id string, ad_id long, advertiser_id long, "
    "campaign_id long, minute timestamp, country string, device string"
)


def test_equals_the_plain_digest(spark: SparkSession) -> None:
    """Law 11: three hundred clicks overflow each word's 32 bits many times."""
    rows = [
        (i % 2, 1, i % 3, 2**40 + i, f"imp-{i}", i, 2**62 + i, 7, AT + timedelta(minutes=i), "DE", "tablet")
        for i in range(300)
    ]
    expected = {0: SetDigest(), 1: SetDigest()}
    names = ("log", "partition", "offset", "impression_id", "ad_id", "advertiser_id", "campaign_id", "clicked_at")
    for hour, *values in rows:
        expected[hour].add(billable_line(**dict(zip((*names, "country", "device"), values, strict=True))))
    for partitions in (1, 5):
        frame = spark.createDataFrame(rows[::-1], TYPES).repartition(partitions)
        parts = with_digest_words(frame).groupBy("click_hour", "device", "partition").agg(*word_sums())
        found = parts.groupBy("click_hour").agg(*word_sums()).select("click_hour", digest_of_sums()).collect()
        assert {row[0]: row[1] for row in found} == {hour: digest.hex() for hour, digest in expected.items()}
