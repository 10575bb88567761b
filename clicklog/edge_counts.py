"""Edge counts: how many requests of a minute never became click events, and why.

Belongs here: the record. Which requests are refused, and under which reason, is the click service's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from domain.buckets import format_utc

EDGE_COUNT_VERSION = 1


@dataclass(frozen=True)
class EdgeCount:
    """``count`` more requests that ``server_id`` refused for ``reason`` in the minute starting at ``minute``.

    Records of one server, minute and reason add up, so a minute can be reported in parts.
    """

    server_id: str
    minute: datetime
    reason: str
    count: int

    def encode(self) -> bytes:
        """The value of its record; the key is ``server_id``."""
        document = {
            "v": EDGE_COUNT_VERSION,
            "server_id": self.server_id,
            "minute": format_utc(self.minute),
            "reason": self.reason,
            "count": self.count,
        }
        return json.dumps(document).encode()
