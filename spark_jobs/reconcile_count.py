"""Counts hours of one UTC date from raw: all of them at once, whatever their number.

Belongs here: reading what is counted, and the frames of counts and exclusions that all that follows is taken from.
The rule is ``transforms/outcomes.py``; writing an attempt is ``reconcile_attempt.py``; comparing with a seal
``reconcile_verify.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from domain.buckets import from_unix_micros
from domain.errors import IntegrityError
from domain.identity import click_identity
from domain.settings import Settings
from domain.verdicts import ClickTarget
from spark_jobs.transforms.count import count_by_key
from spark_jobs.transforms.cut import Cut, is_below_cut
from spark_jobs.transforms.dedup import (
    POSITION,
    LookBack,
    copies_in_reach,
    copies_since,
    crowded_keys,
    find_winners,
    join_keys,
    look_up_copies,
    old_keys,
)
from spark_jobs.transforms.digest import digest_of_sums, with_digest_words, word_sums
from spark_jobs.transforms.outcomes import CLICK_KIND, FRAUD_TYPES, UNARCHIVED, events_of, judge_events, split_events
from spark_jobs.transforms.parse import dimensions, identity
from warehouse.layout import table_uri
from warehouse.verdicts import read_in_force

EMPTY_DIGEST = "0" * 64


@dataclass(frozen=True)
class Digested:
    """The digest of an hour's billable set, and how many clicks went in."""

    digest: str
    clicks: int


@dataclass(frozen=True)
class DayCount:
    """The outcomes of all raw clicks of some hours of a date, kept at hand for as long as they are needed.

    ``cuts``: by hour of the day. ``events``: of ``events_of``. ``counts``: of ``count_by_key``, with the sums of the
    digest's words. ``excluded``: of ``judge_events``, those with a reason. ``copies``: of the clicks that are
    not plainly billable.
    """

    spark: SparkSession
    settings: Settings
    day: date
    cuts: Mapping[int, Cut]
    events: DataFrame
    copies: DataFrame
    counts: DataFrame
    excluded: DataFrame

    def of_hours(self, hours: Collection[int]) -> DayCount:
        """The same count, of some of its hours."""
        if self.cuts.keys() == set(hours):
            return self
        is_one = F.col("click_hour").isin(sorted(hours))
        cuts = {hour: self.cuts[hour] for hour in hours}
        of_these = (frame.where(is_one) for frame in (self.events, self.counts, self.excluded))
        events, counts, excluded = of_these
        return replace(self, cuts=cuts, events=events, counts=counts, excluded=excluded)

    def raw_below(self, cuts: Mapping[int, Cut]) -> dict[int, int]:
        """By hour of the day how many of its raw clicks lie below another cut."""
        rows = self.events.where(is_below_cut(cuts)).groupBy("click_hour").count().collect()
        return dict.fromkeys(cuts, 0) | {row["click_hour"]: row["count"] for row in rows}

    def digests(self) -> dict[int, Digested]:
        """Of each hour of the day; clicks or not."""
        sums = self.counts.groupBy("click_hour").agg(F.sum("clicks").alias("clicks"), *word_sums())
        rows = sums.select("click_hour", "clicks", digest_of_sums().alias("digest")).collect()
        found = {row["click_hour"]: Digested(row["digest"], row["clicks"]) for row in rows}
        return {hour: found.get(hour, Digested(EMPTY_DIGEST, 0)) for hour in self.cuts}

    def repeats_beyond(self, live_horizon: timedelta) -> dict[tuple[int, int], int]:
        """Per hour of the day and advertiser: duplicates that live counted, since no copy precedes them within its
        horizon. Those that live refused as late are not among them.

        Where even the earliest copy within the final horizon lies within the live one, a duplicate is none of them;
        only the others, which are rare, are looked up again.
        """
        far = self.excluded.where(F.col("winner.logged_at") < F.col("logged_at") - F.lit(live_horizon))
        if far.isEmpty():
            return {}
        derived = {"identity": identity(), "dimensions": dimensions()}
        clicks = far.drop("winner", "reason", "verdict_id").withColumns(derived)
        copies = look_up_copies(self.copies, clicks, self.cuts)
        own = [F.col(f"winner.{name}") == F.col(name) for name in POSITION]
        first = find_winners(clicks, copies, live_horizon).where(own[0] & own[1] & own[2])
        late = read_table(self.spark, self.settings, "late_clicks").where(F.col("click_date") == F.lit(self.day))
        counted = first.join(late.select(*POSITION), list(POSITION), "left_anti")
        rows = counted.groupBy("click_hour", "advertiser_id").count().collect()
        return {(row["click_hour"], row["advertiser_id"]): row["count"] for row in rows}


