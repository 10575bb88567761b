"""Edge counts: the record as docs/log.md describes it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from clicklog.edge_counts import EdgeCount


def test_the_record() -> None:
    count = EdgeCount("edge-1", datetime(2026, 1, 31, 12, 5, tzinfo=UTC), "bad_signature", 3)
    assert json.loads(count.encode()) == {
        "v": 1,
        "server_id": "edge-1",
        "minute": "2026-01-31T12:05:00Z",
        "reason": "bad_signature",
        "count": 3,
    }
