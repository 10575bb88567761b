"""Appending with Spark: the table's own columns, and never a table that Spark makes up."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from domain.settings import Settings
from tests.support.empty_tables import make_empty_tables
from warehouse.layout import TableMissingError, table_uri
from warehouse.spark.append import append_rows
from warehouse.tables.quarantined_clicks import QUARANTINED_CLICKS

pytestmark = pytest.mark.spark

AT = datetime(2026, 5, 4, 23, 59, tzinfo=UTC)
TYPES = "reason string, log int, partition int, offset long, logged_at timestamp, payload binary, log_date date"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path)
    make_empty_tables(settings)
    return settings


def rows(spark: SparkSession, reason: str | None = "empty") -> DataFrame:
    """One row, its columns in another order than the table's."""
    return spark.createDataFrame([(reason, 1, 0, 7, AT, b"\x00{", AT.date())], TYPES)


def test_columns_are_matched_by_name(spark: SparkSession, settings: Settings) -> None:
    append_rows(rows(spark), settings, QUARANTINED_CLICKS)
    table = DeltaTable(table_uri(settings, QUARANTINED_CLICKS.name))
    assert table.to_pyarrow_table().to_pylist() == [
        {
            "log": 1,
            "partition": 0,
            "offset": 7,
            "logged_at": AT,
            "reason": "empty",
            "payload": b"\x00{",
            "log_date": AT.date(),
        }
    ]
    assert table.metadata().partition_columns == ["log_date"]


def test_a_missing_value_is_refused(spark: SparkSession, settings: Settings) -> None:
    with pytest.raises(Py4JJavaError, match="DELTA_NOT_NULL_CONSTRAINT_VIOLATED"):
        append_rows(rows(spark, reason=None), settings, QUARANTINED_CLICKS)


def test_a_table_that_is_gone_is_an_error(spark: SparkSession, settings: Settings) -> None:
    """A10: never success into a table that was dropped, nor a new one in its place."""
    uri = table_uri(settings, QUARANTINED_CLICKS.name)
    shutil.rmtree(uri)
    with pytest.raises(TableMissingError):
        append_rows(rows(spark), settings, QUARANTINED_CLICKS)
    assert not Path(uri).exists()
