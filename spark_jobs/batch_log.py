"""What a stream keeps of its micro-batches, for those who watch it: made of what each batch has computed anyway.

Belongs here: joining what a query knows of a batch with what Spark tells of it, and handing rows on in one commit for
many. Loads no Spark. The rows wait in memory for a moment, so a killed process takes the last few with it; nothing
depends on them, and neither a commit that fails, which is tried again with the next rows, nor a report that says
something else than expected halts the stream.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from deltalake.exceptions import CommitFailedError, DeltaError

from domain.buckets import from_unix_micros, parse_utc
from domain.errors import TallystickError
from domain.settings import Settings
from domain.stream_batches import StreamBatch
from warehouse.stream_batches import append_batches, tidy_batches

APPEND_EVERY = timedelta(seconds=10)
MAX_WAITING = 10_000
"""The oldest go first, should no commit succeed for hours."""
READ, FIRST_COPIES = "read", "first_copies"
"""What Spark observes of a live batch: the records as they are parsed, and what deduplication let through."""
SPARK_STAGE = "spark"
_PASSING = (DeltaError, CommitFailedError, OSError, TallystickError)
"""What may go wrong with the table and is no reason to halt a stream."""
_UNEXPECTED = (KeyError, ValueError, TypeError, AttributeError)
"""What a report of another shape ends in; another version of Spark may leave out, null or add to what it says."""
_NO_WATERMARK = from_unix_micros(0)

log = logging.getLogger("tallystick.stream")


@dataclass(frozen=True)
class ReadCounts:
    """What a batch read; see ``StreamBatch``."""

    in_count: int
    parsed_count: int
    quarantined_count: int
    click_count: int
    newest_appended_micros: int | None


@dataclass(frozen=True)
class CountedClicks:
    """What a live batch made of its first copies."""

    late_count: int
    counted_count: int
    first_appended_at: datetime | None
    last_appended_at: datetime | None
    visible_at: datetime


@dataclass(frozen=True)
class BatchWork:
    """What a query knows of a batch that it has worked through. ``read`` and ``already_count`` are the archive's, whose
    parsing is a part of its work; of live, where it is a part of the plan, Spark observes them."""

    next_offsets: dict[int, int]
    stage_seconds: dict[str, float]
    read: ReadCounts | None = None
    already_count: int = 0
    counted: CountedClicks | None = None


def stream_batch(query: str, log_number: int, work: BatchWork, progress: Mapping[str, Any]) -> StreamBatch:
    """The row of a batch. ``progress`` is Spark's own report of it, as JSON says it."""
    started_at = parse_utc(progress["timestamp"])
    duration = timedelta(milliseconds=progress["batchDuration"])
    read = work.read or _observed_read(progress)
    spark_seconds = max(duration.total_seconds() - sum(work.stage_seconds.values()), 0.0)
    watermark_at = parse_utc(progress.get("eventTime", {}).get("watermark", _NO_WATERMARK.isoformat()))
    newest = read.newest_appended_micros
    return StreamBatch(
        query=query,
        log=log_number,
        batch_id=progress["batchId"],
        started_at=started_at,
        ended_at=started_at + duration,
        in_count=read.in_count,
        parsed_count=read.parsed_count,
        quarantined_count=read.quarantined_count,
        click_count=read.click_count,
        stage_seconds={name: round(s, 3) for name, s in (work.stage_seconds | {SPARK_STAGE: spark_seconds}).items()},
        lag_events=_lag(progress, work.next_offsets),
        newest_appended_at=None if newest is None else from_unix_micros(newest),
        watermark_at=None if watermark_at == _NO_WATERMARK else watermark_at,
        state_count=sum(operator["numRowsTotal"] for operator in progress["stateOperators"]),
        state_bytes=sum(operator["memoryUsedBytes"] for operator in progress["stateOperators"]),
        **_outcomes(work, read, progress),
    )


def _outcomes(work: BatchWork, read: ReadCounts, progress: Mapping[str, Any]) -> dict[str, Any]:
    if work.counted is None:
        return {"already_count": work.already_count}
    copies = _observed(progress, FIRST_COPIES).get("copy_count", 0)
    return vars(work.counted) | {
        "duplicate_count": read.click_count - copies,
        "already_count": copies - work.counted.late_count - work.counted.counted_count,
    }


def _observed_read(progress: Mapping[str, Any]) -> ReadCounts:
    found = _observed(progress, READ)
    counts = (found.get(name, 0) for name in ("in_count", "parsed_count", "quarantined_count", "click_count"))
    return ReadCounts(*counts, found.get("newest_appended_micros"))


def _observed(progress: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Empty where Spark left the whole plan out, as it does where there was nothing to read."""
    return dict(progress.get("observedMetrics", {}).get(name, {}))


def _lag(progress: Mapping[str, Any], next_offsets: Mapping[int, int]) -> dict[int, int]:
    """From the log's ends that Spark asked for when it planned the batch: no question of our own."""
    (source,) = progress["sources"]
    ends = {int(p): end for topic in (source.get("latestOffset") or {}).values() for p, end in topic.items()}
    return {p: max(end - next_offsets.get(p, 0), 0) for p, end in sorted(ends.items())}


class BatchLog:
    """Rows on their way into ``stream_batches``; used by one thread."""

    def __init__(self, settings: Settings, started_at: datetime) -> None:
        self._settings, self._appended_at = settings, started_at
        self._waiting: deque[StreamBatch] = deque(maxlen=MAX_WAITING)

    def add(self, query: str, log_number: int, work: BatchWork, progress: Mapping[str, Any]) -> None:
        """Takes the row of a batch in, see ``stream_batch``; commits nothing. One that Spark reports in a way of its
        own has no row, and is logged."""
        try:
            self._waiting.append(stream_batch(query, log_number, work, progress))
        except _UNEXPECTED as error:
            batch_id = progress.get("batchId")
            log.warning("batch %s of the %s query has no row, Spark's report of it: %r", batch_id, query, error)

    def append_due(self, at: datetime) -> None:
        """Appends what waits if it was not done for a while."""
        if at - self._appended_at >= APPEND_EVERY:
            self._appended_at = at
            self.append_all(at)

    def append_all(self, at: datetime) -> None:
        """Appends what waits, and then tidies the table; what goes wrong is logged, and rows not appended wait on."""
        if not self._waiting:
            return
        try:
            append_batches(self._settings, list(self._waiting))
        except _PASSING as error:
            log.warning("%s batches are not in table stream_batches yet: %s", len(self._waiting), error)
            return
        self._waiting.clear()
        try:
            tidy_batches(self._settings, at)
        except _PASSING as error:
            log.warning("table stream_batches has all batches, and more files and dates than it needs: %s", error)
