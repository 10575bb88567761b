"""The Spark session: one a process, made from settings, bound to loopback, quiet.

Belongs here: configuration and the start of the JVM. Everything that must be fixed before it starts (heap, class path,
logging) is passed at its launch, so a session that exists already is returned as it is.
"""

from __future__ import annotations

from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from domain.errors import TallystickError
from domain.settings import Settings

SNAPSHOT_PARTITIONS = 2
"""Partitions of a Delta snapshot; the default of 50 makes each small commit seconds slower."""
STATE_STORE_MEMORY_MIB = 500
"""Soft limit over all RocksDB stores of the process."""
PAGE_MIB = 4
"""Memory is taken in such pieces. Spark's own choice is 64 MiB, and each broadcast of a handful of ads holds one."""
LOOPBACK = "127.0.0.1"
_LOGGING = Path(__file__).with_name("log4j2.properties")


class SparkStartError(TallystickError):
    """Spark cannot start on this computer."""


def spark_session(settings: Settings, app: str) -> SparkSession:
    """The session of this process, started if there is none (about 10 s). ``app`` names it in logs."""
    jars = settings.jars_path / "spark"
    if not any(jars.glob("delta-spark_*.jar")):
        raise SparkStartError(f"no Delta jar in {jars}", "the pinned jars", "run `make setup`")
    conf = session_conf(settings)
    builder = SparkSession.builder.appName(app)
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        _start_jvm(conf)
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise SparkStartError(
            f"Spark did not start with spark_master {settings.spark_master}: {error}",
            f"Java 17, {settings.spark_driver_heap_mib} MiB of memory and a master that Spark knows",
            "run `tallystick doctor`",
        ) from error


def _start_jvm(conf: dict[str, str]) -> None:
    """In a session of its own: an interrupt or an end that is sent to our whole process group would stop Spark in the
    middle of the batch that we still finish. The JVM ends with us all the same, since its standard input does.
    """
    if SparkContext._gateway is None:
        asked = SparkConf(loadDefaults=False).setAll(list(conf.items()))
        gateway = launch_gateway(asked, popen_kwargs={"start_new_session": True})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)


def jvm_pid(spark: SparkSession) -> int | None:
    """Process id of the driver JVM, which may outlive a killed Python by the length of a commit; None if remote."""
    gateway = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


def session_conf(settings: Settings) -> dict[str, str]:
    """Every key that we set."""
    return {**_launch_conf(settings), **_sql_conf(settings), **_streaming_conf()}


def _launch_conf(settings: Settings) -> dict[str, str]:
    jars = f"{settings.jars_path / 'spark'}/*"
    return {
        "spark.master": settings.spark_master,
        "spark.driver.memory": f"{settings.spark_driver_heap_mib}m",
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.driver.extraJavaOptions": (
            f"-Duser.timezone=UTC -XX:+UseParallelGC -Dlog4j2.configurationFile={_LOGGING.as_uri()}"
        ),
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.buffer.pageSize": f"{PAGE_MIB}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(settings.home / "spark" / "scratch"),
        "spark.sql.warehouse.dir": str(settings.home / "spark" / "unused-catalog"),
    }


def _sql_conf(settings: Settings) -> dict[str, str]:
    return {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # the default, INT96, has no statistics in files
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # looks up the caller of every column operation
        "spark.sql.inMemoryColumnarStorage.compressed": "false",  # choosing encodings costs more than it saves
        "spark.databricks.delta.snapshotPartitions": str(SNAPSHOT_PARTITIONS),
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",  # the default starts a process per file
    }


def _streaming_conf() -> dict[str, str]:
    streaming = "spark.sql.streaming"
    store = f"{streaming}.stateStore"
    return {
        f"{streaming}.checkpointFileManagerClass": (  # the default for a local disk starts a process per file
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        f"{streaming}.noDataMicroBatches.enabled": "false",  # old identities leave with the next batch that has clicks
        f"{store}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        f"{store}.rocksdb.changelogCheckpointing.enabled": "true",
        f"{store}.rocksdb.boundedMemoryUsage": "true",
        f"{store}.rocksdb.maxMemoryUsageMB": str(STATE_STORE_MEMORY_MIB),
    }
