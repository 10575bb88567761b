"""The stream process: the archive query and the live query in one Spark driver.

Belongs here: start, supervision and stop of the two queries. What a batch does is in ``archive.py`` and ``live.py``.
The two are independent: each has its checkpoint and its marks, and neither waits for the other.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clicklog.offsets import first_offsets, offsets_at
from clicklog.topics import check_topics, topic_id
from domain.errors import IntegrityError, TallystickError
from domain.seals import current_seals
from domain.settings import Settings
from spark_jobs.archive import ArchiveBatches, known_ads
from spark_jobs.batch_guard import BatchGuard
from spark_jobs.batch_log import BatchLog, BatchWork
from spark_jobs.kafka_source import read_clicks
from spark_jobs.live import LiveBatches, first_copies
from spark_jobs.stream_params import LOCK, StreamParams, StreamReceipt
from warehouse.clock import now
from warehouse.create import create_missing_tables, refuse_lost_tables
from warehouse.locks import writer_lock
from warehouse.logs import register_log
from warehouse.marks import ARCHIVE_QUERY, LIVE_QUERY
from warehouse.seals import read_seals
from warehouse.spark.session import jvm_pid

POLL_SECONDS = 0.5
FINISH_SECONDS = 45.0
"""How long a stop waits for the batch that is under way; less than `make up` waits for the stream."""


@dataclass(frozen=True)
class BatchProgress:
    """One finished micro-batch, for people who watch."""

    query: str
    batch_id: int
    rows: int
    duration_seconds: float


class StreamFailedError(TallystickError):
    """A query ended with an error that no other class describes."""

    exit_code = 4


@dataclass
class _Query:
    """A running query with its batches; keeps the error that Spark turns into text, and what each batch did until
    Spark reports it."""

    name: str
    batches: Callable[[DataFrame, int], BatchWork]
    failure: TallystickError | None = None
    last_batch_id: int = -1
    work: dict[int, BatchWork] = field(default_factory=dict)
    handle: StreamingQuery = field(init=False)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        try:
            self.work[batch_id] = self.batches(frame, batch_id)
        except TallystickError as error:
            self.failure = error
            raise

    def start(self, frame: DataFrame, checkpoint: str, params: StreamParams, trigger_seconds: int) -> None:
        writer = frame.writeStream.queryName(self.name).foreachBatch(self).option("checkpointLocation", checkpoint)
        if params.is_once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{trigger_seconds} seconds")
        try:
            self.handle = writer.start()
        except PySparkException as error:
            raise self.failed(error) from error

    @property
    def is_in_batch(self) -> bool:
        return self.handle.isActive and bool(self.handle.status["isTriggerActive"])

    @property
    def newest_batch(self) -> int:
        """Id of the last batch that ended, -1 before the first."""
        progress = self.handle.lastProgress
        return progress.batchId if progress else -1

    def failed(self, error: PySparkException) -> TallystickError:
        """Our own error where there is one; Spark hands on only its text."""
        return self.failure or StreamFailedError(
            f"the {self.name} query ended: {str(error).strip().splitlines()[0]}",
            "a query that goes on",
            "look the cause up in docs/runbook.md, mend it and start the stream again; nothing is counted twice",
        )


def run_stream(
    settings: Settings,
    spark: SparkSession,
    params: StreamParams,
    on_batch: Callable[[BatchProgress], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> StreamReceipt:
    """Run both queries until they have caught up (``is_once``) or ``should_stop``; holds the stream's writer lock.

    Repeatable and safe to kill at any moment. Raises ``WriterBusyError`` if another stream runs,
    ``TopicRecreatedError`` if the topic is another one, ``IntegrityError`` if Spark dropped rows as too old.
    """
    started_at = now()
    refuse_lost_tables(settings)
    create_missing_tables(settings)
    with writer_lock(settings, LOCK, params.lock_wait_seconds) as lock:
        pid = jvm_pid(spark)
        if pid is not None:
            lock.record_child(pid)
        check_topics(settings)
        found = topic_id(settings, settings.clicks_topic)
        first = first_offsets(settings, settings.clicks_topic)
        log = register_log(settings, settings.clicks_topic, found, first, now(), accept_new=params.accepts_new_log)
        guards = {
            query: BatchGuard(settings, checkpoint_path(settings, log, query), found)
            for query in (ARCHIVE_QUERY, LIVE_QUERY)
        }
        archive = ArchiveBatches(spark, settings, log, guards[ARCHIVE_QUERY])
        live = LiveBatches(settings, log, guards[LIVE_QUERY], lambda: sorted(current_seals(read_seals(settings))))
        queries = _start(settings, spark, params, archive=archive, live=live, partitions=sorted(first))
        batch_log = BatchLog(settings, started_at)
        try:
            _supervise(queries, partial(_report, log, batch_log, on_batch), should_stop)
        finally:
            batch_log.append_all(now())
    return _receipt(log, archive, live, (now() - started_at).total_seconds())


def checkpoint_path(settings: Settings, log: int, query: str) -> str:
    """Where a query keeps its progress; a new log starts anew."""
    return str(settings.home / "checkpoints" / f"log-{log}" / query)


def _start(
    settings: Settings,
    spark: SparkSession,
    params: StreamParams,
    *,
    archive: ArchiveBatches,
    live: LiveBatches,
    partitions: list[int],
) -> list[_Query]:
    records = read_clicks(spark, settings, archive.next_offsets, partitions, ARCHIVE_QUERY)
    replayed = read_clicks(spark, settings, _one_horizon_back(settings, live), partitions, LIVE_QUERY)
    copies = first_copies(replayed, known_ads(spark, settings), settings.live_horizon)
    queries = [_Query(ARCHIVE_QUERY, archive), _Query(LIVE_QUERY, live)]
    queries[0].start(records, archive.guard.checkpoint, params, settings.trigger_seconds)
    try:
        queries[1].start(copies, live.guard.checkpoint, params, settings.trigger_seconds)
    except TallystickError:
        queries[0].handle.stop()
        raise
    return queries


def _one_horizon_back(settings: Settings, live: LiveBatches) -> dict[int, int]:
    """Without a checkpoint the dedup state is rebuilt from what was logged one horizon before the mark."""
    if live.oldest_mark is None:
        return {}
    return offsets_at(settings, settings.clicks_topic, live.oldest_mark - settings.live_horizon)


def _supervise(queries: list[_Query], report: Callable[[_Query], None], should_stop: Callable[[], bool]) -> None:
    try:
        while any(query.handle.isActive for query in queries) and not should_stop():
            for query in queries:
                _await(query)
                report(query)
        _finish_batches(queries)
        for query in queries:
            if not query.handle.isActive:
                _await(query)  # one that failed since we last looked says so here, or nowhere
            report(query)
    finally:
        for query in queries:
            query.handle.stop()


def _finish_batches(queries: list[_Query]) -> None:
    """Wait for the batch that each query is in: Spark's own stop breaks into it, with pages of errors about that."""
    deadline = time.monotonic() + FINISH_SECONDS
    for query in queries:
        batch = query.newest_batch
        while query.is_in_batch and query.newest_batch == batch and time.monotonic() < deadline:
            _await(query)


