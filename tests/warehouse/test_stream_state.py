"""The stream's state as status and the metrics page show it: from the table and the log, and from what there is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from clicklog.offsets import end_offsets, first_offsets
from clicklog.producer import ClickProducer
from clicklog.topics import topic_id
from domain.settings import Settings
from tests.support.batches import AT, batch
from tests.support.empty_tables import make_empty_tables
from tests.support.events import click
from warehouse.clock import now
from warehouse.logs import register_log
from warehouse.marks import Mark, write_marks
from warehouse.stream_batches import append_batches
from warehouse.stream_state import LogLag, read_stream_state


def test_before_any_stream_there_is_nothing_to_say(tmp_path: Path) -> None:
    state = read_stream_state(Settings(home=tmp_path), AT, is_running=False)
    assert (state.batches, state.freshness, state.log_lag, state.forecasts, state.alerts) == ([], None, None, [], [])


def test_freshness_is_of_the_last_ten_minutes_and_alerts(settings: Settings) -> None:
    slow = batch(ended_seconds_ago=700)
    append_batches(settings, [replace(slow, first_appended_at=AT - timedelta(hours=1)), batch()])
    state = read_stream_state(replace(settings, freshness_alert_seconds=7), AT, is_running=True)
    assert len(state.batches) == 2
    assert state.freshness is not None
    assert state.freshness.worst_seconds == 8.0
    assert state.alerts == ["of the last 10 minutes a click waited 8.0 s until it was seen; expected at most 7 s"]


@pytest.mark.broker
def test_records_that_wait_too_long_alert_though_no_batch_says_so(log_settings: Settings) -> None:
    """A stream that hangs or is off writes no batch; the log and the marks tell."""
    make_empty_tables(log_settings)
    producer = ClickProducer(log_settings)
    for number in range(30):
        producer.send(*click(f"imp-{number}", now()))
    producer.flush(30)
    topic = log_settings.clicks_topic
    log = register_log(log_settings, topic, topic_id(log_settings, topic), first_offsets(log_settings, topic), now())
    ends = end_offsets(log_settings, topic)
    write_marks(
        log_settings, "archive", log, [Mark("archive", log, p, end - 1, None, now()) for p, end in ends.items()]
    )
    soon = read_stream_state(log_settings, now(), is_running=True)
    assert soon.log_lag == LogLag({"archive": dict.fromkeys(ends, 0), "live": ends}, overdue_events=0)
    assert soon.alerts == []
    in_a_while = now() + timedelta(seconds=log_settings.freshness_alert_seconds + 5)
    later = read_stream_state(log_settings, in_a_while, is_running=False)
    assert later.alerts == ["30 records wait for live longer than 120 s"]
    assert [(each.query, each.lag_events, each.level_at) for each in later.forecasts] == [
        ("archive", 0, in_a_while),
        ("live", 30, None),
    ]
