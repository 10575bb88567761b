"""The stream as a process: it goes on, takes in new ads, stops when asked, and there is one of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.errors import WriterBusyError
from domain.stream_batches import StreamBatch
from spark_jobs.stream import BatchProgress, checkpoint_path, run_stream
from spark_jobs.stream_params import LOCK, StreamParams, StreamReceipt
from tests.support.events import click
from tests.support.stream_world import StreamWorld, minutes_ago
from warehouse.catch_up import wait_until_caught_up
from warehouse.locks import writer_lock
from warehouse.stream_batches import batches_since

pytestmark = [pytest.mark.spark, pytest.mark.broker]

WAIT_SECONDS = 300.0


class RunningStream:
    """A stream that goes on in a thread until it is asked to stop."""

    def __init__(self, world: StreamWorld) -> None:
        self._stop = threading.Event()
        self.batches: list[BatchProgress] = []
        self.receipt: StreamReceipt | None = None
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(world,))
        self._thread.start()

    def _run(self, world: StreamWorld) -> None:
        try:
            self.receipt = run_stream(
                world.settings, world.spark, StreamParams(), self.batches.append, self._stop.is_set
            )
        except Exception as error:  # noqa: BLE001 # raised again for the test, in its own thread
            self.failure = error

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        if self.failure:
            raise self.failure


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_an_ad_added_while_the_stream_runs_is_known_to_both_queries(world: StreamWorld) -> None:
    """A7: the ads are read anew for every batch; a stream need not be restarted for a new campaign."""
    small = world.sized(trigger_seconds=0)
    small.send([click("before", minutes_ago(5))])
    stream = RunningStream(small)
    try:
        wait_for(lambda: bool(small.live()))
        small.know_ads(99)
        small.send([click("after", minutes_ago(5), ad_id=99)])
        wait_until_caught_up(small.settings, WAIT_SECONDS)
    finally:
        stream.stop()
    assert {key.ad_id for key in small.live()} == {17, 99}
    assert {row["ad_id"] for row in small.rows("raw_clicks")} == {17, 99}
    assert stream.receipt is not None
    assert stream.receipt.live_counted_count == 2
    assert {batch.query for batch in stream.batches} == {"archive", "live"}


def test_a_stop_lets_the_batch_end_that_is_under_way(world: StreamWorld) -> None:
    """Broken into, Spark's own stop prints pages of errors about what was only interrupted."""
    world.send(click(f"imp-{i}", minutes_ago(1)) for i in range(20))
    planned = Path(checkpoint_path(world.settings, 1, "archive")) / "offsets" / "0"
    stream = RunningStream(world)
    try:
        wait_for(planned.exists)
    finally:
        stream.stop()
    assert stream.receipt is not None, stream.failure
    assert stream.receipt.raw_rows == len(world.positions("raw_clicks")) == 20


def test_a_second_stream_is_refused(world: StreamWorld) -> None:
    with writer_lock(world.settings, LOCK), pytest.raises(WriterBusyError):
        world.run()


def test_each_batch_leaves_a_row_that_adds_up_to_the_receipt(world: StreamWorld) -> None:
    """Q1: counted on the way, by what the batch computes anyway; nothing is read a second time for it."""
    first = [click(f"imp-{n}", minutes_ago(5)) for n in range(30)]
    world.send([*first, *first[:7], click("head", minutes_ago(5), kind="head"), (b"k", b"{")])
    receipt = world.run()
    world.lose_checkpoint("live")
    world.send([*first[:3], click("new", minutes_ago(5)), click("late", minutes_ago(30))])
    again = world.run()
    batches = batches_since(world.settings, minutes_ago(60))
    for batch in batches:
        assert batch.in_count == batch.parsed_count + batch.quarantined_count
        assert set(batch.lag_events.values()) == {0}
        assert set(batch.lag_events) == {0, 1, 2}
    archive, live = ([b for b in batches if b.query == query] for query in ("archive", "live"))
    assert [total_of(archive, name) for name in ("in_count", "already_count")] == [44, 0]
    assert total_of(archive, "parsed_count") == receipt.raw_rows + again.raw_rows
    assert total_of(archive, "click_count") == receipt.identity_rows + again.identity_rows
    assert total_of(archive, "quarantined_count") == receipt.quarantined_rows + again.quarantined_rows
    # Live reads 39 records, 37 of them clicks on 30 identities; then, without its checkpoint, 39 + 5 of which 42 are
    # clicks, with 7 + 3 repeats, 30 first copies that it had looked at, and two new ones, one of them late.
    outcomes = ("in_count", "click_count", "duplicate_count", "late_count", "already_count", "counted_count")
    assert [total_of(live, name) for name in outcomes] == [39 + 44, 37 + 42, 7 + 10, 1, 30, 30 + 1]
    assert total_of(live, "counted_count") == receipt.live_counted_count + again.live_counted_count
    assert total_of(live, "late_count") == receipt.live_late_count + again.live_late_count
    assert live[0].first_appended_at is not None
    assert live[0].first_appended_at <= live[0].last_appended_at < live[0].visible_at < live[0].ended_at
    assert max(b.state_count for b in live) == 32
    assert {"merge", "marks", "spark"} <= set(live[0].stage_seconds)


def total_of(batches: list[StreamBatch], name: str) -> int:
    return sum(getattr(batch, name) for batch in batches)
