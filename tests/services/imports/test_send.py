"""Imported events in a real log: announced first, all there, closed behind them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from clicklog.watermarks import read_watermarks
from domain.buckets import parse_utc
from domain.settings import Settings
from services.imports.judge import Event
from services.imports.send import send_events
from tests.support.click_process import records_of

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
FIRST = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.broker
def test_no_hour_is_sealed_while_events_are_on_their_way(log_settings: Settings) -> None:
    """Law 7: the first watermark lies before the first event and promises nothing past it."""
    events = [Event(b"k%d" % n, b"{}", FIRST) for n in range(10)]
    assert send_events(log_settings, events, "import-1", FIRST, AT) == 10
    marks = records_of(log_settings, log_settings.edge_watermarks_topic)
    clicks = records_of(log_settings, log_settings.clicks_topic)
    assert [parse_utc(mark.document["accepted_until"]) for mark in marks] == [FIRST, AT]
    assert marks[0].appended_ms <= clicks[0].appended_ms
    assert marks[-1].appended_ms >= clicks[-1].appended_ms
    assert read_watermarks(log_settings)["import-1"].is_closing
    assert {record.key for record in clicks} == {event.key for event in events}