@contextmanager
def counted_hours(
    spark: SparkSession,
    settings: Settings,
    day: date,
    cuts: Mapping[int, Cut],
    horizon: timedelta,
    *,
    verdict_set: int,
) -> Iterator[DayCount]:
    """Counts the hours of ``day`` that ``cuts`` names, each up to its cut, with the verdicts in force at
    a set; the result is given up at the end.

    ``IntegrityError`` if a click has no row in click_identities, here or in what is done with the result.
    """
    events = events_of(of_hours(read_table(spark, settings, "raw_clicks"), day, cuts).where(is_below_cut(cuts)))
    span = _span(events, horizon)
    near, far = copies_since(read_table(spark, settings, "click_identities"), span)
    fraud = _fraud(spark, settings, verdict_set)
    with ExitStack() as kept:

        def keep(frame: DataFrame) -> DataFrame:
            kept.callback(frame.unpersist)
            return frame.persist(StorageLevel.MEMORY_AND_DISK)

        copies = near if far.isEmpty() else copies_in_reach(near, far, keep(old_keys(near, span)))
        crowded = keep(crowded_keys(events.where(F.col("kind") == CLICK_KIND), copies))
        plain, rest = split_events(events, crowded, fraud)
        keep(rest)
        copies = join_keys(copies, keep(rest.select("key").distinct()), "is_asked_for").where("is_asked_for")
        judged = keep(judge_events(rest, copies, horizon, cuts, fraud))
        billable = plain.unionByName(judged.where("reason IS NULL").select(*plain.columns))
        counts = keep(count_by_key(with_digest_words(billable), *word_sums()))
        try:
            yield DayCount(spark, settings, day, cuts, events, copies, counts, judged.where("reason IS NOT NULL"))
        except PySparkException as error:
            if UNARCHIVED not in str(error):
                raise
            place = str(error).split(UNARCHIVED, 1)[1].split()[0]
            raise IntegrityError(
                f"click_identities lacks log position {place}, which raw_clicks holds ({day})",
                "a row for each click, or look-backs for duplicates miss it",
                "do not seal; find out what happened to the archive's tables",
            ) from error


def read_table(spark: SparkSession, settings: Settings, name: str) -> DataFrame:
    """The newest version of a table."""
    return spark.read.format("delta").load(table_uri(settings, name))


def of_hours(rows: DataFrame, day: date, hours: Mapping[int, object]) -> DataFrame:
    """Those of some hours of a date, with literals, so that other partitions are not even listed."""
    return rows.where((F.col("click_date") == F.lit(day)) & F.col("click_hour").isin(sorted(hours)))


def _fraud(spark: SparkSession, settings: Settings, verdict_set: int) -> DataFrame | None:
    rows = [
        (None, None, None, click_identity(*target), one.verdict.verdict_id)
        if isinstance(target, ClickTarget)
        else (*target, None, one.verdict.verdict_id)
        for target, one in read_in_force(settings, verdict_set).items()
    ]
    return spark.createDataFrame(rows, FRAUD_TYPES) if rows else None


def _span(events: DataFrame, horizon: timedelta) -> LookBack:
    """Of no clicks: a span in which nothing was ever logged."""
    logged_us = F.unix_micros("logged_at")
    (row,) = events.agg(F.min(logged_us), F.max(logged_us)).collect()
    return LookBack(*(from_unix_micros(us or 0) for us in row), horizon)
