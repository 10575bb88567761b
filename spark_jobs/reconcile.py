"""Reconcile: counts hours again from raw, compares with live, seals, publishes.

Belongs here: the order of steps and the lock. Each step is a file: the plan ``planning.py``, counting
``reconcile_count.py``, writing ``reconcile_attempt.py``, the laws ``reconcile_checks.py``, the seal
``reconcile_seal.py``, the comparison with live ``reconcile_drift.py``,
a sealed hour again ``reconcile_verify.py``, what readers see ``publish.py``.

Between any two commits the process may die. An attempt without a seal is nothing, and is counted again; a seal without
a publication is published by the next run, whatever hours that one is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from pyspark.sql import SparkSession

from domain.buckets import hours_by_day
from domain.counting import RULE_VERSION
from domain.seals import Seal, SealDraft, current_seals
from domain.settings import Settings
from spark_jobs.params import HourPlan, HourReceipt, ReconcileParams, ReconcileReceipt, receipt_of_plan
from spark_jobs.planning import plan
from spark_jobs.publish import AfterStep, publish
from spark_jobs.reconcile_attempt import Attempts, new_attempt_id, write_counts, write_exclusions
from spark_jobs.reconcile_checks import HourFigures, check_laws, figures
from spark_jobs.reconcile_count import DayCount, counted_hours
from spark_jobs.reconcile_drift import DayDrift, HourDrift
from spark_jobs.reconcile_log import ClickLog
from spark_jobs.reconcile_outcomes import write_outcomes
from spark_jobs.reconcile_seal import read_sound_seals, seal_attempts, verdict_set_to_pin
from spark_jobs.reconcile_verify import verify_hours
from spark_jobs.reconcile_written import written_attempt
from warehouse.ads import ads_version
from warehouse.layout import code_version
from warehouse.locks import writer_lock
from warehouse.publications import latest_publication
from warehouse.spark.session import jvm_pid

LOCK = "reconcile"
Progress = Callable[[str], None]
"""Told in a few words what was done, a line per date and step."""


def _silent(_text: str) -> None:
    """Where nobody watches."""


@dataclass(frozen=True)
class _Run:
    """What every step of one run shares."""

    spark: SparkSession
    settings: Settings
    actor: str
    clock: Callable[[], datetime]
    progress: Progress
    after_step: AfterStep


def reconcile(
    settings: Settings,
    spark: SparkSession,
    params: ReconcileParams,
    clock: Callable[[], datetime],
    *,
    log: ClickLog | None = None,
    progress: Progress = _silent,
    after_step: AfterStep = _silent,
) -> ReconcileReceipt:
    """Seals what may be sealed of the hours, verifies what is sealed, publishes what is not visible yet.

    Repeatable at any time. Hours that must wait are in the receipt with their reasons. ``WriterBusyError`` if another
    process reconciles; ``IntegrityError`` if a law is broken or a sealed hour comes out differently: the date it
    happened on is left unsealed, the dates before it stand.
    """
    started = time.monotonic()
    with writer_lock(settings, LOCK) as lock:
        driver = jvm_pid(spark)
        if driver is not None:
            lock.record_child(driver)
        run = _Run(spark, settings, params.actor, clock, progress, after_step)
        read_sound_seals(settings)
        plans = plan(settings, params.hours, clock(), log, params.archive_wait_seconds)
        publish(spark, settings, clock, after_step)
        receipts = _reconcile_days(run, plans)
        publication = latest_publication(settings)
    return ReconcileReceipt(
        hours=tuple(receipts[hour] for hour in params.hours),
        publication_number=publication.publication_number if publication else None,
        final_until=publication.final_until if publication else None,
        duration_seconds=time.monotonic() - started,
    )


def _reconcile_days(run: _Run, plans: Sequence[HourPlan]) -> dict[datetime, HourReceipt]:
    by_hour = {one.hour: one for one in plans}
    receipts = {one.hour: receipt_of_plan(one) for one in plans}
    for day, hours in hours_by_day(list(by_hour)).items():
        of_day = [by_hour[hour] for hour in hours]
        to_seal = [one for one in of_day if one.action == "seal"]
        to_verify = [one for one in of_day if one.action == "verify"]
        if to_seal:
            receipts |= _seal_day(run, day, to_seal)
            publish(run.spark, run.settings, run.clock, run.after_step)
            run.progress(f"{day}: {len(to_seal)} hours sealed and published")
        if to_verify:
            receipts |= _verify_day(run, to_verify)
            run.progress(f"{day}: {len(to_verify)} sealed hours counted again, identical")
        if not to_seal and not to_verify:
            run.progress(f"{day}: {len(of_day)} hours, nothing to count")
    return receipts


def _seal_day(run: _Run, day: date, plans: Sequence[HourPlan]) -> dict[datetime, HourReceipt]:
    """One pass over the date, three commits of the attempt, one of the seals."""
    attempts = {one.hour.hour: new_attempt_id(run.clock()) for one in plans}
    cuts = {one.hour.hour: one.cut for one in plans}
    run.progress(f"{day}: counting {len(plans)} hours")
    verdict_set = verdict_set_to_pin(run.settings)
    with counted_hours(
        run.spark, run.settings, day, cuts, run.settings.final_horizon, verdict_set=verdict_set
    ) as count:
        found, drift = _write_attempt(run, count, attempts)
    drafts = [_draft(run, one, attempts[one.hour.hour], found[one.hour.hour], verdict_set) for one in plans]
    seals = {seal.hour: seal for seal in seal_attempts(run.settings, drafts, run.clock)}
    run.after_step("sealed")
    return {draft.hour: _sealed_receipt(draft, seals.get(draft.hour), drift[draft.hour.hour]) for draft in drafts}


def _write_attempt(
    run: _Run, count: DayCount, attempts: Attempts
) -> tuple[dict[int, HourFigures], dict[int, HourDrift]]:
    """Writes, reads back, judges; by hour of the day what was found."""
    write_counts(count, attempts)
    run.after_step("counts written")
    write_exclusions(count, attempts)
    run.after_step("exclusions written")
    digests = count.digests()
    repeats = count.repeats_beyond(run.settings.live_horizon)
    with written_attempt(run.settings, count.day, count.cuts, attempts) as written:
        check_laws(written, count.day)
        found = figures(written, count.day, digests)
        write_outcomes(run.settings, count.day, attempts, written)
        run.after_step("outcomes written")
        drift = DayDrift(run.settings, count.day, attempts, repeats).write(written)
    run.after_step("drift written")
    return found, drift


def _draft(run: _Run, one: HourPlan, attempt: str, found: HourFigures, verdict_set: int) -> SealDraft:
    return SealDraft(
        hour=one.hour,
        revision=0,
        attempt=attempt,
        cut=one.cut,
        raw_clicks=found.raw,
        billable_clicks=found.billable,
        excluded_clicks=found.excluded,
        digest=found.digest,
        verdict_set=verdict_set,
        ads_version=ads_version(run.settings),
        rule_version=RULE_VERSION,
        horizon_days=run.settings.final_horizon_days,
        code_version=code_version(),
        actor=run.actor,
    )


def _verify_day(run: _Run, plans: Sequence[HourPlan]) -> dict[datetime, HourReceipt]:
    sealed = current_seals(read_sound_seals(run.settings))
    seals = [sealed[one.hour] for one in plans]
    verify_hours(run.spark, run.settings, seals, actor=run.actor, at=run.clock())
    run.after_step("verified")
    return {
        one.hour: replace(
            receipt_of_plan(one),
            attempt=seal.attempt,
            raw_clicks=seal.raw_clicks,
            billable_clicks=seal.billable_clicks,
            excluded_clicks=seal.excluded_clicks,
            digest=seal.digest,
        )
        for one, seal in zip(plans, seals, strict=True)
    }


def _sealed_receipt(draft: SealDraft, seal: Seal | None, drift: HourDrift) -> HourReceipt:
    if seal is None:
        return HourReceipt(draft.hour, "blocked", reasons=("somebody else sealed it while it was being counted",))
    return HourReceipt(
        hour=draft.hour,
        action="seal",
        seal_number=seal.seal_number,
        attempt=draft.attempt,
        raw_clicks=draft.raw_clicks,
        billable_clicks=draft.billable_clicks,
        excluded_clicks=draft.excluded_clicks,
        digest=draft.digest,
        live_clicks=drift.live,
        unexplained_clicks=drift.unexplained,
        alert_count=drift.alert_count,
    )
