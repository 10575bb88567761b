"""Runs the reconcile job for commands; Spark is started only where there is anything to count."""

from __future__ import annotations

from cli.console import note, working
from domain.settings import Settings
from spark_jobs.params import ReconcileParams, ReconcileReceipt
from warehouse.clock import now

BLOCKED_EXIT_CODE = 3
"""Nothing that was asked for could be done yet; the same command may succeed later."""


def reconcile_hours(settings: Settings, params: ReconcileParams) -> ReconcileReceipt:
    """What the job did; where every hour has to wait, that is found out and told without Spark."""
    from spark_jobs.planning import plan, receipt_of_waiting  # noqa: PLC0415 - loads Arrow
    from warehouse.create import create_missing_tables  # noqa: PLC0415 - loads delta-rs

    create_missing_tables(settings)
    with working("looking at the log and the archive"):
        plans = plan(
            settings,
            params.hours,
            now(),
            archive_wait_seconds=params.archive_wait_seconds,
            is_revising=params.is_revising,
            is_recounting_held=params.is_recounting_held,
        )
    if all(one.action == "blocked" for one in plans):
        return receipt_of_waiting(settings, plans)

    from spark_jobs.reconcile import reconcile  # noqa: PLC0415 - loads Spark
    from warehouse.spark.session import spark_session  # noqa: PLC0415 - loads Spark

    note("starting Spark, about 10 s")
    return reconcile(settings, spark_session(settings, "tallystick-reconcile"), params, now, progress=note)
