"""``GET /metrics``: how the stream is doing, for a Prometheus that shows an operator's token.

Belongs here: which gauges there are, and the way from the stream's state to them. The state itself is gathered by
``warehouse/stream_state.py``, as is the one that ``tallystick status`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response

from domain.settings import Settings
from domain.stream_batches import WINDOW_TEXT, StreamBatch, ended_within
from services.exposition import CONTENT_TYPE, Gauge, Sample, exposition
from services.metrics.access import check_operator
from services.metrics.refusals import NO_STORE
from services.tokens import Caller
from spark_jobs.stream_params import LOCK
from warehouse.locks import is_locked
from warehouse.stream_state import StreamState, read_stream_state

GAUGES_PATH = "/metrics"

IS_RUNNING = Gauge("tallystick_stream_is_running", "1 while the stream's lock is held: by a stream or by maintenance")
LOG_ANSWERS = Gauge("tallystick_log_answers", "1 if the log answered; else nothing is said of lag")
LAG = Gauge("tallystick_stream_lag_events", "records of the log that a query has not looked at")
OVERDUE = Gauge("tallystick_stream_overdue_events", "records that wait for live longer than freshness_alert_seconds")
LEVEL_AT = Gauge("tallystick_stream_level_timestamp_seconds", "when a query will be level; absent if nobody can tell")
FRESHNESS = Gauge(
    "tallystick_stream_freshness_seconds",
    f"broker append to visible, clicks counted in the last {WINDOW_TEXT}: quantiles from above, worst exact",
)
ALERTS = Gauge("tallystick_stream_alerts", "reasons for somebody to look, as status prints them")
RECORDS = Gauge("tallystick_stream_recent_records", f"what became of the records of the last {WINDOW_TEXT}")
ENDED_AT = Gauge("tallystick_stream_last_batch_timestamp_seconds", "when the last batch ended")
DURATION = Gauge("tallystick_stream_last_batch_seconds", "how long the last batch took")
STAGE = Gauge("tallystick_stream_last_batch_stage_seconds", "how long each stage of the last batch took")
STATE_COUNT = Gauge("tallystick_stream_state_rows", "rows in the state store after the last batch")
STATE_BYTES = Gauge("tallystick_stream_state_bytes", "memory of the state store after the last batch")
WATERMARK = Gauge("tallystick_stream_watermark_timestamp_seconds", "event time up to which state is forgotten")

OUTCOMES = ("in", "parsed", "quarantined", "click", "duplicate", "late", "already", "counted")


class StreamGauges:
    """Answers callers of role operator, one at a time."""

    def __init__(self, settings: Settings, now: Callable[[], datetime], caller_of: Callable[[Request], Caller]) -> None:
        self._settings, self._now, self._caller_of = settings, now, caller_of
        self._limiter = CapacityLimiter(1)

    async def get(self, request: Request) -> Response:
        """The gauges as text."""
        check_operator(self._caller_of(request))
        text = await to_thread.run_sync(partial(self._text, self._now()), limiter=self._limiter)
        return Response(text, media_type=CONTENT_TYPE, headers=NO_STORE)

    def _text(self, at: datetime) -> str:
        is_running = is_locked(self._settings, LOCK)
        return exposition(samples(read_stream_state(self._settings, at, is_running), is_running, at))


def samples(state: StreamState, is_running: bool, at: datetime) -> Iterator[Sample]:
    """Every gauge whose value is known."""
    yield Sample(IS_RUNNING, int(is_running))
    yield Sample(LOG_ANSWERS, int(state.log_lag is not None))
    if state.log_lag is not None:
        for query, events in state.log_lag.events.items():
            for partition, count in sorted(events.items()):
                yield Sample(LAG, count, {"query": query, "partition": str(partition)})
        yield Sample(OVERDUE, state.log_lag.overdue_events)
    for each in state.forecasts:
        if each.level_at is not None:
            yield Sample(LEVEL_AT, each.level_at.timestamp(), {"query": each.query})
    if state.freshness is not None:
        for bound in ("best", "p50", "p95", "p99", "worst"):
            yield Sample(FRESHNESS, getattr(state.freshness, f"{bound}_seconds"), {"bound": bound})
    yield Sample(ALERTS, len(state.alerts))
    yield from _of_window(ended_within(state.batches, at))
    for batch in {batch.query: batch for batch in state.batches}.values():
        yield from _of_last(batch)


def _of_window(batches: list[StreamBatch]) -> Iterator[Sample]:
    for query in sorted({batch.query for batch in batches}):
        for outcome in OUTCOMES:
            counts = [getattr(batch, f"{outcome}_count") for batch in batches if batch.query == query]
            if None not in counts:
                yield Sample(RECORDS, sum(counts), {"query": query, "outcome": outcome})


def _of_last(batch: StreamBatch) -> Iterator[Sample]:
    labels = {"query": batch.query}
    yield Sample(ENDED_AT, batch.ended_at.timestamp(), labels)
    yield Sample(DURATION, batch.duration.total_seconds(), labels)
    for stage, seconds in batch.stage_seconds.items():
        yield Sample(STAGE, seconds, labels | {"stage": stage})
    yield Sample(STATE_COUNT, batch.state_count, labels)
    yield Sample(STATE_BYTES, batch.state_bytes, labels)
    if batch.watermark_at is not None:
        yield Sample(WATERMARK, batch.watermark_at.timestamp(), labels)
