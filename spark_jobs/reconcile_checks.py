"""The laws, checked against what an attempt really wrote, before anything is sealed.

Belongs here: law 3 (raw = billable + excluded, per advertiser and hour) and law 9 (day = sum of hours = sum of minutes,
for every key). Only what violates them is pulled through the driver. What a violation says is
``domain/conservation.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from domain.buckets import HOUR
from domain.conservation import (
    HourTally,
    RollupKey,
    RollupPair,
    conservation_violations,
    rollup_violations,
)
from domain.counting import EXCLUSION_REASONS
from domain.errors import IntegrityError
from spark_jobs.reconcile_attempt import Attempts, written_counts, written_drift, written_exclusions
from spark_jobs.reconcile_count import DayCount
from spark_jobs.transforms.drift import BY
from spark_jobs.transforms.rollup import KEY, unequal_rollups

NAMED_AT_MOST = 10
"""So many violations are named; the first one is enough to look for the cause."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class HourFigures:
    """What was written of one hour, in clicks."""

    raw: int
    billable: int
    excluded: Mapping[str, int]
    digest: str


@dataclass(frozen=True)
class HourDrift:
    """The drift that was written of one hour, over all advertisers."""

    live: int
    unexplained: int
    alert_count: int


def tally(count: DayCount, attempts: Attempts) -> DataFrame:
    """BY, ``raw`` and what was written of it: ``billable`` and a column per reason of exclusion."""
    one = F.lit(1).alias("clicks")
    parts = [
        count.raw().select(*BY, F.lit("raw").alias("what"), one),
        written_counts(count, attempts).select(*BY, F.lit("billable").alias("what"), "clicks"),
        written_exclusions(count, attempts).select(*BY, F.col("reason").alias("what"), one),
    ]
    names = ("raw", "billable", *EXCLUSION_REASONS)
    sums = [F.sum(F.when(F.col("what") == name, F.col("clicks")).otherwise(0)).alias(name) for name in names]
    return reduce(DataFrame.unionByName, parts).groupBy(*BY).agg(*sums)


def check_conservation(count: DayCount, tallies: DataFrame) -> None:
    """Law 3. ``IntegrityError`` names the advertisers and hours where clicks vanished or appeared."""
    accounted = reduce(lambda a, b: a + b, (F.col(name) for name in ("billable", *EXCLUSION_REASONS)))
    rows = tallies.where(F.col("raw") != accounted).orderBy(*BY).limit(NAMED_AT_MOST).collect()
    _refuse(count, conservation_violations(_hour_tally(count, row) for row in rows))


def check_rollups(count: DayCount, attempts: Attempts) -> None:
    """Law 9, of the minutes that were written against hours and days that are grouped from the clicks anew."""
    by_hour = count.billable.groupBy(*KEY, "click_date", F.date_trunc("hour", "minute").alias("hour"))
    by_day = count.billable.groupBy(*KEY, "click_date")
    clicks = F.count(F.lit(1)).alias("clicks")
    unequal = unequal_rollups(written_counts(count, attempts), by_hour.agg(clicks), by_day.agg(clicks))
    _refuse(count, rollup_violations(rollup_pairs(unequal)))


def rollup_pairs(unequal: DataFrame) -> list[RollupPair]:
    """The first of the rows of ``unequal_rollups``, as the law's judge wants them."""
    return [
        RollupPair(
            RollupKey(*(row[name] for name in KEY)),
            row["granularity"],
            _EPOCH + timedelta(microseconds=row["bucket_us"]),
            row["clicks"],
            row["finer_clicks"],
        )
        for row in unequal.limit(NAMED_AT_MOST).collect()
    ]


def figures(count: DayCount, tallies: DataFrame) -> dict[int, HourFigures]:
    """Per hour of the day what was written. ``IntegrityError`` if the digest covers another number of clicks."""
    names = ("raw", "billable", *EXCLUSION_REASONS)
    rows = tallies.groupBy("click_hour").agg(*(F.sum(name).alias(name) for name in names)).collect()
    summed = {row["click_hour"]: row.asDict() for row in rows}
    found: dict[int, HourFigures] = {}
    for hour, (digest, digested) in count.digests().items():
        of_hour = summed.get(hour, dict.fromkeys(names, 0))
        excluded = {reason: of_hour[reason] for reason in EXCLUSION_REASONS if of_hour[reason]}
        found[hour] = HourFigures(of_hour["raw"], of_hour["billable"], excluded, digest)
        if digested != of_hour["billable"]:
            _refuse(count, [f"hour {hour}: {of_hour['billable']} clicks were written, {digested} are in the digest"])
    return found


def drift_of_hours(count: DayCount, attempts: Attempts) -> dict[int, HourDrift]:
    """Per hour of the day the drift that was written."""
    rows = (
        written_drift(count, attempts)
        .groupBy(F.hour("hour").alias("click_hour"))
        .agg(
            F.sum("live_clicks").alias("live"),
            F.sum(F.col("missing_clicks") + F.col("extra_clicks")).alias("unexplained"),
            F.count_if("is_alert").alias("alert_count"),
        )
        .collect()
    )
    found = {row["click_hour"]: HourDrift(row["live"], row["unexplained"], row["alert_count"]) for row in rows}
    return {hour: found.get(hour, HourDrift(0, 0, 0)) for hour in attempts}


def _hour_tally(count: DayCount, row: Row) -> HourTally:
    midnight = datetime.combine(count.day, time(tzinfo=UTC))
    excluded = {reason: row[reason] for reason in EXCLUSION_REASONS if row[reason]}
    return HourTally(row["advertiser_id"], midnight + HOUR * row["click_hour"], row["raw"], row["billable"], excluded)


def _refuse(count: DayCount, violations: list[str]) -> None:
    if violations:
        raise IntegrityError(
            f"counting {count.day} broke a law: {'; '.join(violations)}",
            "every raw click billable or excluded, and sums that agree",
            "nothing was sealed; find the cause before you run it again",
        )
