"""``tallystick reconcile``: count hours again from raw, compare with live, seal and publish them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import print_json, print_table, warn
from cli.files import check_writable, write_whole
from cli.hours import FirstHour, RangeEnd, hours_asked_for
from cli.reconciling import BLOCKED_EXIT_CODE, reconcile_hours
from domain.buckets import HOUR, format_utc
from domain.settings import Settings
from spark_jobs.params import DEFAULT_ACTOR, HourPlan, ReconcileParams, ReconcileReceipt
from warehouse.clock import now
from warehouse.settings import load_settings


def reconcile(
    from_: FirstHour,
    to: RangeEnd = None,
    is_plan: Annotated[bool, typer.Option("--plan", help="Show what would be done and what waits, and why.")] = False,
    actor: Annotated[str, typer.Option(help="Who asks; it goes into each seal.")] = DEFAULT_ACTOR,
    reason: Annotated[str, typer.Option(help="Why sealed hours are to be sealed anew if they differ now.")] = "",
    case: Annotated[str, typer.Option(help="The case of it; needs --reason and --actor.")] = "",
    is_recounting_held: Annotated[
        bool, typer.Option("--recount-held", help="Count and judge again what quality holds back, after a repair.")
    ] = False,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write what was done to this file, as JSON.")] = None,
) -> None:
    """Seal the hours that may be sealed; count sealed ones again. Ends with 3 if every hour has to wait.

    With --reason, --case and --actor, sealed hours of an open period that differ now get another seal: a revision.
    """
    settings, hours = load_settings(), hours_asked_for(from_, to)
    params = ReconcileParams(
        hours[0], hours[-1] + HOUR, actor, reason=reason, case_id=case, is_recounting_held=is_recounting_held
    )
    if receipt is not None:
        check_writable(receipt)
    if is_plan:
        _plan(settings, params, is_json)
        return
    done = reconcile_hours(settings, params)
    if receipt is not None:
        write_whole(receipt, f"{done.to_json()}\n".encode())
    if is_json:
        typer.echo(done.to_json())
    else:
        _show(done)
    if done.is_all_blocked:
        raise typer.Exit(BLOCKED_EXIT_CODE)


def _plan(settings: Settings, params: ReconcileParams, is_json: bool) -> None:
    from spark_jobs.planning import plan

    again = params.is_recounting_held
    plans = plan(settings, params.hours, now(), is_revising=params.is_revising, is_recounting_held=again)
    if is_json:
        print_json([vars(one) for one in plans])
    else:
        print_table(("hour", "would be", "seal", "came late", "expected", "why"), [_plan_row(one) for one in plans])


def _plan_row(one: HourPlan) -> tuple[object, ...]:
    return (one.hour, one.action, one.seal_number, one.late_arrival_count, one.expected_at, "; ".join(one.reasons))


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
