"""The Spark session: what is set, and the errors of a computer that cannot run it."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from domain.settings import Settings
from warehouse.spark.session import SparkStartError, jvm_pid, session_conf, spark_session

START = """
import sys
from pathlib import Path
from domain.settings import Settings
from warehouse.spark.session import SparkStartError, spark_session
try:
    spark_session(Settings(home=Path(sys.argv[1]), spark_master=sys.argv[2]), "test")
except SparkStartError as error:
    print(error)
"""


def refusal(home: Path, master: str, **environment: str) -> str:
    """What a process says that tries to start a session."""
    values = {**os.environ, **environment}
    command = [sys.executable, "-c", START, str(home), master]
    done = subprocess.run(command, env=values, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


def test_settings_reach_the_session(tmp_path: Path) -> None:
    conf = session_conf(
        Settings(home=tmp_path, spark_driver_heap_mib=777, shuffle_partitions=9, spark_master="local[7]")
    )
    assert (conf["spark.driver.memory"], conf["spark.sql.shuffle.partitions"]) == ("777m", "9")
    assert (conf["spark.master"], conf["spark.driver.bindAddress"]) == ("local[7]", "127.0.0.1")
    assert conf["spark.local.dir"].startswith(str(tmp_path))


def test_missing_jars_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "jars_path", tmp_path / "nowhere")
    with pytest.raises(SparkStartError, match="make setup"):
        spark_session(Settings(home=tmp_path), "test")


def test_no_java_is_one_line(tmp_path: Path) -> None:
    said = refusal(tmp_path, "local[1]", PATH=str(tmp_path), JAVA_HOME=str(tmp_path / "nowhere"))
    assert said.endswith("run `tallystick doctor`")


@pytest.mark.spark
def test_signals_to_our_process_group_do_not_reach_the_jvm(spark: SparkSession) -> None:
    """Ctrl-C and ``make up`` end a whole group; Spark stopped under a running batch, and the stream ended with 1."""
    pid = jvm_pid(spark)
    assert pid is not None
    assert psutil.Process(pid).ppid() == os.getpid()
    assert os.getpgid(pid) != os.getpgid(0)


@pytest.mark.spark
def test_a_wrong_master_is_named(tmp_path: Path) -> None:
    said = refusal(tmp_path, "nonsense")
    assert said.startswith("Spark did not start with spark_master nonsense")
    assert said.count("\n") == 0


@pytest.mark.spark
def test_instants_are_utc_and_errors_are_errors(spark: SparkSession) -> None:
    at = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    (row,) = spark.range(1).select(F.unix_micros(F.lit(at)), F.hour(F.lit(at)), F.to_date(F.lit(at))).collect()
    assert tuple(row) == (int(at.timestamp()) * 1_000_000, 1, at.date())
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


@pytest.mark.spark
def test_the_jvm_is_known(spark: SparkSession) -> None:
    """The lock notes it, since it may outlive us by the length of a commit."""
    pid = jvm_pid(spark)
    assert pid is not None
    assert psutil.Process(pid).name() == "java"