def _await(query: _Query) -> None:
    try:
        query.handle.awaitTermination(POLL_SECONDS)
    except StreamingQueryException as error:
        raise query.failed(error) from error


def _report(log: int, batch_log: BatchLog, on_batch: Callable[[BatchProgress], None], query: _Query) -> None:
    batch_log.append_due(now())
    if query.newest_batch <= query.last_batch_id:
        return
    for progress in query.handle.recentProgress:
        if progress.batchId <= query.last_batch_id:
            continue
        query.last_batch_id = progress.batchId
        told = json.loads(progress.json)
        work = query.work.pop(progress.batchId, None)
        if work is not None:
            batch_log.add(query.name, log, work, told)
        refuse_dropped_rows(query.name, told)
        seconds = timedelta(milliseconds=progress.batchDuration).total_seconds()
        on_batch(BatchProgress(query.name, progress.batchId, progress.numInputRows, seconds))


def refuse_dropped_rows(query: str, progress: dict[str, Any]) -> None:
    """``IntegrityError`` if a stateful operator of this batch left out rows; Spark itself only counts them."""
    dropped = sum(operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"])
    if dropped:
        raise IntegrityError(
            f"Spark dropped {dropped} rows of the {query} query in batch {progress['batchId']} as too old",
            "append times within half the dedup horizon of each other",
            "a partition lags far behind the others: see docs/runbook.md, then delete the query's checkpoint",
        )


def _receipt(log: int, archive: ArchiveBatches, live: LiveBatches, duration_seconds: float) -> StreamReceipt:
    return StreamReceipt(
        log=log,
        raw_rows=archive.rows["raw_clicks"],
        identity_rows=archive.rows["click_identities"],
        quarantined_rows=archive.rows["quarantined_clicks"],
        live_looked_at_count=live.totals.looked_at,
        live_counted_count=live.totals.counted,
        live_late_count=live.totals.late,
        next_offsets=archive.next_offsets,
        duration_seconds=duration_seconds,
        stage_seconds={ARCHIVE_QUERY: list(archive.stages.batches), LIVE_QUERY: list(live.stages.batches)},
    )
