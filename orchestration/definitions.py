"""``defs``: everything that Dagster loads. ``build_defs`` is the one place that wires, and tests replace parts there.

Nothing is read from the environment here: bodies load the settings when they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.catalogue import ads
from assets.command_line import CommandLine
from assets.daily import final_day
from assets.finals import finals
from assets.rule_checks import quality_rules
from assets.streams import streams
from orchestration.alerts import ALERT_SCHEDULE, alert_job, failed_runs_sensor, unsealed_hours_sensor
from orchestration.heads import head_job, head_schedule
from orchestration.jobs import DAILY_JOB, HOURLY_JOB, maintain, revise_late_hours
from orchestration.schedules import (
    DAILY_SCHEDULE,
    HOURLY_SCHEDULE,
    MAINTENANCE_SCHEDULE,
    late_revisions_schedule,
)


def build_defs(resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """The code location; ``resources`` replace those of the same name."""
    return dg.Definitions(
        assets=[ads, streams, finals, final_day],
        asset_checks=[quality_rules],
        jobs=[HOURLY_JOB, DAILY_JOB, revise_late_hours, head_job, maintain, alert_job],
        schedules=[
            HOURLY_SCHEDULE,
            DAILY_SCHEDULE,
            late_revisions_schedule,
            head_schedule,
            MAINTENANCE_SCHEDULE,
            ALERT_SCHEDULE,
        ],
        sensors=[failed_runs_sensor, unsealed_hours_sensor],
        resources={"command_line": CommandLine(), **(resources or {})},
        executor=dg.in_process_executor,
    )


defs = build_defs()
