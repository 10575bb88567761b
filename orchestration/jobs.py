"""Jobs: what the schedules launch, and a person with one click."""

from __future__ import annotations

import dagster as dg

from assets.finals import NAMES as FINALS
from assets.late_revisions import late_revisions
from assets.maintenance import maintain_tables
from assets.rule_checks import quality_rules
from assets.streams import NAMES as STREAMS

HOURLY_JOB = dg.define_asset_job(
    "reconcile_hour",
    dg.AssetSelection.assets(*STREAMS, *FINALS) - dg.AssetSelection.checks(quality_rules),  # the finals show them
    description="Archive and count up to now, then reconcile, seal and publish an hour.",
)
DAILY_JOB = dg.define_asset_job(
    "confirm_day",
    dg.AssetSelection.assets("final_clicks_day"),
    description="Confirm that all hours of a UTC day are sealed and published.",
)


@dg.job(
    description="Seal anew the hours of open periods for which clicks have come after their seals.",
)
def revise_late_hours() -> None:
    """One op."""
    late_revisions()


@dg.job(
    description="Delete what is past its retention, compact sealed hours, vacuum unused files.",
)
def maintain() -> None:
    """One op."""
    maintain_tables()
