"""When hours and days are reconciled: a grace after their end. The completeness gate has the last word."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import DAILY_JOB, HOURLY_JOB, maintain, revise_late_hours
from warehouse.settings import load_settings

HOUR_GRACE_MINUTES = 10
"""Not below the setting ``grace_seconds``, or each hour would be asked for too early and refused."""
DAY_GRACE_MINUTES = 40
MAINTENANCE_HOUR, MAINTENANCE_MINUTE = 3, 45
"""After the hour before has had its turn, and before the next one."""
LATE_MINUTE = 30
"""Of each hour: when the hour before has had its turn."""

HOURLY_SCHEDULE = dg.build_schedule_from_partitioned_job(
    HOURLY_JOB,
    name="every_hour",
    minute_of_hour=HOUR_GRACE_MINUTES,
    description="Reconciles the hour that ended a grace ago.",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
DAILY_SCHEDULE = dg.build_schedule_from_partitioned_job(
    DAILY_JOB,
    name="every_day",
    hour_of_day=0,
    minute_of_hour=DAY_GRACE_MINUTES,
    description="Confirms the day that ended, once its last hour has had its turn.",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)


@dg.schedule(
    job=revise_late_hours,
    name="late_revisions",
    cron_schedule=f"{LATE_MINUTE} * * * *",
    execution_timezone="UTC",
    description="Applies the revisions that late clicks propose, if the setting late_revisions says so.",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
def late_revisions_schedule() -> dg.RunRequest | dg.SkipReason:
    """A run each hour; none where revisions are only proposed."""
    if load_settings().late_revisions != "apply":
        return dg.SkipReason("the setting late_revisions says propose: see tallystick proposals list")
    return dg.RunRequest()


MAINTENANCE_SCHEDULE = dg.ScheduleDefinition(
    name="every_day_maintenance",
    job=maintain,
    cron_schedule=f"{MAINTENANCE_MINUTE} {MAINTENANCE_HOUR} * * *",
    execution_timezone="UTC",
    description="Deletes, compacts and vacuums what is due.",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
