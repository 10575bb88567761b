"""The versioned merge on a real table: adds what a row has not counted, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from warehouse.layout import table_uri
from warehouse.spark.merge import PartialOverlapError, drop_counted, merge_counts

pytestmark = pytest.mark.spark

MINUTE = datetime(2026, 5, 4, 10, 7, tzinfo=UTC)
HOUR = (date(2026, 5, 4), 10)
SCHEMA = """advertiser_id long, campaign_id long, ad_id long, minute timestamp, country string, device string,
            click_date date, click_hour int"""
Part = tuple[str, int, int, int]
"""source, clicks, first offset, last offset"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    return table_uri(settings, "live_clicks_minute")


def parts(spark: SparkSession, **by_country: Sequence[Part]) -> DataFrame:
    rows = [(1, 2, 3, MINUTE, country, "mobile", *HOUR, list(some)) for country, some in by_country.items()]
    return spark.createDataFrame(
        rows, f"{SCHEMA}, parts array<struct<source string, clicks long, first long, last long>>"
    )


def merge(frame: DataFrame, uri: str) -> None:
    merge_counts(frame, uri, {HOUR}, (MINUTE, MINUTE))


def counts(uri: str) -> dict[str, tuple[int, dict[str, int]]]:
    rows = DeltaTable(uri).to_pyarrow_table().to_pylist()
    return {row["country"]: (row["clicks"], dict(row["versions"])) for row in rows}


def test_adds_above_the_version_and_repeats_nothing(spark: SparkSession, uri: str) -> None:
    """D4, L2: a merge again is no merge; a new partition of the log and a new row are."""
    first = parts(spark, US=[("1:0", 2, 0, 4)])
    merge(first, uri)
    merge(first, uri)
    assert counts(uri) == {"US": (2, {"1:0": 4})}
    merge(parts(spark, US=[("1:0", 3, 5, 9), ("1:1", 1, 0, 0)], CA=[("2:0", 1, 0, 0)]), uri)
    assert counts(uri) == {"US": (6, {"1:0": 9, "1:1": 0}), "CA": (1, {"2:0": 0})}
    merge(parts(spark, US=[("1:0", 3, 5, 9), ("1:1", 4, 1, 7)]), uri)
    assert counts(uri)["US"] == (10, {"1:0": 9, "1:1": 7})


def test_a_partial_overlap_is_refused_and_resolved_event_by_event(spark: SparkSession, uri: str) -> None:
    merge(parts(spark, US=[("1:0", 2, 0, 4)]), uri)
    version = DeltaTable(uri).version()
    with pytest.raises(PartialOverlapError):
        merge(parts(spark, US=[("1:0", 3, 3, 9)]), uri)
    assert DeltaTable(uri).version() == version
    events = [(1, 2, 3, MINUTE, "US", "mobile", *HOUR, 0, offset) for offset in (3, 4, 5, 9)]
    clicks = spark.createDataFrame(events, f"{SCHEMA}, partition int, offset long")
    new = drop_counted(clicks, uri, 1, {HOUR}, (MINUTE, MINUTE))
    assert sorted(row["offset"] for row in new.collect()) == [5, 9]
