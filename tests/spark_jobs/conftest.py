"""Fixtures of the Spark tests: one session, and the surroundings of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from domain.settings import Settings
from tests.support.stream_world import StreamWorld
from warehouse.spark.session import spark_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The Spark session of this test run."""
    home: Path = tmp_path_factory.mktemp("spark")
    session = spark_session(Settings(home=home, shuffle_partitions=2), "tests")
    yield session
    session.stop()


@pytest.fixture
def world(spark: SparkSession, log_settings: Settings) -> StreamWorld:
    """A topic of two partitions and an installation of its own."""
    return StreamWorld(replace(log_settings, shuffle_partitions=2), spark)
