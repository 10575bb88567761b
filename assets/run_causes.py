"""What is wrong with the runs themselves: those that failed and nobody looked at, and those that wait in the queue.

Belongs here: asking Dagster's instance. When a cause becomes an alert: ``domain/alerts.py``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg

from domain.alerts import Cause
from domain.buckets import format_utc
from domain.texts import hours_text

SOURCE = "dagster"
WINDOW = timedelta(days=1)
QUEUE_PATIENCE = timedelta(minutes=30)
MOST_RUNS = 1_000
"""Of a kind; a backfill's storm beyond it adds nothing to what is said."""
PARTITION, SEEN = "dagster/partition", "tallystick/seen"
"""A person who has looked at a failed run gives it the tag ``tallystick/seen``."""


def run_causes(instance: dg.DagsterInstance, at: datetime) -> list[Cause]:
    """A cause for each job with failed runs of the last day that no later run mended, and one for the queue."""
    finished = _runs(instance, [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS], at - WINDOW)
    newest: dict[tuple[str, str], dg.RunRecord] = {}
    for record in finished:
        newest.setdefault((record.dagster_run.job_name, record.dagster_run.tags.get(PARTITION, "")), record)
    by_job: dict[str, list[dg.RunRecord]] = {}
    for (job, _), record in sorted(newest.items()):
        run = record.dagster_run
        if run.status == dg.DagsterRunStatus.FAILURE and SEEN not in run.tags:
            by_job.setdefault(job, []).append(record)
    return [_failed(job, records) for job, records in by_job.items()] + _queued(instance, at)


def _runs(
    instance: dg.DagsterInstance, statuses: list[dg.DagsterRunStatus], since: datetime | None = None
) -> list[dg.RunRecord]:
    """Newest first."""
    wanted = dg.RunsFilter(statuses=statuses, created_after=since)
    return list(instance.get_run_records(wanted, limit=MOST_RUNS))


def _failed(job: str, records: list[dg.RunRecord]) -> Cause:
    parts = [part for record in records if (part := record.dagster_run.tags.get(PARTITION))]
    newest = max(records, key=lambda one: one.storage_id)
    return Cause(
        key=f"failed {job}",
        severity="warn",
        about=f"job {job}" + (f", partitions {', '.join(parts[:3])}" if parts else ""),
        rule="runs succeed",
        observed=f"{len(records)} failed in the last {hours_text(int(WINDOW.total_seconds()) // 3600)}, mended by none",
        expected="a later run of the same partition that succeeds, or the tag tallystick/seen",
        see=f"run {newest.dagster_run.run_id} in the Dagster page",
    )


def _queued(instance: dg.DagsterInstance, at: datetime) -> list[Cause]:
    waiting = _runs(instance, [dg.DagsterRunStatus.QUEUED])
    oldest = min((record.create_timestamp.astimezone(UTC) for record in waiting), default=at)
    if at - oldest < QUEUE_PATIENCE:
        return []
    cause = Cause(
        key="queue",
        severity="warn",
        about=f"{len(waiting)} runs in the queue",
        rule="the queue moves",
        observed=f"the oldest waits since {format_utc(oldest.replace(microsecond=0))}",
        expected=f"none waits longer than {int(QUEUE_PATIENCE.total_seconds()) // 60} minutes",
        see="page Runs, tab Queued, in the Dagster page",
    )
    return [cause]
