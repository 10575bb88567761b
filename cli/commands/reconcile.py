"""``tallystick reconcile``: count hours again from raw, compare with live, seal and publish them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.console import note, print_json, print_table, warn, working
from cli.hours import hours_asked_for
from domain.buckets import HOUR, format_utc
from domain.settings import Settings
from spark_jobs.params import HourPlan, ReconcileParams, ReconcileReceipt
from warehouse.clock import now
from warehouse.settings import load_settings

BLOCKED_EXIT_CODE = 3
"""Nothing that was asked for could be done yet; the same command may succeed later."""


def reconcile(
    from_: Annotated[str, typer.Argument(metavar="FROM", help="First hour, UTC, such as 2026-01-31T13:00Z.")],
    to: Annotated[
        str | None, typer.Argument(metavar="[TO]", help="End, not part of the range; left out, it is one hour.")
    ] = None,
    is_plan: Annotated[bool, typer.Option("--plan", help="Show what would be done and what waits, and why.")] = False,
    actor: Annotated[str, typer.Option(help="Who asks; it goes into each seal.")] = "cli",
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write what was done to this file, as JSON.")] = None,
) -> None:
    """Seal the hours that may be sealed; count sealed ones again. Ends with 3 if every hour has to wait."""
    settings, hours = load_settings(), hours_asked_for(from_, to)
    if is_plan:
        _plan(settings, hours, is_json)
        return
    done = _reconcile(settings, ReconcileParams(hours[0], hours[-1] + HOUR, actor))
    if receipt is not None:
        receipt.write_text(done.to_json() + "\n", encoding="utf-8")
    if is_json:
        typer.echo(done.to_json())
    else:
        _show(done)
    if done.is_all_blocked:
        raise typer.Exit(BLOCKED_EXIT_CODE)


def _plan(settings: Settings, hours: list[datetime], is_json: bool) -> None:
    from spark_jobs.planning import plan

    plans = plan(settings, hours, now())
    if is_json:
        print_json([vars(one) for one in plans])
    else:
        print_table(("hour", "would be", "seal", "came late", "why"), [_plan_row(one) for one in plans])


def _plan_row(one: HourPlan) -> tuple[object, ...]:
    return (one.hour, one.action, one.seal_number, one.late_arrival_count, "; ".join(one.reasons))


def _reconcile(settings: Settings, params: ReconcileParams) -> ReconcileReceipt:
    """Starts Spark only if there is anything to do."""
    from spark_jobs.planning import plan, receipt_of_waiting
    from warehouse.create import create_missing_tables

    create_missing_tables(settings)
    with working("looking at the log and the archive"):
        plans = plan(settings, params.hours, now(), archive_wait_seconds=params.archive_wait_seconds)
    if all(one.action == "blocked" for one in plans):
        return receipt_of_waiting(settings, plans)

    from spark_jobs.reconcile import reconcile as run_reconcile
    from warehouse.spark.session import spark_session

    note("starting Spark, about 10 s")
    return run_reconcile(settings, spark_session(settings, "tallystick-reconcile"), params, now, progress=note)


def _show(done: ReconcileReceipt) -> None:
    columns = ("hour", "done", "seal", "raw", "billable", "excluded", "live", "came late")
    rows = [
        (
            hour.hour,
            hour.action,
            hour.seal_number,
            hour.raw_clicks,
            hour.billable_clicks,
            sum(hour.excluded_clicks.values()),
            hour.live_clicks,
            hour.late_arrival_count,
        )
        for hour in done.hours
    ]
    until = format_utc(done.final_until) if done.final_until else "nothing is sealed"
    print_table(columns, rows, title=f"final_until {until}, {done.duration_seconds:.0f} s")
    for hour in done.of("blocked"):
        warn(f"{format_utc(hour.hour)} waits: {'; '.join(hour.reasons)}")
    alerts = sum(hour.alert_count for hour in done.hours)
    if alerts:
        warn(f"live differs from final by more than the bar for {alerts} advertisers and hours: see table drift")
    unexplained = sum(hour.unexplained_clicks for hour in done.hours)
    if unexplained:
        warn(f"{unexplained} clicks differ between live and final for no known cause: see docs/runbook.md")
