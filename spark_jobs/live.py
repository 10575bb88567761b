"""The live query: counts clicks by minute within seconds, each click once, whatever is replayed.

Belongs here: the streaming plan up to the first copy of each click, and what happens to a micro-batch of first copies.
Two guards, on purpose: the mark says what has been looked at at all, the ``versions`` of a row what it has counted.
Versions alone would count a duplicate again whose first copy lies before a replayed range; the mark alone would not
survive a partly repaired table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from domain.settings import Settings
from spark_jobs.batch_guard import BatchGuard
from spark_jobs.batch_log import FIRST_COPIES, READ, BatchWork, CountedClicks
from spark_jobs.stages import StageTimes
from spark_jobs.transforms.batch_counts import copy_count, read_counts
from spark_jobs.transforms.count import LIVE_KEY, partial_counts
from spark_jobs.transforms.lateness import is_in_hours, judge_lateness, literal_by_partition
from spark_jobs.transforms.parse import click_date, click_hour, identity, minute, parse_events
from warehouse.clock import now
from warehouse.layout import table_uri
from warehouse.marks import LIVE_QUERY, Mark, read_marks, write_marks
from warehouse.spark.append import append_rows
from warehouse.spark.merge import PartialOverlapError, drop_counted, merge_counts
from warehouse.tables import LATE_CLICKS, LIVE_CLICKS_MINUTE


def first_copies(records: DataFrame, known_ads: DataFrame, horizon: timedelta) -> DataFrame:
    """A stream of the first copy of each valid click within the dedup horizon.

    Event time is the append time, never a click server's clock. Spark keeps an identity for twice the delay, so the
    delay is half the horizon. Of copies in one batch the lowest offset wins, because a partition's order survives the
    shuffle; that is Spark's habit, not its promise, and a test holds it. What passes is counted on the way.
    """
    valid = parse_events(records, known_ads).observe(READ, *read_counts()).where("reason IS NULL AND kind = 'click'")
    clicks = valid.select(
        "partition", "offset", "appended_at", "clicked_at", identity().alias("identity"), *_DIMENSIONS
    )
    delay_seconds = int(horizon.total_seconds()) // 2
    copies = clicks.withWatermark("appended_at", f"{delay_seconds} seconds").dropDuplicatesWithinWatermark(["identity"])
    return copies.observe(FIRST_COPIES, copy_count())


_DIMENSIONS = tuple(name for name in LIVE_KEY if name != "minute")


@dataclass
class LiveTotals:
    """What a run of the query did, for its receipt."""

    looked_at: int = 0
    counted: int = 0
    late: int = 0


@dataclass
class _Seen:
    """One batch at a glance: per partition the newest times, and which hours and minutes it touches."""

    highest_clicked_at: dict[int, datetime] = field(default_factory=dict)
    appended_at: dict[int, datetime] = field(default_factory=dict)
    hours: set[tuple[date, int]] = field(default_factory=set)
    minutes: tuple[datetime, datetime] | None = None
    counted_appended_at: tuple[datetime, datetime] | None = None
    late_dates: set[date] = field(default_factory=set)
    on_time: int = 0
    late: int = 0


class LiveBatches:
    """Called by Spark with each micro-batch of first copies. ``sealed_hours`` is asked once a batch."""

    def __init__(
        self,
        settings: Settings,
        log: int,
        guard: BatchGuard,
        sealed_hours: Callable[[], list[datetime]],
    ) -> None:
        self._settings, self._log, self.guard, self._sealed_hours = settings, log, guard, sealed_hours
        self._uri = table_uri(settings, LIVE_CLICKS_MINUTE.name)
        self._marks = read_marks(settings, LIVE_QUERY, log)
        self.totals = LiveTotals()
        self.stages = StageTimes()

    @property
    def oldest_mark(self) -> datetime | None:
        """logged_at of the partition that lags most; one horizon before it a query without checkpoint starts."""
        return min((mark.logged_at for mark in self._marks.values() if mark.logged_at), default=None)

    def __call__(self, copies: DataFrame, batch_id: int) -> BatchWork:
        self.stages.start_batch()
        ends = self.guard.end_offsets(batch_id)
        clicks = self._judged(self._not_looked_at(copies)).persist()
        try:
            with self.stages.stage("read_parse_dedup"):
                seen = _look(clicks)
            with self.stages.stage("late"):
                self._append_late(clicks, seen)
            with self.stages.stage("merge"):
                self._merge(clicks.where("late_reason IS NULL"), seen)
                visible_at = now()
        finally:
            clicks.unpersist()
        with self.stages.stage("marks"):
            self._move_marks(ends, seen)
        self.totals.counted += seen.on_time
        self.totals.late += seen.late
        counted = CountedClicks(seen.late, seen.on_time, *(seen.counted_appended_at or (None, None)), visible_at)
        return BatchWork(ends, self.stages.batches[-1], counted=counted)

    def _not_looked_at(self, copies: DataFrame) -> DataFrame:
        marks = {partition: mark.offset for partition, mark in self._marks.items()}
        return copies.where(F.col("offset") > F.coalesce(literal_by_partition(marks, "bigint"), F.lit(-1)))

    def _judged(self, copies: DataFrame) -> DataFrame:
        highest = {p: mark.highest_clicked_at for p, mark in self._marks.items() if mark.highest_clicked_at}
        bucket = {"minute": minute(), "click_date": click_date(), "click_hour": click_hour()}
        is_sealed = is_in_hours(self._sealed_hours())
        return judge_lateness(copies.withColumns(bucket), highest, self._settings.late_bound, is_sealed)

    def _append_late(self, clicks: DataFrame, seen: _Seen) -> None:
        """Late clicks, those of a repeated batch left out by position."""
        if not seen.late:
            return
        late = clicks.where("late_reason IS NOT NULL").withColumn("log", F.lit(self._log))
        late = late.withColumnRenamed("late_reason", "reason").select(*LATE_CLICKS.column_names)
        held = clicks.sparkSession.read.format("delta").load(table_uri(self._settings, LATE_CLICKS.name))
        held = held.where(F.col("click_date").isin(sorted(seen.late_dates))).select(*LATE_CLICKS.key)
        append_rows(late.join(held, list(LATE_CLICKS.key), "left_anti"), self._settings, LATE_CLICKS)

    def _merge(self, clicks: DataFrame, seen: _Seen) -> None:
        if seen.minutes is None:
            return
        try:
            merge_counts(partial_counts(clicks, self._log), self._uri, seen.hours, seen.minutes)
        except PartialOverlapError:
            new = drop_counted(clicks, self._uri, self._log, seen.hours, seen.minutes)
            merge_counts(partial_counts(new, self._log), self._uri, seen.hours, seen.minutes)

    def _move_marks(self, ends: dict[int, int], seen: _Seen) -> None:
        for partition, end in ends.items():
            old = self._marks.get(partition)
            if end == 0 or (old is not None and old.offset >= end - 1):
                continue
            highest = _latest(old and old.highest_clicked_at, seen.highest_clicked_at.get(partition))
            logged_at = _latest(old and old.logged_at, seen.appended_at.get(partition))
            self.totals.looked_at += end - 1 - (old.offset if old else -1)
            self._marks[partition] = Mark(LIVE_QUERY, self._log, partition, end - 1, highest, logged_at)
        write_marks(self._settings, LIVE_QUERY, self._log, self._marks.values())


def _latest(*instants: datetime | None) -> datetime | None:
    return max((at for at in instants if at is not None), default=None)


def _widened(span: tuple[datetime, datetime] | None, first: datetime, last: datetime) -> tuple[datetime, datetime]:
    new_first, new_last = first.astimezone(UTC), last.astimezone(UTC)
    old_first, old_last = span or (new_first, new_last)
    return min(new_first, old_first), max(new_last, old_last)


def _look(clicks: DataFrame) -> _Seen:
    """One small aggregate, a row per partition and hour; it also fills the cache that the writes read."""
    is_on_time = F.col("late_reason").isNull()
    rows = (
        clicks.groupBy("partition", "click_date", "click_hour")
        .agg(
            F.max("clicked_at").alias("highest_clicked_at"),
            F.max("appended_at").alias("appended_at"),
            F.min(F.when(is_on_time, F.col("minute"))).alias("first_minute"),
            F.max(F.when(is_on_time, F.col("minute"))).alias("last_minute"),
            F.min(F.when(is_on_time, F.col("appended_at"))).alias("first_appended_at"),
            F.max(F.when(is_on_time, F.col("appended_at"))).alias("last_appended_at"),
            F.count_if(is_on_time).alias("on_time"),
            F.count_if(~is_on_time).alias("late"),
        )
        .collect()
    )
    seen = _Seen()
    for row in rows:
        partition, hour = row["partition"], (row["click_date"], row["click_hour"])
        for times, name in ((seen.highest_clicked_at, "highest_clicked_at"), (seen.appended_at, "appended_at")):
            times[partition] = max(row[name].astimezone(UTC), times.get(partition, datetime.min.replace(tzinfo=UTC)))
        if row["on_time"]:
            seen.hours.add(hour)
            seen.minutes = _widened(seen.minutes, row["first_minute"], row["last_minute"])
            appended = (row["first_appended_at"], row["last_appended_at"])
            seen.counted_appended_at = _widened(seen.counted_appended_at, *appended)
        if row["late"]:
            seen.late_dates.add(row["click_date"])
        seen.on_time += row["on_time"]
        seen.late += row["late"]
    return seen
