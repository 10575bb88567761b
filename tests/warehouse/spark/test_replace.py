"""Replacing partitions with Spark: all or nothing, nothing beside them, and races end in one of the two."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from warehouse.layout import table_uri
from warehouse.spark import replace
from warehouse.spark.replace import WriteConflictError, replace_partitions
from warehouse.tables.final_clicks_minute import FINAL_CLICKS_MINUTE

pytestmark = pytest.mark.spark

DAY = date(2026, 5, 4)
ROUNDS = 10
"""A race that nobody loses is possible; ten in a row are not."""
TYPES = (
    "advertiser_id long, campaign_id long, ad_id long, minute timestamp, country string, device string, clicks long, "
    "click_date date, click_hour int"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    return settings


def rows(spark: SparkSession, *clicks_of_hours: tuple[int, int], day: date = DAY) -> DataFrame:
    """One row for each (hour, clicks)."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return spark.createDataFrame(
        [(1, 1, 1, midnight + timedelta(hours=hour), "DE", "other", n, day, hour) for hour, n in clicks_of_hours], TYPES
    )


def held(settings: Settings) -> dict[tuple[date, int], int]:
    table = DeltaTable(table_uri(settings, FINAL_CLICKS_MINUTE.name)).to_pyarrow_table().to_pylist()
    return {(row["click_date"], row["click_hour"]): row["clicks"] for row in table}


def test_only_the_named_hours_are_replaced(spark: SparkSession, settings: Settings) -> None:
    """Twice the same is the same; an hour without rows is emptied; the version counts up."""
    first = replace_partitions(rows(spark, (1, 10), (2, 20), (3, 30)), settings, FINAL_CLICKS_MINUTE, DAY)
    for _ in range(2):
        again = replace_partitions(rows(spark, (2, 22)), settings, FINAL_CLICKS_MINUTE, DAY, [2, 3])
    assert held(settings) == {(DAY, 1): 10, (DAY, 2): 22}
    assert again == first + 2
    other = DAY + timedelta(days=1)
    replace_partitions(rows(spark, (1, 5), day=other), settings, FINAL_CLICKS_MINUTE, other)
    assert held(settings) == {(DAY, 1): 10, (DAY, 2): 22, (other, 1): 5}


def test_rows_outside_the_partitions_are_refused(spark: SparkSession, settings: Settings) -> None:
    replace_partitions(rows(spark, (1, 10)), settings, FINAL_CLICKS_MINUTE, DAY)
    with pytest.raises(PySparkException, match="REPLACE_WHERE_MISMATCH"):
        replace_partitions(rows(spark, (1, 11), (4, 40)), settings, FINAL_CLICKS_MINUTE, DAY, [1])
    assert held(settings) == {(DAY, 1): 10}


def test_a_race_for_one_hour_ends_with_the_rows_of_one_writer(spark: SparkSession, settings: Settings) -> None:
    """D7, D8: other days do not conflict; of the same hour one writer is last, and the others tried again."""
    days = [DAY, DAY, DAY, DAY + timedelta(days=1)]

    def write(clicks: int, day: date) -> int:
        return replace_partitions(rows(spark, (1, clicks), day=day), settings, FINAL_CLICKS_MINUTE, day, [1])

    with ThreadPoolExecutor(len(days)) as writers:
        done = [writers.submit(write, clicks, day) for clicks, day in enumerate(days, start=1)]
    assert max(one.result() for one in done) == len(days)
    found = held(settings)
    assert found.keys() == {(DAY, 1), (days[-1], 1)}
    assert found[DAY, 1] in {1, 2, 3}
    assert found[days[-1], 1] == 4


def test_a_writer_that_always_loses_says_so(
    spark: SparkSession, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D8: the error names the commit that won."""
    monkeypatch.setattr(replace, "ATTEMPTS", 1)
    refused: list[WriteConflictError] = []

    def write(clicks: int) -> None:
        try:
            replace_partitions(rows(spark, (1, clicks)), settings, FINAL_CLICKS_MINUTE, DAY, [1])
        except WriteConflictError as error:
            refused.append(error)

    for _ in range(ROUNDS):
        with ThreadPoolExecutor(4) as writers:
            list(writers.map(write, range(1, 5)))
        if refused:
            break
    assert "committed at version" in refused[0].found
    assert refused[0].is_transient
