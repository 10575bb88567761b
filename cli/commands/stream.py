"""``tallystick stream``: the archive and the live count, until stopped or until caught up."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, print_table, working
from cli.files import write_whole
from domain.settings import Settings
from spark_jobs.stream_params import LOCK, StreamParams, StreamReceipt
from warehouse.catch_up import wait_until_caught_up
from warehouse.locks import is_locked
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from spark_jobs.stream import BatchProgress

LOCK_WAIT_SECONDS = 600.0
"""A process that goes on for ever waits for a catch-up that is under way; two such processes are a mistake."""


def stream(
    once: Annotated[bool, typer.Option(help="Catch up to now and end.")] = False,
    accept_new_log: Annotated[
        bool, typer.Option(help="Go on although the topic was recreated: register it as a new log.")
    ] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write what was done to this file, as JSON.")] = None,
) -> None:
    """Archive every click and count it live; safe to kill and to start again at any moment."""
    settings = load_settings()
    if once and is_locked(settings, LOCK):
        _wait_for_the_running_one(settings)
        return
    from spark_jobs.stream import run_stream
    from warehouse.spark.session import spark_session

    stop = Event()

    def request_stop(_signal: int, _frame: FrameType | None) -> None:
        note("stopping after what is under way; nothing is lost")
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, request_stop)
    if is_locked(settings, LOCK):
        note(f"another stream is at work: waiting until it ends, at most {LOCK_WAIT_SECONDS / 60:.0f} minutes")
    note("starting Spark, about 10 s")
    spark = spark_session(settings, "tallystick-stream")
    done = run_stream(
        settings,
        spark,
        StreamParams(once, accept_new_log, lock_wait_seconds=0 if once else LOCK_WAIT_SECONDS),
        _show_batch,
        stop.is_set,
    )
    if receipt is not None:
        write_whole(receipt, f"{done.to_json()}\n".encode())
    _show_receipt(done)


def _wait_for_the_running_one(settings: Settings) -> None:
    """One stream holds the checkpoints at a time; catching up is then its work."""
    with working("a stream runs already: waiting until it has passed the end of the log"):
        ends = wait_until_caught_up(settings)
    note(f"it has passed all {sum(ends.values()):,} records")


def _show_batch(batch: BatchProgress) -> None:
    if batch.rows:
        seconds = batch.duration_seconds
        rate = batch.rows / max(seconds, 0.001)
        note(f"{batch.query} batch {batch.batch_id}: {batch.rows:,} events in {seconds:.1f} s ({rate:,.0f}/s)")


def _show_receipt(done: StreamReceipt) -> None:
    print_table(
        ("what", "count"),
        [
            ("archived to raw_clicks", done.raw_rows),
            ("quarantined", done.quarantined_rows),
            ("looked at by live", done.live_looked_at_count),
            ("counted live", done.live_counted_count),
            ("refused by live as late", done.live_late_count),
        ],
        title=f"stream of log {done.log}, {done.duration_seconds:.0f} s",
    )
