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

from domain.buckets import hours_by_day
from domain.finality import final_until
from domain.publications import Publication, PublicationDraft, chain_draft
from domain.seals import Seal, current_seals
from domain.settings import Settings
from spark_jobs.publish_check import check_date
from spark_jobs.reconcile_seal import read_sound_seals
from spark_jobs.transforms.rollup import days_of_hours, hours_of_minutes
from warehouse.layout import table_uri
from warehouse.publications import append_publication, latest_publication
from warehouse.spark.replace import replace_partitions
from warehouse.tables.final_clicks_day import FINAL_CLICKS_DAY
from warehouse.tables.final_clicks_hour import FINAL_CLICKS_HOUR
from warehouse.tables.final_clicks_minute import FINAL_CLICKS_MINUTE
from warehouse.tables.reconciled_clicks_minute import RECONCILED_CLICKS_MINUTE

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
    dates = hours_by_day(list(set(fresh)))
    sealed = {day: [seal for hour, seal in sorted(current.items()) if hour.date() == day] for day in dates}
    for day, hours in dates.items():
        versions = _rewrite(spark, settings, sealed[day], hours, after_step)
    draft = PublicationDraft(
        seal_number=seals[-1].seal_number,
        minute_version=versions[FINAL_CLICKS_MINUTE.name],
        hour_version=versions[FINAL_CLICKS_HOUR.name],
        day_version=versions[FINAL_CLICKS_DAY.name],
        final_until=_until(current, latest.final_until if latest else None),
    )
    for of_day in sealed.values():
        check_date(settings, chain_draft(latest, draft, clock()), of_day)
    publication = append_publication(settings, draft, latest.publication_number if latest else 0, clock())
    after_step("published")
    return publication


def _until(current: Collection[datetime], known_until: datetime | None) -> datetime:
    until = final_until(current, known_until)
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
    minutes = _sealed_minutes(spark, settings, of_day).persist()
    by_hour = hours_of_minutes(minutes)
    of_hours = sorted(hour.hour for hour in hours)
    rewritten = minutes.where(F.col("click_hour").isin(of_hours)).hint("rebalance", "click_hour")
    versions = {}
    try:
        versions[FINAL_CLICKS_MINUTE.name] = replace_partitions(rewritten, settings, FINAL_CLICKS_MINUTE, day, of_hours)
        after_step("minutes replaced")
        versions[FINAL_CLICKS_HOUR.name] = replace_partitions(by_hour, settings, FINAL_CLICKS_HOUR, day)
        after_step("hours replaced")
        versions[FINAL_CLICKS_DAY.name] = replace_partitions(days_of_hours(by_hour), settings, FINAL_CLICKS_DAY, day)
        after_step("day replaced")
    finally:
        minutes.unpersist()
    return versions


def _sealed_minutes(spark: SparkSession, settings: Settings, of_day: Sequence[Seal]) -> DataFrame:
    """The minutes of exactly the attempts that the seals name; with literals, so that nothing else is read."""
    rows = spark.read.format("delta").load(table_uri(settings, RECONCILED_CLICKS_MINUTE.name))
    is_day = F.col("click_date") == F.lit(of_day[0].hour.date())
    is_sealed = F.col("click_hour").isin([seal.hour.hour for seal in of_day]) & F.col("attempt").isin(
        [seal.attempt for seal in of_day]
    )
    return rows.where(is_day & is_sealed).drop("attempt")
