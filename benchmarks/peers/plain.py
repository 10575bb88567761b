"""The plain peer: Structured Streaming as tutorials have it, on our session and batch size, into Delta.

It parses by ``from_json``, deduplicates by ``dropDuplicatesWithinWatermark`` over 24 hours and appends each batch's
counts: no versions, no MERGE, no marks, nothing refused. With an archive, a second query appends the parsed rows.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from parts.worker import serve
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from domain.settings import Settings
from warehouse.spark.session import spark_session

KEY = ("advertiser_id", "campaign_id", "ad_id", "minute", "country", "device")
COUNTED_FIELDS = (
    "impression_id STRING, ad_id BIGINT, advertiser_id BIGINT, campaign_id BIGINT, clicked_at TIMESTAMP, "
    "country STRING, device STRING, kind STRING"
)
ALL_FIELDS = f"{COUNTED_FIELDS}, v INT, ip STRING, user_agent STRING, server_id STRING, server_seq BIGINT"
WATERMARK_DELAY = "12 hours"
"""Spark keeps a key for twice the delay."""


def run(job: dict[str, Any], session_home: Path) -> dict[str, Any]:
    """One catch-up from the first record into fresh tables of the job's home; Spark outlives that home."""
    settings = Settings(
        home=Path(job["home"]),
        kafka_bootstrap=job["bootstrap"],
        clicks_topic=job["topic"],
        max_batch_events=job["batch_events"],
    )
    spark = spark_session(replace(settings, home=session_home), "bench-plain")
    queries = [count(settings, spark)]
    if job["has_archive"]:
        queries.append(archive(settings, spark))
    for query in queries:
        query.awaitTermination()
    return {"counts_path": str(settings.home / "counts")}


def count(settings: Settings, spark: SparkSession) -> StreamingQuery:
    """First copies by minute, each batch's counts appended."""
    clicks = parsed(settings, spark, COUNTED_FIELDS).where("kind = 'click'")
    copies = clicks.withWatermark("timestamp", WATERMARK_DELAY)
    copies = copies.dropDuplicatesWithinWatermark(["impression_id", "ad_id"])
    path = str(settings.home / "counts")

    def append(batch: DataFrame, _batch_id: int) -> None:
        counts = batch.withColumn("minute", F.date_trunc("minute", "clicked_at")).groupBy(*KEY).count()
        counts.write.format("delta").mode("append").save(path)

    writer = copies.writeStream.foreachBatch(append)
    return writer.option("checkpointLocation", f"{path}-checkpoint").trigger(availableNow=True).start()


def archive(settings: Settings, spark: SparkSession) -> StreamingQuery:
    """Every parsed row."""
    path = str(settings.home / "archive")
    writer = parsed(settings, spark, ALL_FIELDS).writeStream.format("delta").outputMode("append")
    return writer.option("checkpointLocation", f"{path}-checkpoint").trigger(availableNow=True).start(path)


def parsed(settings: Settings, spark: SparkSession, fields: str) -> DataFrame:
    """The topic's records as columns, with their append time."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.bootstrap)
        .option("subscribe", settings.clicks_topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.max_batch_events)
        .load()
    )
    return records.select("timestamp", F.from_json(F.col("value").cast("string"), fields).alias("e")).select(
        "timestamp", "e.*"
    )


if __name__ == "__main__":
    serve(partial(run, session_home=Path(sys.argv[1])))
