"""Counts hours of one UTC date from raw: one pass over the date, whatever the number of its hours.

Belongs here: reading what is counted, and the frame of outcomes that all that follows is taken from. The rule is
``transforms/outcomes.py``; writing an attempt is ``reconcile_attempt.py``; comparing with a seal
``reconcile_verify.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from domain.errors import IntegrityError
from domain.settings import Settings
from spark_jobs.transforms.cut import Cut, is_below_cut
from spark_jobs.transforms.dedup import LookBack, find_winners, look_up_copies
from spark_jobs.transforms.digest import sum_digest_words
from spark_jobs.transforms.outcomes import CLICK_KIND, UNARCHIVED, judge_clicks
from spark_jobs.transforms.parse import dimensions, identity, minted_at
from warehouse.layout import table_uri

EMPTY_DIGEST = "0" * 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class DayCount:
    """The outcomes of all raw clicks of some hours of a date, kept at hand for as long as they are needed.

    ``cuts``: by hour of the day, all of the same horizon.
    """

    spark: SparkSession
    settings: Settings
    day: date
    cuts: Mapping[int, Cut]
    span: LookBack
    outcomes: DataFrame

    @property
    def billable(self) -> DataFrame:
        return self.outcomes.where("reason IS NULL")

    @property
    def excluded(self) -> DataFrame:
        return self.outcomes.where("reason IS NOT NULL")

    def read(self, table: str) -> DataFrame:
        """Rows of a table; not yet of the date."""
        return _read(self.spark, self.settings, table)

    def rows_of_hours(self, table: str) -> DataFrame:
        """Rows of a table that is partitioned by date and hour, those of the hours."""
        return _of_hours(self.read(table), self.day, self.cuts)

    def raw(self) -> DataFrame:
        """The raw clicks that are counted, read again."""
        return _raw(self.spark, self.settings, self.day, self.cuts)

    def digests(self) -> dict[int, tuple[str, int]]:
        """Per hour the digest of its billable set and how many clicks went in."""
        rows = sum_digest_words(self.billable, "click_hour").collect()
        found = {row["click_hour"]: (row["digest"], row["digested_clicks"]) for row in rows}
        return {hour: found.get(hour, (EMPTY_DIGEST, 0)) for hour in self.cuts}

    def repeats_beyond(self, live_horizon: timedelta) -> DataFrame | None:
        """Duplicates that no other copy precedes within the live horizon: live has counted them. None if there are
        none.

        Where even the earliest copy within the final horizon lies within the live one, it is none of them; only the
        others, which are rare, are looked up again.
        """
        is_far = F.col("winner.logged_at") < F.col("logged_at") - F.lit(live_horizon)
        far = self.excluded.where(is_far)
        if far.isEmpty():
            return None
        clicks = far.withColumns({"identity": identity(), "minted_at": minted_at(), "dimensions": dimensions()})
        copies = look_up_copies(self.read("click_identities"), clicks, self.span, self.cuts)
        nearest = find_winners(clicks.drop("winner"), copies, live_horizon)
        return nearest.where("winner.log = log AND winner.partition = partition AND winner.offset = offset")


@contextmanager
def counted_hours(
    spark: SparkSession, settings: Settings, day: date, cuts: Mapping[int, Cut], horizon: timedelta
) -> Iterator[DayCount]:
    """Counts the hours of ``day`` that ``cuts`` names, each up to its cut; the result is given up at the end.

    ``IntegrityError`` if a click has no row in click_identities, here or in what is done with the result.
    """
    raw = _raw(spark, settings, day, cuts)
    span = _span(raw, horizon)
    outcomes = judge_clicks(raw, _read(spark, settings, "click_identities"), span, cuts)
    outcomes = outcomes.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield DayCount(spark, settings, day, cuts, span, outcomes)
    except PySparkException as error:
        if UNARCHIVED not in str(error):
            raise
        place = str(error).split(UNARCHIVED, 1)[1].split()[0]
        raise IntegrityError(
            f"click_identities lacks log position {place}, which raw_clicks holds ({day})",
            "a row for each click, or look-backs for duplicates miss it",
            "do not seal; find out what happened to the archive's tables",
        ) from error
    finally:
        outcomes.unpersist()


def _span(raw: DataFrame, horizon: timedelta) -> LookBack:
    """Of no clicks: a span in which nothing was logged."""
    logged_us = F.unix_micros("logged_at")
    (row,) = raw.where(F.col("kind") == CLICK_KIND).agg(F.min(logged_us), F.max(logged_us)).collect()
    first, last = (_EPOCH + timedelta(microseconds=us or 0) for us in row)
    return LookBack(first, last, horizon)


def _raw(spark: SparkSession, settings: Settings, day: date, cuts: Mapping[int, Cut]) -> DataFrame:
    return _of_hours(_read(spark, settings, "raw_clicks"), day, cuts).where(is_below_cut(cuts))


def _of_hours(rows: DataFrame, day: date, cuts: Mapping[int, Cut]) -> DataFrame:
    """With literals, so that other partitions are not even listed."""
    return rows.where((F.col("click_date") == F.lit(day)) & F.col("click_hour").isin(sorted(cuts)))


def _read(spark: SparkSession, settings: Settings, table: str) -> DataFrame:
    return spark.read.format("delta").load(table_uri(settings, table))
