"""Parameters and receipt of the stream job; loads no Spark, so that whoever launches it can import them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from warehouse.locks import STREAM_LOCK

LOCK = STREAM_LOCK
"""The writer lock that a running stream holds."""


@dataclass(frozen=True)
class StreamParams:
    """``is_once``: catch up to now and end; else go on until stopped. ``accepts_new_log``: a recreated topic is
    registered as a new log instead of halting the stream. ``lock_wait_seconds``: how long another holder of the lock
    may take to end, such as a catch-up that is under way when the process is started."""

    is_once: bool = False
    accepts_new_log: bool = False
    lock_wait_seconds: float = 0


@dataclass(frozen=True)
class StreamReceipt:
    """What a run of the stream did. Counts are of this run; ``next_offsets`` is where each query goes on;
    ``stage_seconds`` has, per query, the stages of its last batches."""

    log: int
    raw_rows: int
    identity_rows: int
    quarantined_rows: int
    live_looked_at_count: int
    live_counted_count: int
    live_late_count: int
    next_offsets: dict[int, int]
    duration_seconds: float
    stage_seconds: dict[str, list[dict[str, float]]]

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)
