"""The hourly export of the ledgers' head: off while no place for it is set."""

from __future__ import annotations

import dagster as dg

from assets.heads import export_head
from warehouse.settings import load_settings

MINUTE_OF_HOUR = 25
"""After the hour before was reconciled, as a rule; a head that was kept already is not kept again."""


@dg.job(name="keep_head", description="Keep the newest numbers and hashes of the ledgers in setting head_target.")
def head_job() -> None:
    export_head()


@dg.schedule(
    name="every_head",
    job=head_job,
    cron_schedule=f"{MINUTE_OF_HOUR} * * * *",
    description="Keeps the head of the ledgers elsewhere, if setting head_target says where.",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
def head_schedule(_context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """The setting is read at each tick."""
    return dg.RunRequest() if load_settings().head_target else dg.SkipReason("setting head_target is empty")
