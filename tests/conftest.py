"""The engines that tests share: real ones, one of each a run.

Belongs here: what several rooms need. A fixture that one room needs is in that room's own ``conftest.py``.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clicklog.broker import Broker, start_broker
from domain.settings import Settings
from tests.support.ports import free_broker_port
from tests.support.topics import own_topics

if TYPE_CHECKING:  # Spark is loaded only by the tests that need it
    from pyspark.sql import SparkSession

    from tests.support.stream_world import StreamWorld

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def pytest_configure() -> None:
    """A shell starts what runs in the background deaf to SIGINT. A Dagster run in this process copies that to SIGTERM,
    and every process that a test starts later inherits it: a broker that can only be killed.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The Kafka broker of this test run; its port and home are its own."""
    settings = Settings(home=tmp_path_factory.mktemp("broker"), broker_port=free_broker_port())
    with start_broker(settings) as running:
        yield running


@pytest.fixture
def log_settings(broker: Broker, tmp_path: Path) -> Settings:
    """Settings of an installation of its own on the shared broker: an empty home, three fresh topics."""
    return own_topics(broker, tmp_path / "home")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The Spark session of this test run, as production configures it, but for one thing: plans are interpreted.

    Compiling a plan takes longer than to interpret it over the few rows of a test. Compiled plans are what the tests
    of the transforms run, and everything that starts a process of its own.
    """
    from warehouse.spark.session import spark_session

    session = spark_session(Settings(home=tmp_path_factory.mktemp("spark"), shuffle_partitions=2), "tests")
    for setting, value in INTERPRETED.items():
        session.conf.set(setting, value)
    yield session
    session.stop()


@pytest.fixture
def world(spark: SparkSession, log_settings: Settings) -> StreamWorld:
    """A stream's surroundings: topics and an installation of its own."""
    from tests.support.stream_world import StreamWorld

    return StreamWorld(replace(log_settings, shuffle_partitions=2), spark)
