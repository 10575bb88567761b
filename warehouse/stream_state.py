"""How the stream is doing at one moment: its batches of late, its lag, and what ``domain`` makes of them.

Belongs here: gathering for status, the metrics page and Dagster. What does not answer is left out, not raised.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from clicklog.broker import running_broker
from clicklog.clients import LogUnavailableError, TopicMissingError
from clicklog.offsets import end_offsets, offsets_at
from domain.settings import Settings
from domain.stream_batches import (
    Forecast,
    Freshness,
    Pace,
    StreamBatch,
    ended_within,
    forecast,
    freshness_alerts,
    freshness_of,
)
from warehouse.catch_up import QUERIES, lag
from warehouse.layout import TableMissingError
from warehouse.marks import LIVE_QUERY
from warehouse.stream_batches import batches_since

RECENT = timedelta(hours=1)
"""Older batches are not looked at; freshness and pace are of the last ten minutes of it."""


@dataclass(frozen=True)
class LogLag:
    """What the log holds beyond the marks, by query and partition; ``overdue_events`` of it wait for live too long."""

    events: dict[str, dict[int, int]]
    overdue_events: int


@dataclass(frozen=True)
class StreamState:
    """``batches``: those of the last hour, in the order of their ends. ``log_lag`` is None where the log does not
    answer, and then there are no forecasts; ``freshness`` is None if the last ten minutes counted nothing."""

    batches: list[StreamBatch]
    freshness: Freshness | None
    log_lag: LogLag | None
    forecasts: list[Forecast]
    alerts: list[str]


def read_stream_state(settings: Settings, at: datetime, is_running: bool) -> StreamState:
    """The state at ``at``. Waits at most as long as requests to the log may take. A stream that does not run has no
    pace, so nobody can tell when it is level."""
    batches = recent_batches(settings, at)
    log_lag = _log_lag(settings, at)
    window = ended_within(batches, at)
    freshness = freshness_of(window)
    pace = Pace(timedelta(seconds=settings.trigger_seconds), settings.max_batch_events)
    behind = {query: sum(events.values()) for query, events in log_lag.events.items()} if log_lag else {}
    return StreamState(
        batches=batches,
        freshness=freshness,
        log_lag=log_lag,
        forecasts=[forecast(query, window if is_running else [], behind[query], pace, at) for query in behind],
        alerts=freshness_alerts(freshness, log_lag.overdue_events if log_lag else None, settings.freshness_alert),
    )


def recent_batches(settings: Settings, at: datetime) -> list[StreamBatch]:
    """The batches of the hour before ``at``; none before a stream of this version ran."""
    try:
        return batches_since(settings, at - RECENT)
    except TableMissingError:
        return []


def _log_lag(settings: Settings, at: datetime) -> LogLag | None:
    if settings.is_broker_embedded and running_broker(settings) is None:
        return None
    try:
        ends = end_offsets(settings, settings.clicks_topic)
        events = {query: lag(settings, query, ends) for query in QUERIES}
        overdue_events = 0
        if any(events[LIVE_QUERY].values()):
            due = offsets_at(settings, settings.clicks_topic, at - settings.freshness_alert)
            overdue_events = sum(lag(settings, LIVE_QUERY, due).values())
    except (LogUnavailableError, TopicMissingError, TableMissingError):
        return None
    return LogLag(events, overdue_events)
