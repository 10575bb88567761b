"""Ours as a contestant: archive and live together as the product runs them, or live alone out of the product's parts.

Belongs here: calling the product on a topic until it has caught up. What it does is ``spark_jobs/stream.py``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from parts.worker import serve
from pyspark.sql import SparkSession

from clicklog.offsets import first_offsets
from clicklog.topics import topic_id
from domain.settings import Settings
from spark_jobs.archive import known_ads
from spark_jobs.batch_guard import BatchGuard
from spark_jobs.kafka_source import read_clicks
from spark_jobs.live import LiveBatches, first_copies
from spark_jobs.stream import checkpoint_path, run_stream
from spark_jobs.stream_params import StreamParams
from warehouse.clock import now
from warehouse.logs import register_log
from warehouse.marks import LIVE_QUERY
from warehouse.spark.session import spark_session


def run(job: dict[str, Any], session_home: Path) -> dict[str, Any]:
    """One catch-up from the first record, in the job's home, whose tables and ads exist; Spark outlives that home."""
    settings = Settings(
        home=Path(job["home"]),
        kafka_bootstrap=job["bootstrap"],
        clicks_topic=job["topic"],
        max_batch_events=job["batch_events"],
    )
    spark = spark_session(replace(settings, home=session_home), "bench-ours")
    return with_archive(settings, spark) if job["has_archive"] else live_alone(settings, spark)


def with_archive(settings: Settings, spark: SparkSession) -> dict[str, Any]:
    """Both queries, as `tallystick stream --once` runs them."""
    receipt = run_stream(settings, spark, StreamParams(is_once=True))
    return {"counted": receipt.live_counted_count, "stage_seconds": receipt.stage_seconds}


def live_alone(settings: Settings, spark: SparkSession) -> dict[str, Any]:
    """The live query without the archive: not a way to run the product, but the like of a peer that has none."""
    topic = settings.clicks_topic
    first, found = first_offsets(settings, topic), topic_id(settings, topic)
    log = register_log(settings, topic, found, first, now(), accept_new=False)
    guard = BatchGuard(settings, checkpoint_path(settings, log, LIVE_QUERY), found)
    live = LiveBatches(settings, log, guard, list)
    records = read_clicks(spark, settings, {}, sorted(first), LIVE_QUERY)
    copies = first_copies(records, known_ads(spark, settings), settings.live_horizon)
    writer = copies.writeStream.foreachBatch(live).option("checkpointLocation", guard.checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    return {"counted": live.totals.counted, "stage_seconds": {LIVE_QUERY: list(live.stages.batches)}}


if __name__ == "__main__":
    serve(partial(run, session_home=Path(sys.argv[1])))
