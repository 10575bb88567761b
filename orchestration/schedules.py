"""When hours and days are reconciled: a grace after their end. The completeness gate has the last word."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import DAILY_JOB, HOURLY_JOB

HOUR_GRACE_MINUTES = 10
"""Not below the setting ``grace_seconds``, or each hour would be asked for too early and refused."""
DAY_GRACE_MINUTES = 40

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
