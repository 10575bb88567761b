"""Reconcile: counts hours again from raw, compares with live, seals, publishes.

Belongs here: the order of steps and the lock. Each step is a file: the plan ``planning.py``, counting
``reconcile_count.py``, writing ``reconcile_attempt.py``, the laws ``reconcile_checks.py``, the seal
``reconcile_seal.py``, the comparison with live ``reconcile_drift.py``,
whether quality lets it be sealed ``reconcile_quality.py``,
a sealed hour again ``reconcile_verify.py``, what readers see ``publish.py``.

Under a case a sealed hour is counted as an unsealed one would be. If that comes out identical, it is a verification,
else the next revision of its seal; the day is published again either way that it changed.

Between any two commits the process may die. An attempt without a seal is nothing, and is counted again; a seal without
a publication is published by the next run, whatever hours that one is asked for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial

from pyspark.sql import SparkSession

from domain.buckets import hours_by_day
from domain.counting import RULE_VERSION
from domain.seals import Seal, SealDraft, current_seals, next_revision
from domain.settings import Settings
from quality.judging import judge_attempts
from spark_jobs.params import HourPlan, HourReceipt, ReconcileParams, ReconcileReceipt, receipt_of_plan
from spark_jobs.planning import plan
from spark_jobs.publish import AfterStep, publish
from spark_jobs.quality_gate import Reasons
from spark_jobs.reconcile_attempt import Attempts, new_attempt_id, write_counts, write_exclusions
from spark_jobs.reconcile_checks import HourFigures, check_laws, figures
from spark_jobs.reconcile_count import DayCount, counted_hours
from spark_jobs.reconcile_drift import DayDrift, HourDrift
from spark_jobs.reconcile_log import ClickLog
from spark_jobs.reconcile_outcomes import write_outcomes
from spark_jobs.reconcile_quality import Judge, write_metrics, write_verdicts
from spark_jobs.reconcile_seal import read_sound_seals, seal_attempts, verdict_set_to_pin
from spark_jobs.reconcile_verify import confirmation, differing_hours, verify_hours
from spark_jobs.reconcile_written import written_attempt
from warehouse.ads import ads_version
from warehouse.layout import code_version
from warehouse.locks import SEAL_LOCK, writer_lock
from warehouse.publications import latest_publication
from warehouse.spark.session import jvm_pid
from warehouse.verifications import append_verifications

Progress = Callable[[str], None]
"""Told in a few words what was done, a line per date and step."""


def _silent(_text: str) -> None:
    """Where nobody watches."""


@dataclass(frozen=True)
class _Run:
    """What every step of one run shares."""

    spark: SparkSession
    settings: Settings
    params: ReconcileParams
    clock: Callable[[], datetime]
    progress: Progress
    after_step: AfterStep
    judge: Judge


@dataclass(frozen=True)
class _Written:
    """An attempt that was written: by hour of the day what was found, and by hour why it may not be sealed."""

    found: Mapping[int, HourFigures]
    drift: Mapping[int, HourDrift]
    holds: Reasons


def reconcile(
    settings: Settings,
    spark: SparkSession,
    params: ReconcileParams,
    clock: Callable[[], datetime],
    *,
    log: ClickLog | None = None,
    progress: Progress = _silent,
    after_step: AfterStep = _silent,
    judge: Judge = judge_attempts,
) -> ReconcileReceipt:
    """Seals what may be sealed of the hours, verifies what is sealed, publishes what is not visible yet.

    With a case, sealed hours that come out differently today get the next revision. Repeatable at any time. Hours that
    must wait are in the receipt with their reasons. ``WriterBusyError`` if another process reconciles;
    ``PeriodClosedError`` if there is a case and an hour's period is closed; ``IntegrityError`` if a law is broken or,
    without a case, a sealed hour comes out differently: the date it happened on is left as it was, the dates before it
    stand.
    """
    started = time.monotonic()
    with writer_lock(settings, SEAL_LOCK) as lock:
        driver = jvm_pid(spark)
        if driver is not None:
            lock.record_child(driver)
        run = _Run(spark, settings, params, clock, progress, after_step, judge)
        read_sound_seals(settings)
        plans = plan(
            settings,
            params.hours,
            clock(),
            log,
            params.archive_wait_seconds,
            is_revising=params.is_revising,
            is_recounting_held=params.is_recounting_held,
        )
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
        to_count = [one for one in of_day if one.action in ("seal", "revise")]
        to_verify = [one for one in of_day if one.action == "verify"]
        if to_count:
            done = _count_day(run, day, to_count)
            publish(run.spark, run.settings, run.clock, run.after_step)
            receipts |= done
            run.progress(f"{day}: {_in_words(done)}")
        if to_verify:
            receipts |= _verify_day(run, to_verify)
            run.progress(f"{day}: {_hours(len(to_verify))} counted again, identical")
        if not to_count and not to_verify:
            run.progress(f"{day}: {_hours(len(of_day))}, nothing to count")
    return receipts


def _hours(count: int) -> str:
    return "1 hour" if count == 1 else f"{count} hours"


def _in_words(done: Mapping[datetime, HourReceipt]) -> str:
    actions = Counter(receipt.action for receipt in done.values())
    said = {"seal": "sealed and published", "revise": "revised and published", "verify": "counted again, identical"}
    said["blocked"] = "held back"
    return ", ".join(f"{_hours(actions[action])} {words}" for action, words in said.items() if actions[action])


def _count_day(run: _Run, day: date, plans: Sequence[HourPlan]) -> dict[datetime, HourReceipt]:
    """One pass over the date; the attempt's commits, one of the seals, one where sealed hours are confirmed."""
    cuts = {one.hour.hour: one.cut for one in plans}
    run.progress(f"{day}: counting {_hours(len(plans))}")
    verdict_set = verdict_set_to_pin(run.settings)
    held = current_seals(read_sound_seals(run.settings))
    again = {one.hour.hour: held[one.hour] for one in plans if one.action == "revise"}
    with counted_hours(
        run.spark, run.settings, day, cuts, run.settings.final_horizon, verdict_set=verdict_set
    ) as count:
        same = again.keys() - differing_hours(count, again)
        due = [one for one in plans if one.hour.hour not in same]
        attempts = {one.hour.hour: new_attempt_id(run.clock()) for one in due}
        written = _write_attempt(run, count.of_hours(attempts), attempts) if due else _Written({}, {}, {})
    receipts = {one.hour: _held_receipt(one, attempts, written.holds) for one in due if one.hour in written.holds}
    due = [one for one in due if one.hour not in written.holds]
    draft = partial(_draft, run, verdict_set=verdict_set)
    drafts = [draft(one, attempts[one.hour.hour], written.found, held=held.get(one.hour)) for one in due]
    if due:
        receipts |= _seal(run, due, drafts, written.drift)
    if same:
        receipts |= _confirm(run, [one for one in plans if one.hour.hour in same], held, verdict_set)
    return receipts


