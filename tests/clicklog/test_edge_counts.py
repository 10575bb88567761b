"""Edge counts: the record as docs/log.md describes it, and those of a range added up."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clicklog.edge_counts import EdgeCount, EdgeCounts, decode_edge_count, read_edge_counts
from clicklog.producer import ClickProducer
from domain.settings import Settings

COUNT = EdgeCount("edge-1", datetime(2024, 1, 31, 12, 5, tzinfo=UTC), "bad_signature", 3)
MINUTE = timedelta(minutes=1)
FLUSH_SECONDS = 30


def test_the_record() -> None:
    count = EdgeCount("edge-1", datetime(2026, 1, 31, 12, 5, tzinfo=UTC), "bad_signature", 3)
    assert json.loads(count.encode()) == {
        "v": 1,
        "server_id": "edge-1",
        "minute": "2026-01-31T12:05:00Z",
        "reason": "bad_signature",
        "count": 3,
    }


def test_what_is_written_is_read() -> None:
    assert decode_edge_count(COUNT.encode()) == COUNT


@pytest.mark.parametrize(
    "changes",
    [{"v": 2}, {"count": -1}, {"count": True}, {"count": 1.5}, {"reason": None}, {"minute": "2024-01-31T12:05"}, None],
    ids=["version", "negative", "boolean", "fraction", "no reason", "no zone", "no record"],
)
def test_what_is_no_edge_count_is_none(changes: dict[str, object] | None) -> None:
    value = None if changes is None else json.dumps(json.loads(COUNT.encode()) | changes).encode()
    assert decode_edge_count(value) is None


@pytest.mark.broker
def test_reports_of_a_range_add_up(log_settings: Settings) -> None:
    """R4: parts of one minute, several servers; the minute before and the one at the end are not in it."""
    producer = ClickProducer(log_settings)
    values = [
        replace(COUNT, minute=COUNT.minute - MINUTE, count=100).encode(),
        COUNT.encode(),
        COUNT.encode(),
        replace(COUNT, server_id="edge-2", minute=COUNT.minute + MINUTE, count=4).encode(),
        replace(COUNT, reason="unknown_ad", count=1).encode(),
        replace(COUNT, minute=COUNT.minute + 2 * MINUTE, count=1_000).encode(),
        b"nonsense",
    ]
    for value in values:
        producer.send(b"edge-1", value, topic=log_settings.edge_counts_topic)
    producer.flush(FLUSH_SECONDS)
    found = read_edge_counts(log_settings, COUNT.minute, COUNT.minute + 2 * MINUTE)
    assert found == EdgeCounts({"bad_signature": 10, "unknown_ad": 1, "unreadable_report": 1}, is_whole=True)
