"""When somebody is told: every five minutes, and when a run failed; and one more run for an hour without a seal."""

from __future__ import annotations

import dagster as dg

from assets.alerts import send_alerts
from assets.partitions import HOURLY
from orchestration.heads import head_job
from orchestration.jobs import DAILY_JOB, HOURLY_JOB, maintain, revise_late_hours
from quality.alert_causes import hours_to_ask_again
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.settings import load_settings

MINUTES = 5


@dg.job(name="alert", description="Look for what is wrong, and send what is due to the webhook.")
def alert_job() -> None:
    send_alerts()


ALERT_SCHEDULE = dg.ScheduleDefinition(
    name="every_five_minutes",
    job=alert_job,
    cron_schedule=f"*/{MINUTES} * * * *",
    execution_timezone="UTC",
    description="Tells what opened, changed, lasts and is over.",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)


@dg.run_failure_sensor(
    name="failed_runs",
    description="Tells at once of a run that failed.",
    monitored_jobs=[HOURLY_JOB, DAILY_JOB, revise_late_hours, head_job, maintain],
    request_job=alert_job,
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def failed_runs_sensor(context: dg.RunFailureSensorContext) -> dg.RunRequest:
    """One run of the job that tells, whatever failed; it is not told of its own failures, which would never end."""
    return dg.RunRequest(run_key=context.dagster_run.run_id)


@dg.sensor(
    name="hours_without_seal",
    job=HOURLY_JOB,
    minimum_interval_seconds=MINUTES * 60,
    description="Asks once more for the first hour whose seal is overdue, unless a rule holds it.",
    default_status=dg.DefaultSensorStatus.RUNNING,
)
def unsealed_hours_sensor(_context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """One re-run of an hour, ever: its key is the run's. What it does not mend waits for a person, who is told."""
    settings = load_settings()
    create_missing_tables(settings)
    hours = hours_to_ask_again(settings, now())
    if not hours:
        return dg.SkipReason("no seal is overdue, or a rule holds the hour")
    key = hours[0].strftime(HOURLY.fmt)
    return dg.RunRequest(run_key=f"again {key}", partition_key=key)
