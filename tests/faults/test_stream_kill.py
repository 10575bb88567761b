"""The stream process killed again and again at random moments: in the end everything is counted once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from domain.buckets import hour_of
from domain.settings import Settings
from tests.support.processes import SHORT_LIVED_JAVA
from tests.support.stream_world import StreamWorld
from traffic.options import Shares, TrafficOptions
from traffic.run import generate
from warehouse.clock import now

pytestmark = [pytest.mark.spark, pytest.mark.broker]

CLICKS = 12_000
BATCH_EVENTS = 1_000
WAIT_SECONDS = 180.0
"""Until a started stream reports its first batch; a busy machine takes long to start a JVM."""
STREAM = "from cli.main import main; main()"


def start_stream(settings: Settings, log: Path) -> subprocess.Popen[bytes]:
    """The stream as people run it, with every setting passed by environment."""
    values = {f"TALLYSTICK_{name.upper()}": str(value) for name, value in asdict(settings).items()}
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-c", STREAM, "stream"],
            env={**os.environ, **SHORT_LIVED_JAVA, **values},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def wait_for_batch(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while " batch " not in log.read_text(encoding="utf-8", errors="replace"):
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")
        assert time.monotonic() < deadline, "no batch"
        time.sleep(0.1)


@pytest.mark.parametrize("kills", [3, pytest.param(8, marks=pytest.mark.soak)])
def test_killed_at_random_moments_counts_everything_once(
    world: StreamWorld, spark: SparkSession, tmp_path: Path, kills: int
) -> None:
    """Laws 4 and 7; A11, L2: SIGKILL, then a restart, again and again; then equal to the truth, raw, live and late."""
    until = hour_of(now())
    options = TrafficOptions(
        clicks_count=CLICKS,
        seed=11,
        start_at=until - timedelta(hours=2),
        end_at=until,
        late_bound_seconds=world.settings.late_bound_seconds,
        ads_count=50,
        advertisers_count=4,
        hot_share=0.3,
        shares=Shares(),
    )
    truth = generate(world.settings, options, now(), lambda _: None).truth
    small = world.sized(max_batch_events=BATCH_EVENTS, trigger_seconds=0)
    dice = random.Random(11)
    for kill in range(kills):
        log = tmp_path / f"stream-{kill}.log"
        process = start_stream(small.settings, log)
        wait_for_batch(process, log)
        time.sleep(dice.uniform(0, 3))
        process.send_signal(signal.SIGKILL)
        process.wait()

    world.run()
    totals = truth.totals()
    assert len(world.positions("raw_clicks")) == len(set(world.positions("raw_clicks"))) == totals["raw"]
    assert len(world.positions("quarantined_clicks")) == totals["quarantined"]
    assert len(set(world.positions("late_clicks"))) == len(world.positions("late_clicks")) == totals["late"]
    assert world.live() == truth.live_rows()
