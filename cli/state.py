"""What ``tallystick status`` reports: the state of one installation at one moment, gathered from the rooms below.

Belongs here: asking, and leaving out what cannot be asked at the moment. What the numbers mean is decided below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cli.checks import listener_of
from clicklog.broker import running_broker
from clicklog.clients import LogUnavailableError, TopicMissingError
from clicklog.offsets import end_offsets
from domain.settings import Settings
from spark_jobs.next_seal import NextSeal, next_seal
from spark_jobs.stream_params import LOCK as STREAM_LOCK
from warehouse.layout import TableMissingError, open_table
from warehouse.locks import is_locked
from warehouse.logs import LogRow, current_log
from warehouse.marks import Mark, read_marks
from warehouse.publications import latest_publication
from warehouse.stream_state import StreamState, read_stream_state

CREATED_BY_VERSION = 0
"""The first version of a table is its creation, without rows."""
BATCHES_SHOWN = 5
"""Of each query."""


@dataclass(frozen=True)
class ProcessState:
    """A part of the system. ``detail`` is where it is: a process, a port, a lock."""

    name: str
    is_running: bool
    detail: str


@dataclass(frozen=True)
class PartitionLag:
    """How far the two streams are behind the end of one partition; None before they looked at it for the first time."""

    partition: int
    end_offset: int
    archive_lag_events: int
    live_lag_events: int


@dataclass(frozen=True)
class State:
    """``partitions`` is None where the log does not answer; ``log_problem`` then says why.

    ``next_seal`` is None before the first click was archived.
    """

    processes: list[ProcessState]
    partitions: list[PartitionLag] | None
    log_problem: str | None
    last_live_batch_at: datetime | None
    live_logged_at: datetime | None
    final_until: datetime | None
    next_seal: NextSeal | None
    stream: StreamState


def read_state(settings: Settings, at: datetime) -> State:
    """The state now. Waits at most as long as a request to the log may take; what does not run is no error."""
    try:
        log = current_log(settings, settings.clicks_topic)
        marks = {query: read_marks(settings, query, log.log) if log else {} for query in ("archive", "live")}
        last_live_batch_at = _last_commit_at(settings, "live_clicks_minute")
        publication = latest_publication(settings)
    except TableMissingError:
        log, marks, last_live_batch_at, publication = None, {"archive": {}, "live": {}}, None, None
    partitions, log_problem = _partitions(settings, log, marks)
    live_times = [mark.logged_at for mark in marks["live"].values() if mark.logged_at is not None]
    return State(
        processes=_processes(settings),
        partitions=partitions,
        log_problem=log_problem,
        last_live_batch_at=last_live_batch_at,
        live_logged_at=max(live_times, default=None),
        final_until=publication.final_until if publication else None,
        next_seal=next_seal(settings, at, log_problem) if log else None,
        stream=_stream(settings, at),
    )


def _stream(settings: Settings, at: datetime) -> StreamState:
    """With the last few batches only, those of one query after those of the other."""
    state = read_stream_state(settings, at, is_locked(settings, STREAM_LOCK))
    of_query = ([b for b in state.batches if b.query == query] for query in sorted({b.query for b in state.batches}))
    return replace(state, batches=[batch for batches in of_query for batch in batches[-BATCHES_SHOWN:]])


def _processes(settings: Settings) -> list[ProcessState]:
    pid = running_broker(settings) if settings.is_broker_embedded else None
    broker = ProcessState("broker", pid is not None, f"process {pid} at {settings.bootstrap}" if pid else "")
    if not settings.is_broker_embedded:
        broker = ProcessState("broker", True, f"not ours: {settings.bootstrap}")
    ports = {"click": settings.click_port, "metrics": settings.metrics_port, "dagster": settings.dagster_port}
    return [
        broker,
        *(
            ProcessState(name, is_locked(settings, name), f"lock {name}, which maintenance takes, too")
            for name in ("stream", "reconcile")
        ),
        *(ProcessState(name, listener_of(port) is not None, f"port {port}") for name, port in ports.items()),
    ]


def _partitions(
    settings: Settings, log: LogRow | None, marks: dict[str, dict[int, Mark]]
) -> tuple[list[PartitionLag] | None, str | None]:
    if settings.is_broker_embedded and running_broker(settings) is None:
        return None, "the broker does not run; `tallystick broker` or `make up` starts it"
    try:
        ends = end_offsets(settings, settings.clicks_topic)
    except (LogUnavailableError, TopicMissingError) as error:
        return None, str(error)
    first = log.first_offsets if log else {}

    def lag(query: str, partition: int) -> int:
        mark = marks[query].get(partition)
        return ends[partition] - (mark.offset + 1 if mark else first.get(partition, 0))

    return [
        PartitionLag(each, end, lag("archive", each), lag("live", each)) for each, end in sorted(ends.items())
    ], None


def _last_commit_at(settings: Settings, table: str) -> datetime | None:
    """When the table got its newest rows; None if it never got any."""
    newest = open_table(settings, table).history(1)[0]
    if newest["version"] == CREATED_BY_VERSION:
        return None
    return datetime.fromtimestamp(newest["timestamp"] / 1000, UTC)
