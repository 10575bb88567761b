"""The stream as a process: it goes on, takes in new ads, stops when asked, and there is one of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.errors import WriterBusyError
from spark_jobs.stream import BatchProgress, checkpoint_path, run_stream
from spark_jobs.stream_params import LOCK, StreamParams, StreamReceipt
from tests.support.events import click
from tests.support.stream_world import StreamWorld, minutes_ago
from warehouse.catch_up import wait_until_caught_up
from warehouse.locks import writer_lock

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
