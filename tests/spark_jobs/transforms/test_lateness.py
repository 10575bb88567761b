"""Lateness as the plain-Python rule has it, in the order of offsets, and values that differ by partition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.transforms.lateness import is_in_hours, judge_lateness, literal_by_partition

pytestmark = pytest.mark.spark

T = datetime(2026, 5, 4, 10, tzinfo=UTC)
BOUND = timedelta(minutes=5)


def minutes(count: float) -> datetime:
    return T + timedelta(minutes=count)


def test_late_is_judged_by_lower_offsets_of_the_same_partition(spark: SparkSession) -> None:
    rows = [
        (0, 1, minutes(10)),
        (0, 2, minutes(5)),  # on the bound
        (0, 3, minutes(4.9)),  # beyond it
        (0, 4, minutes(10)),
        (1, 1, minutes(4.9)),  # another partition knows nothing of that
        (2, 1, minutes(4.9)),  # earlier batches do
    ]
    clicks = spark.createDataFrame(rows, "partition int, offset long, clicked_at timestamp")
    judged = judge_lateness(clicks, {2: minutes(10)}, BOUND, F.lit(False))
    late = {(row["partition"], row["offset"]) for row in judged.where("late_reason = 'late'").collect()}
    assert late == {(0, 3), (2, 1)}


def test_a_sealed_hour_is_half_open_and_goes_before_lateness(spark: SparkSession) -> None:
    rows = [
        (0, 1, T + timedelta(hours=3)),
        (0, 2, T),
        (0, 3, T + timedelta(hours=2)),
        (0, 4, T - timedelta(microseconds=1)),
    ]
    clicks = spark.createDataFrame(rows, "partition int, offset long, clicked_at timestamp")
    sealed = is_in_hours([T, T + timedelta(hours=1)])
    judged = judge_lateness(clicks, {}, BOUND, sealed)
    assert {row["offset"]: row["late_reason"] for row in judged.collect()} == {
        1: None,
        2: "hour_sealed",
        3: "late",
        4: "late",
    }


def test_a_partition_without_a_value_has_none(spark: SparkSession) -> None:
    partitions = spark.createDataFrame([(0,), (1,)], "partition int")
    for values, expected in (({1: 7}, {0: None, 1: 7}), ({}, {0: None, 1: None})):
        rows = partitions.withColumn("value", literal_by_partition(values, "bigint")).collect()
        assert {row["partition"]: row["value"] for row in rows} == expected
