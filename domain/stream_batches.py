"""Micro-batches as the stream reports them: how fresh live counts are, when a query will be level, what alerts.

Belongs here: arithmetic over batches that were recorded and over what the log says. Recording them is
``spark_jobs/batch_log.py``, keeping them ``warehouse/stream_batches.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WINDOW = timedelta(minutes=10)
"""Freshness and pace are those of the batches that ended within it."""
WINDOW_TEXT = f"{WINDOW // timedelta(minutes=1)} minutes"
QUANTILES = (50, 95, 99)
"""In per cent; the fields of ``Freshness`` are named by them."""
PER_CENT = 100


@dataclass(frozen=True)
class StreamBatch:
    """One finished micro-batch of one query; a row of table ``stream_batches``.

    ``in_count`` records were read: ``parsed_count`` valid events, of which ``click_count`` are clicks, and
    ``quarantined_count`` others. Live: ``click_count`` = ``duplicate_count`` + ``late_count`` + ``already_count`` +
    ``counted_count``; ``already_count`` are first copies that an earlier batch looked at. Archive: ``already_count``
    are records that its tables held, and the other three are None. ``first_appended_at`` and ``last_appended_at`` are
    those of the clicks counted, which readers see since ``visible_at``. ``lag_events``: by partition, what the log
    held beyond the batch when Spark planned it.
    """

    query: str
    log: int
    batch_id: int
    started_at: datetime
    ended_at: datetime
    in_count: int
    parsed_count: int
    quarantined_count: int
    click_count: int
    already_count: int
    stage_seconds: dict[str, float]
    lag_events: dict[int, int]
    duplicate_count: int | None = None
    late_count: int | None = None
    counted_count: int | None = None
    first_appended_at: datetime | None = None
    last_appended_at: datetime | None = None
    visible_at: datetime | None = None
    newest_appended_at: datetime | None = None
    watermark_at: datetime | None = None
    state_count: int = 0
    state_bytes: int = 0

    @property
    def duration(self) -> timedelta:
        return self.ended_at - self.started_at


@dataclass(frozen=True)
class Freshness:
    """How long clicks waited from the broker's append to the commit that shows them.

    A batch knows its first and its last append, so these are bounds: no click waited longer than ``worst_seconds``,
    which one did, and none less than ``best_seconds``. A quantile takes each click of a batch for its slowest one, so
    at least that share of the clicks waited no longer. Broker and stream may disagree by what their clocks do.
    """

    click_count: int
    best_seconds: float
    p50_seconds: float
    p95_seconds: float
    p99_seconds: float
    worst_seconds: float


@dataclass(frozen=True)
class Pace:
    """How a stream is set up to go: pause between starts, most records a batch."""

    trigger: timedelta
    max_batch_events: int


@dataclass(frozen=True)
class Forecast:
    """When a query has read what the log holds, at its pace of late and the log's growth; the rates are None without
    batches. ``level_at`` is None if that cannot be told, or if the log grows faster than the query reads."""

    query: str
    lag_events: int
    read_per_second: float | None = None
    growth_per_second: float | None = None
    level_at: datetime | None = None


def ended_within(batches: Iterable[StreamBatch], at: datetime) -> list[StreamBatch]:
    """The batches of the window before ``at``."""
    return [batch for batch in batches if at - WINDOW < batch.ended_at <= at]


def freshness_of(batches: Iterable[StreamBatch]) -> Freshness | None:
    """Over all clicks that these batches counted; None if they counted none."""
    slowest: list[tuple[float, int]] = []
    best = float("inf")
    for batch in batches:
        if batch.counted_count and batch.visible_at and batch.first_appended_at and batch.last_appended_at:
            slowest.append(((batch.visible_at - batch.first_appended_at).total_seconds(), batch.counted_count))
            best = min(best, (batch.visible_at - batch.last_appended_at).total_seconds())
    if not slowest:
        return None
    p50, p95, p99 = (_quantile(sorted(slowest), per_cent) for per_cent in QUANTILES)
    return Freshness(sum(count for _, count in slowest), best, p50, p95, p99, max(slowest)[0])


def _quantile(ascending: Sequence[tuple[float, int]], per_cent: int) -> float:
    """The lowest value that this share of all clicks, or more, does not exceed."""
    total = sum(count for _, count in ascending)
    so_far = 0
    for seconds, count in ascending:
        so_far += count
        if PER_CENT * so_far >= per_cent * total:
            return seconds
    return ascending[-1][0]


def forecast(query: str, batches: Iterable[StreamBatch], lag_events: int, pace: Pace, at: datetime) -> Forecast:
    """Of a query that runs and is ``lag_events`` behind at ``at``; ``batches`` are those of the window, of any query.

    What fits into one batch is read by the next one, whatever the pace of small batches is, which cost what they cost.
    """
    own = sorted((batch for batch in batches if batch.query == query), key=lambda batch: batch.started_at)
    if not own:
        return Forecast(query, lag_events, level_at=None if lag_events else at)
    steps = [max(batch.duration, pace.trigger) for batch in own]
    read_per_second = sum(batch.in_count for batch in own) / max(sum(steps, timedelta()).total_seconds(), 1.0)
    growth_per_second = _growth(own, lag_events, at)
    level_at = None
    if lag_events == 0:
        level_at = at
    elif lag_events <= pace.max_batch_events:
        level_at = at + max(steps)
    elif read_per_second > growth_per_second:
        level_at = at + timedelta(seconds=lag_events / (read_per_second - growth_per_second))
    return Forecast(query, lag_events, read_per_second, growth_per_second, level_at)


def _growth(batches: Sequence[StreamBatch], lag_events: int, at: datetime) -> float:
    """Records a second that the log took in since the first of these batches was planned."""
    first, *later = batches
    appended = lag_events - sum(first.lag_events.values()) + sum(batch.in_count for batch in later)
    return max(appended, 0) / max((at - first.started_at).total_seconds(), 1.0)


def freshness_alerts(freshness: Freshness | None, overdue_events: int | None, bound: timedelta) -> list[str]:
    """Why somebody should look; nothing if live counts are as fresh as they should be.

    ``overdue_events``: records that live has not looked at though they were appended longer than ``bound`` ago; None
    if the log does not answer.
    """
    alerts = []
    bound_seconds = bound.total_seconds()
    if freshness is not None and freshness.worst_seconds > bound_seconds:
        alerts.append(
            f"of the last {WINDOW_TEXT} a click waited {freshness.worst_seconds:.1f} s "
            f"until it was seen; expected at most {bound_seconds:.0f} s"
        )
    if overdue_events:
        alerts.append(f"{overdue_events:,} records wait for live longer than {bound_seconds:.0f} s")
    return alerts
