"""Makes sealed figures visible: rewrites the final tables from the sealed attempts, then names their versions.

Belongs here: the final tables and the publication. They hold what seals say and nothing else, so they can be rebuilt at
any time; a run that died in between is repaired by running this again. Until the publication is written, readers see
the versions before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from domain.buckets import format_utc, hours_by_day
from domain.conservation import rollup_violations
from domain.errors import IntegrityError
from domain.finality import final_until
from domain.publications import Publication, PublicationDraft
from domain.seals import Seal, current_seals
from domain.settings import Settings
from spark_jobs.reconcile_checks import rollup_pairs
from spark_jobs.reconcile_seal import read_sound_seals
from spark_jobs.transforms.rollup import days_of_hours, hours_of_minutes, unequal_rollups
from warehouse.layout import table_uri
from warehouse.publications import append_publication, latest_publication
from warehouse.spark.replace import replace_partitions
from warehouse.tables.final_clicks_day import FINAL_CLICKS_DAY
from warehouse.tables.final_clicks_hour import FINAL_CLICKS_HOUR
from warehouse.tables.final_clicks_minute import FINAL_CLICKS_MINUTE

AfterStep = Callable[[str], None]
"""Told the name of each commit right after it; tests die there."""


def publish(
    spark: SparkSession, settings: Settings, clock: Callable[[], datetime], after_step: AfterStep
) -> Publication | None:
    """Publishes every seal that is not yet visible; the newest publication, None if nothing was ever sealed.

    Repeatable; the caller holds the lock "reconcile". ``IntegrityError`` if the tables do not add up to the seals; then
    readers still see the publication before.
    """
    seals = read_sound_seals(settings)
    latest = latest_publication(settings)
    published = latest.seal_number if latest else 0
    fresh = [seal.hour for seal in seals if seal.seal_number > published]
    if not fresh:
        return latest
    current = current_seals(seals)
    current = current_seals(seals)
    for day, hours in hours_by_day(list(set(fresh))).items():
        of_day = [seal for hour, seal in sorted(current.items()) if hour.date() == day]
        versions = _rewrite(spark, settings, of_day, hours, after_step)
        _check(spark, settings, of_day)
    draft = PublicationDraft(seal_number=seals[-1].seal_number, final_until=_until(current), **versions)
    publication = append_publication(settings, draft, latest.publication_number if latest else 0, clock())
    after_step("published")
    return publication


def _until(current: Collection[datetime]) -> datetime:
    until = final_until(current)
    if until is None:
        raise ValueError("no hour is sealed")
    return until


def _rewrite(
    spark: SparkSession, settings: Settings, of_day: Sequence[Seal], hours: Sequence[datetime], after_step: AfterStep
) -> dict[str, int]:
    """Replaces the minutes of ``hours``, and the hours and the day that all seals ``of_day`` add up to; the
    versions.
    """
    day = hours[0].date()
    minutes = _sealed_minutes(spark, settings, of_day)
    by_hour = hours_of_minutes(minutes)
    of_hours = sorted(hour.hour for hour in hours)
    minute_rows = minutes.where(F.col("click_hour").isin(of_hours)).hint("rebalance", "click_hour")
    versions = {"minute_version": replace_partitions(minute_rows, settings, FINAL_CLICKS_MINUTE, day, of_hours)}
    after_step("minutes replaced")
    versions["hour_version"] = replace_partitions(by_hour.coalesce(1), settings, FINAL_CLICKS_HOUR, day)
    after_step("hours replaced")
    versions["day_version"] = replace_partitions(days_of_hours(by_hour).coalesce(1), settings, FINAL_CLICKS_DAY, day)
    after_step("day replaced")
    return versions


def _sealed_minutes(spark: SparkSession, settings: Settings, of_day: Sequence[Seal]) -> DataFrame:
    """The minutes of exactly the attempts that the seals name; with literals, so that nothing else is read."""
    rows = _of_date(spark, settings, "reconciled_clicks_minute", of_day)
    attempts = [seal.attempt for seal in of_day]
    is_sealed = F.col("click_hour").isin([seal.hour.hour for seal in of_day]) & F.col("attempt").isin(attempts)
    return rows.where(is_sealed).drop("attempt")


def _check(spark: SparkSession, settings: Settings, of_day: Sequence[Seal]) -> None:
    """Law 9 on what readers are about to see, and each hour against its seal."""
    tables = (FINAL_CLICKS_MINUTE, FINAL_CLICKS_HOUR, FINAL_CLICKS_DAY)
    minutes, hours, days = (_of_date(spark, settings, table.name, of_day) for table in tables)
    violations = rollup_violations(rollup_pairs(unequal_rollups(minutes, hours, days)))
    found = {
        row["click_hour"]: row["clicks"]
        for row in minutes.groupBy("click_hour").agg(F.sum("clicks").alias("clicks")).collect()
    }
    violations += [
        f"hour {format_utc(seal.hour)} has {found.get(seal.hour.hour, 0)} clicks, its seal {seal.billable_clicks}"
        for seal in of_day
        if found.get(seal.hour.hour, 0) != seal.billable_clicks
    ]
    if violations:
        raise IntegrityError(
            f"the final tables do not add up: {'; '.join(violations)}",
            "day = sum of hours = sum of minutes = what was sealed",
            "nothing was published, readers see the figures before; find the cause and run this again",
        )


def _of_date(spark: SparkSession, settings: Settings, table: str, of_day: Sequence[Seal]) -> DataFrame:
    rows = spark.read.format("delta").load(table_uri(settings, table))
    return rows.where(F.col("click_date") == F.lit(of_day[0].hour.date()))
