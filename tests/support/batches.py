"""Micro-batches for tests that watch a stream without running one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.stream_batches import StreamBatch

AT = datetime(2026, 5, 3, 12, tzinfo=UTC)


def batch(
    query: str = "live", ended_seconds_ago: float = 30, duration_seconds: float = 4, **changes: Any
) -> StreamBatch:
    """One that ended before ``AT`` and read 100 records: 90 clicks on 80 identities, of which 70 were counted."""
    ended_at = AT - timedelta(seconds=ended_seconds_ago)
    fields: dict[str, Any] = {
        "query": query,
        "log": 1,
        "batch_id": 7,
        "started_at": ended_at - timedelta(seconds=duration_seconds),
        "ended_at": ended_at,
        "in_count": 100,
        "parsed_count": 98,
        "quarantined_count": 2,
        "click_count": 90,
        "already_count": 4,
        "stage_seconds": {"merge": 2.5, "spark": 0.25},
        "lag_events": {0: 0, 1: 3},
        "newest_appended_at": ended_at - timedelta(seconds=5),
    }
    if query == "live":
        fields |= {
            "duplicate_count": 10,
            "late_count": 6,
            "counted_count": 70,
            "first_appended_at": ended_at - timedelta(seconds=9),
            "last_appended_at": ended_at - timedelta(seconds=5),
            "visible_at": ended_at - timedelta(seconds=1),
            "watermark_at": ended_at - timedelta(hours=12),
            "state_count": 80,
            "state_bytes": 4_096,
        }
    return StreamBatch(**fields | changes)


def waited(first_seconds: float, last_seconds: float, clicks: int) -> StreamBatch:
    """A live batch whose clicks waited between these seconds."""
    visible_at = AT - timedelta(seconds=60)
    return batch(
        counted_count=clicks,
        visible_at=visible_at,
        first_appended_at=visible_at - timedelta(seconds=first_seconds),
        last_appended_at=visible_at - timedelta(seconds=last_seconds),
    )
