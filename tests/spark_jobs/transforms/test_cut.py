"""The cut as a condition: each hour by its own, every log and partition by its own end."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.transforms.cut import is_below_cut

pytestmark = pytest.mark.spark

CUTS = {9: {"1:0": 5, "1:2": 1, "2:0": 3}, 10: {"1:0": 7}, 11: {"1:0": 7}, 12: {}}
BELOW = [(9, 1, 0, 4), (9, 1, 2, 0), (9, 2, 0, 2), (10, 1, 0, 6), (11, 1, 0, 6)]
BEYOND = [
    *[(9, 1, 0, 5), (9, 1, 2, 1), (9, 2, 0, 3), (10, 1, 0, 7), (11, 1, 0, 7)],
    *[(9, 1, 1, 0), (9, 1, 3, 0), (9, 3, 0, 0), (10, 1, 2, 0), (10, 2, 0, 0)],  # places that the cut does not name
    *[(12, 1, 0, 0), (8, 1, 0, 0)],  # an hour with an empty cut, and one that is not counted
]


def test_rows_below_the_cut_of_their_hour(spark: SparkSession) -> None:
    rows = spark.createDataFrame(BELOW + BEYOND, "click_hour int, log int, partition int, offset long")
    assert sorted(tuple(row) for row in rows.where(is_below_cut(CUTS)).collect()) == sorted(BELOW)
    assert sorted(tuple(row) for row in rows.where(~is_below_cut(CUTS)).collect()) == sorted(BEYOND)
