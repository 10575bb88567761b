"""The archive query: every record of the log into raw_clicks and click_identities, or into quarantined_clicks.

Belongs here: what happens to one micro-batch. Three tables, three commits; each takes only what lies above its own
mark, the highest offset it holds, so that a batch repeated after a crash, or a lost or restored checkpoint, neither
doubles nor skips a row. Counting is not done here.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F

from domain.settings import Settings
from spark_jobs.batch_guard import BatchGuard
from spark_jobs.batch_log import BatchWork, ReadCounts
from spark_jobs.stages import StageTimes
from spark_jobs.transforms.batch_counts import read_counts
from spark_jobs.transforms.lateness import literal_by_partition
from spark_jobs.transforms.parse import click_date, click_hour, dimensions, identity, minted_at, parse_events
from warehouse.held_offsets import held_offsets
from warehouse.layout import table_uri
from warehouse.marks import ARCHIVE_QUERY, Mark, read_marks, write_marks
from warehouse.spark.append import append_rows
from warehouse.table import Table
from warehouse.tables import CLICK_IDENTITIES, QUARANTINED_CLICKS, RAW_CLICKS

_TABLES = (RAW_CLICKS, CLICK_IDENTITIES, QUARANTINED_CLICKS)
_BELONGS = {
    RAW_CLICKS.name: "reason IS NULL",
    CLICK_IDENTITIES.name: "reason IS NULL AND kind = 'click'",
    QUARANTINED_CLICKS.name: "reason IS NOT NULL",
}


def known_ads(spark: SparkSession, settings: Settings) -> DataFrame:
    """ad_id of every ad that was ever in the ads table, as of whenever the frame is read."""
    return spark.read.format("delta").load(table_uri(settings, "ads")).select("ad_id").distinct()


class ArchiveBatches:
    """Called by Spark with each micro-batch of records. ``rows`` counts what was written, per table."""

    def __init__(self, spark: SparkSession, settings: Settings, log: int, guard: BatchGuard) -> None:
        self._spark, self._settings, self._log, self.guard = spark, settings, log, guard
        self._marks = read_marks(settings, ARCHIVE_QUERY, log)
        self._own_marks = {table.name: self._read_own_mark(table) for table in _TABLES}
        self.rows = {table.name: 0 for table in _TABLES}
        self.stages = StageTimes()

    @property
    def next_offsets(self) -> dict[int, int]:
        """Where a query without a checkpoint goes on."""
        return {partition: mark.offset + 1 for partition, mark in self._marks.items()}

    def __call__(self, records: DataFrame, batch_id: int) -> BatchWork:
        self.stages.start_batch()
        ends = self.guard.end_offsets(batch_id)
        events = self._logged(parse_events(records, known_ads(self._spark, self._settings))).persist()
        try:
            seen = self._append_all(events)
        finally:
            events.unpersist()
        with self.stages.stage("marks"):
            self._move_marks(ends, {row["partition"]: row["logged_at"].astimezone(UTC) for row in seen})
        read = _read(seen)
        archived_count = sum(row[table.name] for row in seen for table in (RAW_CLICKS, QUARANTINED_CLICKS))
        return BatchWork(ends, self.stages.batches[-1], read, already_count=read.in_count - archived_count)

    def _append_all(self, events: DataFrame) -> list[Row]:
        """Append to each table what it lacks; returns per partition what was seen: its newest logged_at, and counts."""
        lacking = {t.name: F.expr(_BELONGS[t.name]) & (F.col("offset") > self._own_mark(t)) for t in _TABLES}
        counts = [F.count_if(lacking[table.name]).alias(table.name) for table in _TABLES]
        with self.stages.stage("read_and_parse"):
            aggregates = (F.max("logged_at").alias("logged_at"), *counts, *read_counts())
            seen = events.groupBy("partition").agg(*aggregates).collect()
        for table, select in zip(_TABLES, (_raw_rows, _identity_rows, _quarantine_rows), strict=True):
            count = sum(row[table.name] for row in seen)
            if count:
                with self.stages.stage(table.name):
                    append_rows(select(events.where(lacking[table.name])), self._settings, table)
            self.rows[table.name] += count
        return seen

    def _logged(self, events: DataFrame) -> DataFrame:
        """``logged_at``: the running maximum of append times in offset order, carried over from earlier batches."""
        so_far = Window.partitionBy("partition").orderBy("offset").rowsBetween(Window.unboundedPreceding, 0)
        carried = {p: mark.logged_at for p, mark in self._marks.items() if mark.logged_at is not None}
        logged_at = F.greatest(F.max("appended_at").over(so_far), literal_by_partition(carried, "timestamp"))
        return events.withColumn("logged_at", logged_at).withColumn("log", F.lit(self._log))

    def _own_mark(self, table: Table) -> Column:
        return F.coalesce(literal_by_partition(self._own_marks[table.name], "bigint"), F.lit(-1))

    def _read_own_mark(self, table: Table) -> dict[int, int]:
        """The highest offset in the table, per partition. The query's mark may lag but never leads, so only rows
        logged since need to be looked at."""
        logged = [mark.logged_at for mark in self._marks.values() if mark.logged_at is not None]
        held = held_offsets(self._settings, table, self._log, min(logged, default=None))
        marked = {partition: mark.offset for partition, mark in self._marks.items()}
        return {p: max(held.get(p, -1), marked.get(p, -1)) for p in held.keys() | marked.keys()}

    def _move_marks(self, ends: dict[int, int], newest: dict[int, datetime]) -> None:
        self._marks |= {p: self._moved_mark(p, end, newest.get(p)) for p, end in ends.items() if end > 0}
        write_marks(self._settings, ARCHIVE_QUERY, self._log, self._marks.values())
        for own in self._own_marks.values():
            own.update({p: max(own.get(p, -1), mark.offset) for p, mark in self._marks.items()})

    def _moved_mark(self, partition: int, end: int, newest: datetime | None) -> Mark:
        old = self._marks.get(partition)
        offset = max(end - 1, old.offset if old else -1)
        return Mark(ARCHIVE_QUERY, self._log, partition, offset, None, newest or (old.logged_at if old else None))


def _read(seen: list[Row]) -> ReadCounts:
    counts = (
        sum(row[name] for row in seen) for name in ("in_count", "parsed_count", "quarantined_count", "click_count")
    )
    return ReadCounts(*counts, max((row["newest_appended_micros"] for row in seen), default=None))


def _raw_rows(events: DataFrame) -> DataFrame:
    with_hour = events.withColumn("click_date", click_date()).withColumn("click_hour", click_hour())
    return with_hour.withColumnRenamed("value", "payload").select(*RAW_CLICKS.column_names)


def _identity_rows(events: DataFrame) -> DataFrame:
    columns: dict[str, Column] = {
        "identity": identity(),
        "minted_at": minted_at(),
        "dimensions": dimensions(),
        "log_date": F.to_date("logged_at"),
    }
    return events.withColumns(columns).select(*CLICK_IDENTITIES.column_names)


def _quarantine_rows(events: DataFrame) -> DataFrame:
    with_date = events.withColumn("log_date", F.to_date("logged_at")).withColumnRenamed("value", "payload")
    return with_date.select(*QUARANTINED_CLICKS.column_names)
