"""How fast hours are reconciled and sealed, beside DuckDB doing the same deduplication and count over the same files.

Ours: plan, recount with look-back, exclusions, comparison with live, laws checked on what was written, seal and
publication. The peer reads the raw files, keeps the first copy of each click and counts: nothing is written. Prints
what it does, and on its last line one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import psutil
from parts.contestant import MIB, tree_resident_bytes
from parts.sending import send  # beside this script
from pyspark.sql import SparkSession

from clicklog.broker import start_broker
from clicklog.topics import ensure_topics
from domain.buckets import HOUR, hour_of
from domain.settings import Settings
from spark_jobs.params import ReconcileParams
from spark_jobs.reconcile import reconcile
from spark_jobs.stream import run_stream
from spark_jobs.stream_params import StreamParams
from warehouse.clock import now
from warehouse.layout import dataset_of, open_table
from warehouse.spark.session import spark_session

EVENTS, QUICK_EVENTS = 5_000_000, 40_000
BATCH_EVENTS = 400_000
HOURS = 3
BROKER_PORT = 27_292
FIRST_COPIES = """
SELECT count(*) FROM (
    SELECT advertiser_id, campaign_id, ad_id, date_trunc('minute', clicked_at), country, device, count(*)
    FROM (
        SELECT *, row_number() OVER (
            PARTITION BY impression_id, ad_id ORDER BY logged_at, log, "partition", "offset"
        ) AS copy
        FROM raw WHERE kind = 'click'
    )
    WHERE copy = 1 GROUP BY ALL
)
"""


def main(is_quick: bool) -> dict[str, Any]:
    """Archives the traffic, then reconciles its hours and lets the peer count them; returns the figures."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="tallystick-bench-")))
        settings = Settings(home=home, broker_port=BROKER_PORT, max_batch_events=BATCH_EVENTS, grace_seconds=0)
        stack.enter_context(start_broker(settings, print))
        ensure_topics(settings)
        first = hour_of(now()) - HOURS * HOUR  # archiving much takes long, and the clock goes on
        events = send(settings, QUICK_EVENTS if is_quick else EVENTS)
        spark = spark_session(settings, "bench-reconcile")
        stack.callback(spark.stop)
        receipt = run_stream(
            settings, spark, StreamParams(is_once=True), lambda b: print(f"archiving: {b.rows:,} events")
        )
        print(f"archived {receipt.raw_rows:,} of {events:,} records")
        figures = run_ours(settings, spark, first)
        figures |= run_peer(settings, receipt.raw_rows)
    figures["rate_ratio_to_duckdb"] = round(figures["clicks_per_second"] / figures["duckdb_clicks_per_second"], 3)
    return figures


def run_ours(settings: Settings, spark: SparkSession, first: datetime) -> dict[str, Any]:
    """One hour alone, in which the JVM compiles; then the others together; then the first again, a verification."""
    runs = {
        "first_hour": (first, first + HOUR),
        "range": (first + HOUR, first + HOURS * HOUR),
        "verify": (first, first + HOUR),
    }
    seconds: dict[str, float] = {}
    raw = 0
    for name, (start, end) in runs.items():
        started = time.perf_counter()
        receipt = reconcile(settings, spark, ReconcileParams(start, end, "bench"), now, progress=print)
        seconds[name] = round(time.perf_counter() - started, 2)
        raw = sum(hour.raw_clicks for hour in receipt.hours) if name == "range" else raw
        print(f"{name}: {seconds[name]} s")
    return {
        "range_clicks": raw,
        "seconds": seconds,
        "clicks_per_second": round(raw / seconds["range"]),
        "resident_mib": round(tree_resident_bytes(psutil.Process().pid) / MIB),
    }


def run_peer(settings: Settings, raw_rows: int) -> dict[str, Any]:
    """DuckDB over all the raw files, on as many threads as Spark has."""
    columns = [
        "impression_id", "ad_id", "advertiser_id", "campaign_id", "clicked_at", "country", "device",
        "kind", "logged_at", "log", "partition", "offset",
    ]  # fmt: skip
    connection = duckdb.connect(config={"threads": psutil.cpu_count() or 1})
    connection.execute("SET TimeZone = 'UTC'")
    started = time.perf_counter()
    connection.register("raw", dataset_of(open_table(settings, "raw_clicks")).scanner(columns=columns).to_reader())
    connection.sql(FIRST_COPIES).fetchall()
    seconds = time.perf_counter() - started
    print(f"duckdb: {raw_rows:,} clicks in {seconds:.2f} s")
    return {"duckdb_clicks_per_second": round(raw_rows / seconds)}


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv[1:])))
