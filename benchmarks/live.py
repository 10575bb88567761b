"""How fast the stream is, end to end, beside a plain Structured Streaming job on the same topic in the same run.

Ours: archive and live together, three tables appended, one MERGE a batch, marks written. The peer only reads, parses,
deduplicates and counts, to a sink that drops everything; so the ratio says what the guarantees cost. Prints what it
does, and on its last line one JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from clicklog.broker import start_broker
from clicklog.topics import ensure_topics
from domain.buckets import hour_of
from domain.settings import Settings
from spark_jobs.stream import BatchProgress, run_stream
from spark_jobs.stream_params import StreamParams
from traffic.options import Shares, TrafficOptions
from traffic.run import generate
from warehouse.clock import now
from warehouse.spark.session import jvm_pid, spark_session

EVENTS, QUICK_EVENTS = 2_000_000, 60_000
BATCH_EVENTS, QUICK_BATCH_EVENTS = 200_000, 15_000
BROKER_PORT = 27_192
MIB = 1 << 20
PEER_FIELDS = "impression_id STRING, ad_id BIGINT, clicked_at TIMESTAMP, country STRING, device STRING, kind STRING"


def main(is_quick: bool) -> dict[str, Any]:
    """Sends the traffic, runs both, returns the figures."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="tallystick-bench-")))
        batch_events = QUICK_BATCH_EVENTS if is_quick else BATCH_EVENTS
        settings = Settings(home=home, broker_port=BROKER_PORT, max_batch_events=batch_events)
        stack.enter_context(start_broker(settings, print))
        ensure_topics(settings)
        sent = send(settings, QUICK_EVENTS if is_quick else EVENTS)
        spark = spark_session(settings, "bench-live")
        stack.callback(spark.stop)
        ours = run_ours(settings, spark)
        peer = run_peer(settings, spark)
    figures = {"events": sent, **ours, **peer}
    figures["warm_rate_ratio_to_plain"] = round(
        figures["warm_events_per_second"] / figures["plain_events_per_second"], 3
    )
    return figures


def send(settings: Settings, clicks: int, hours: int = 3) -> int:
    """Traffic of the last hours with the usual oddities; returns the records sent."""
    until = hour_of(now())
    options = TrafficOptions(
        clicks_count=clicks,
        seed=1,
        start_at=until - timedelta(hours=hours),
        end_at=until,
        late_bound_seconds=settings.late_bound_seconds,
        ads_count=2_000,
        advertisers_count=50,
        hot_share=0.3,
        shares=Shares(),
    )
    receipt = generate(settings, options, now(), lambda _: None)
    records = receipt.truth.records_count
    print(f"sent {records:,} records at {records / receipt.sending_seconds:,.0f}/s")
    return records


def run_ours(settings: Settings, spark: SparkSession) -> dict[str, Any]:
    """One catch-up of the stream; warm figures leave out each query's first two batches, in which the JVM compiles."""
    batches: list[BatchProgress] = []
    peak = 0

    def watch(batch: BatchProgress) -> None:
        nonlocal peak
        peak = max(peak, resident_bytes(spark))
        if batch.rows:
            batches.append(batch)
            print(f"ours: {batch.query} batch {batch.batch_id}, {batch.rows:,} events, {batch.duration_seconds:.2f} s")

    started = time.perf_counter()
    receipt = run_stream(settings, spark, StreamParams(is_once=True), watch)
    seconds = time.perf_counter() - started
    events = sum(receipt.next_offsets.values())
    warm = {query: [b for b in batches if b.query == query][2:] for query in ("archive", "live")}
    warm_rates = [sum(b.rows for b in of) / sum(b.duration_seconds for b in of) for of in warm.values() if of]
    return {
        "events_per_second": round(events / seconds),
        "warm_events_per_second": round(min(warm_rates)) if warm_rates else round(events / seconds),
        "warm_batch_stage_seconds": {query: median_stages(stages) for query, stages in receipt.stage_seconds.items()},
        "stream_resident_mib": round(peak / MIB),
    }


def median_stages(batches: list[dict[str, float]]) -> dict[str, float]:
    """Median seconds of each stage over the warm batches."""
    warm = batches[2:] or batches
    names = {name for batch in warm for name in batch}
    return {name: round(statistics.median(batch.get(name, 0.0) for batch in warm), 3) for name in sorted(names)}


def resident_bytes(spark: SparkSession) -> int:
    """Resident memory of this process and of its JVM."""
    pids = [psutil.Process().pid, jvm_pid(spark)]
    return sum(psutil.Process(pid).memory_info().rss for pid in pids if pid is not None)


def run_peer(settings: Settings, spark: SparkSession) -> dict[str, Any]:
    """The plain job, from the first record, same batch size, a state store of its own."""
    plain = replace(settings, home=settings.home / "plain")
    query = (
        plain_first_copies(plain, spark)
        .writeStream.foreachBatch(count_and_drop)
        .option("checkpointLocation", str(plain.home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = [(p.numInputRows, p.batchDuration / 1000) for p in query.recentProgress if p.numInputRows]
    warm = seconds[2:] or seconds
    for rows, duration in seconds:
        print(f"plain: {rows:,} events, {duration:.2f} s")
    return {"plain_events_per_second": round(sum(rows for rows, _ in warm) / sum(duration for _, duration in warm))}


def count_and_drop(copies: DataFrame, _batch_id: int) -> None:
    """Counts a batch into a sink that keeps nothing."""
    minute = F.date_trunc("minute", "clicked_at")
    copies.groupBy("ad_id", minute, "country", "device").count().write.format("noop").mode("overwrite").save()


def plain_first_copies(settings: Settings, spark: SparkSession) -> DataFrame:
    """Read, parse, deduplicate: as most tutorials have it."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.bootstrap)
        .option("subscribe", settings.clicks_topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.max_batch_events)
        .load()
    )
    events = records.select("timestamp", F.from_json(F.col("value").cast("string"), PEER_FIELDS).alias("e"))
    clicks = events.select("timestamp", "e.*").where("kind = 'click'")
    return clicks.withWatermark("timestamp", "12 hours").dropDuplicatesWithinWatermark(["impression_id", "ad_id"])


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv[1:])))
