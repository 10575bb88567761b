"""Click events for tests: a good one, changed where a test says so."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

ADVERTISER, CAMPAIGN, AD = 3, 5, 17


def click(impression_id: str, clicked_at: datetime, **changes: Any) -> tuple[bytes, bytes]:
    """Key and value of a record; ``changes`` replace or add fields."""
    fields = {
        "v": 1,
        "impression_id": impression_id,
        "ad_id": AD,
        "advertiser_id": ADVERTISER,
        "campaign_id": CAMPAIGN,
        "clicked_at": clicked_at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "country": "US",
        "device": "mobile",
        "ip": "198.51.100.7",
        "user_agent": "Mozilla/5.0",
        "kind": "click",
        "server_id": "edge-1",
        "server_seq": 0,
        **changes,
    }
    return impression_id.encode(), json.dumps(fields).encode()
