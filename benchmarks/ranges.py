"""How reconcile grows with the range, 1, 6 and 24 hours, and how long the independent recount of the 24 takes.

All in one warm session, on one stretch of traffic; the peer of the 24 hours is ``tallystick verify``, which recounts
them from raw with DuckDB. Prints what it does, and on its last line one JSON object.
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

from parts.sending import send  # beside this script

from clicklog.broker import start_broker
from clicklog.topics import ensure_topics
from domain.buckets import HOUR, hour_of, hours_between
from domain.errors import IntegrityError
from domain.settings import Settings
from quality.recount import verify
from spark_jobs.params import ReconcileParams
from spark_jobs.reconcile import reconcile
from spark_jobs.stream import run_stream
from spark_jobs.stream_params import StreamParams
from warehouse.clock import now
from warehouse.spark.session import spark_session

RANGES = (1, 6, 24)
WARMING_HOURS = 1
HOURS = WARMING_HOURS + sum(RANGES)
EVENTS, QUICK_EVENTS = 3_000_000, 16_000
BATCH_EVENTS = 400_000
BROKER_PORT = 27_294


def main(is_quick: bool) -> dict[str, Any]:
    """Seals an hour in which the JVM compiles, then each range; then verifies the longest. Times are in seconds."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="tallystick-bench-")))
        settings = Settings(home=home, broker_port=BROKER_PORT, max_batch_events=BATCH_EVENTS, grace_seconds=0)
        stack.enter_context(start_broker(settings, print))
        ensure_topics(settings)
        end = hour_of(now())
        send(settings, QUICK_EVENTS if is_quick else EVENTS, HOURS)
        spark = spark_session(settings, "bench-ranges")
        stack.callback(spark.stop)
        run_stream(settings, spark, StreamParams(is_once=True), lambda b: print(f"archiving: {b.rows:,} events"))
        start = end - HOURS * HOUR
        reconcile(settings, spark, ReconcileParams(start, start + HOUR, "bench"), now, progress=print)
        start += WARMING_HOURS * HOUR
        figures: dict[str, Any] = {}
        for hours in RANGES:
            started = time.perf_counter()
            receipt = reconcile(
                settings, spark, ReconcileParams(start, start + hours * HOUR, "bench"), now, progress=print
            )
            seconds = time.perf_counter() - started
            figures[f"hours_{hours}"] = {
                "clicks": sum(hour.raw_clicks for hour in receipt.hours),
                "seconds": round(seconds, 1),
                "seconds_per_hour": round(seconds / hours, 1),
            }
            print(f"{hours} hours: {seconds:.1f} s")
            start += hours * HOUR
        figures["verify_seconds"] = round(_verify(settings, end), 1)
        figures["verify_ratio_to_reconcile"] = round(figures["verify_seconds"] / seconds, 3)
    return figures


def _verify(settings: Settings, end: datetime) -> float:
    started = time.perf_counter()
    for verdict in verify(settings, list(hours_between(end - RANGES[-1] * HOUR, end)), on_progress=print):
        if not verdict.is_agreeing:
            raise IntegrityError(f"{verdict.subject}: {verdict.differences[0]}", "agreement", "look into it")
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv[1:])))
