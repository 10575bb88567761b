"""The clicks topic as a stream: where a query starts, how much it takes at a time.

Belongs here: source options and starting offsets. A checkpoint that exists decides for itself where it goes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from domain.settings import Settings

_EARLIEST = -2
"""What Spark's Kafka source calls the first offset there is."""


def read_clicks(
    spark: SparkSession, settings: Settings, starts: Mapping[int, int], partitions: list[int], query: str
) -> DataFrame:
    """value, partition, offset, timestamp (append time) of each record from ``starts`` (next offset) on.

    A partition without a start is read from its first record; one that appears later, too. Records that retention
    removed before they were read fail the query: a loss is never passed over. What a transactional producer aborted
    was never logged.
    """
    starting = {str(p): starts.get(p, _EARLIEST) for p in partitions}
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.bootstrap)
        .option("subscribe", settings.clicks_topic)
        .option("startingOffsets", json.dumps({settings.clicks_topic: starting}))
        .option("failOnDataLoss", "true")
        .option("kafka.isolation.level", "read_committed")
        .option("maxOffsetsPerTrigger", settings.max_batch_events)
        .option("groupIdPrefix", f"tallystick-{query}")
        .load()
        .select("value", "partition", "offset", "timestamp")
    )