def _seal(
    run: _Run, plans: Sequence[HourPlan], drafts: Sequence[SealDraft], drift: Mapping[int, HourDrift]
) -> dict[datetime, HourReceipt]:
    """One commit; a draft for each plan."""
    seals = {seal.hour: seal for seal in seal_attempts(run.settings, drafts, run.clock)}
    run.after_step("sealed")
    return {
        one.hour: _sealed_receipt(one, draft, seals.get(one.hour), drift[one.hour.hour])
        for one, draft in zip(plans, drafts, strict=True)
    }


def _confirm(
    run: _Run, plans: Sequence[HourPlan], held: Mapping[datetime, Seal], verdict_set: int
) -> dict[datetime, HourReceipt]:
    """Records that hours came out the same, though they could have been sealed anew; one commit."""
    case = {"reason": run.params.reason, "case_id": run.params.case_id}
    at = run.clock()
    append_verifications(
        run.settings, [confirmation(held[one.hour], verdict_set, run.params.actor, at, **case) for one in plans]
    )
    run.after_step("verified")
    return {one.hour: _verified_receipt(one, held[one.hour]) for one in plans}


def _write_attempt(run: _Run, count: DayCount, attempts: Attempts) -> _Written:
    """Writes, reads back, judges."""
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
        measured = write_metrics(run.settings, count.day, attempts, written, run.clock())
    run.after_step("metrics written")
    holds = write_verdicts(run.settings, measured, attempts, run.clock(), run.judge)
    run.after_step("verdicts written")
    return _Written(found, drift, holds)


def _draft(
    run: _Run, one: HourPlan, attempt: str, figures: Mapping[int, HourFigures], *, held: Seal | None, verdict_set: int
) -> SealDraft:
    """``held``: the seal of the hour so far, which this one would follow under the case."""
    found = figures[one.hour.hour]
    return SealDraft(
        hour=one.hour,
        revision=next_revision(held),
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
        actor=run.params.actor,
        reason=run.params.reason if held else "",
        case_id=run.params.case_id if held else "",
    )


def _verify_day(run: _Run, plans: Sequence[HourPlan]) -> dict[datetime, HourReceipt]:
    sealed = current_seals(read_sound_seals(run.settings))
    verify_hours(run.spark, run.settings, [sealed[one.hour] for one in plans], actor=run.params.actor, at=run.clock())
    run.after_step("verified")
    return {one.hour: _verified_receipt(one, sealed[one.hour]) for one in plans}


def _verified_receipt(one: HourPlan, seal: Seal) -> HourReceipt:
    return replace(
        receipt_of_plan(one),
        action="verify",
        attempt=seal.attempt,
        raw_clicks=seal.raw_clicks,
        billable_clicks=seal.billable_clicks,
        excluded_clicks=seal.excluded_clicks,
        digest=seal.digest,
    )


def _held_receipt(one: HourPlan, attempts: Attempts, holds: Reasons) -> HourReceipt:
    return HourReceipt(one.hour, "blocked", holds[one.hour], one.seal_number, attempts[one.hour.hour])


def _sealed_receipt(one: HourPlan, draft: SealDraft, seal: Seal | None, drift: HourDrift) -> HourReceipt:
    if seal is None:
        return HourReceipt(draft.hour, "blocked", reasons=("somebody else sealed it while it was being counted",))
    return HourReceipt(
        hour=draft.hour,
        action="revise" if draft.revision else "seal",
        seal_number=seal.seal_number,
        attempt=draft.attempt,
        raw_clicks=draft.raw_clicks,
        billable_clicks=draft.billable_clicks,
        excluded_clicks=draft.excluded_clicks,
        digest=draft.digest,
        live_clicks=drift.live,
        unexplained_clicks=drift.unexplained,
        alert_count=drift.alert_count,
        late_arrival_count=one.late_arrival_count,
    )
