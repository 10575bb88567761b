"""``tallystick proposals``: sealed hours that deserve another look, listed, applied and dismissed."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, print_json, print_table
from cli.files import check_writable, write_whole
from cli.hours import whole_hour
from cli.reconciling import BLOCKED_EXIT_CODE, reconcile_hours
from domain.buckets import HOUR, format_utc
from domain.errors import UsageError
from domain.texts import check_actor
from spark_jobs.params import ReconcileParams, ReconcileReceipt
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.proposals import Findings, Proposal
    from domain.settings import Settings

app = typer.Typer(
    help="Sealed hours that deserve another look: late clicks, newer verdicts.",
    no_args_is_help=True,
    add_completion=False,
)
HourArgument = Annotated[str, typer.Argument(metavar="HOUR", help="UTC, such as 2026-01-31T13:00Z.")]


@app.command("list")
def list_proposals(
    is_json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, with the lines of adjustments.")
    ] = False,
) -> None:
    """List what is proposed: revisions in open periods, adjustments in closed ones."""
    from quality.proposals import read_proposals
    from warehouse.create import create_missing_tables

    settings = load_settings()
    create_missing_tables(settings)
    proposals = read_proposals(settings, on_progress=note)
    if is_json:
        for one in proposals:
            print_json(_document(one))
        return
    columns = ("hour", "proposed", "by", "case", "late", "verdicts", "lines", "clicks")
    print_table(columns, [_row(one) for one in proposals])


@app.command()
def apply(
    hours: Annotated[list[str] | None, typer.Argument(metavar="[HOUR]...", help="Hours of open periods.")] = None,
    *,
    actor: Annotated[str, typer.Option(help="Who applies them; it goes into the seals.")],
    is_all: Annotated[bool, typer.Option("--all", help="Every proposed revision.")] = False,
    is_late_only: Annotated[
        bool, typer.Option("--late-only", help="Of all, those that no verdict but late clicks alone propose.")
    ] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write what was done to this file, as JSON.")] = None,
) -> None:
    """Count the hours again and seal them anew: revisions. Ends with 3 if every one of them has to wait."""
    from warehouse.create import create_missing_tables

    check_actor(actor)
    if bool(hours) == is_all or (is_late_only and not is_all):
        raise UsageError(
            f"{len(hours or ())} hours, --all {'given' if is_all else 'not given'}",
            "either hours or --all, and --late-only with --all alone",
            "say which proposals are meant",
        )
    if receipt is not None:
        check_writable(receipt)
    settings = load_settings()
    create_missing_tables(settings)
    wanted = _named(settings, [whole_hour("HOUR", one) for one in hours]) if hours else _all(settings, is_late_only)
    done = _apply(settings, wanted, actor)
    if receipt is not None:
        write_whole(receipt, f"{done.to_json()}\n".encode())
    print_table(
        ("hour", "done", "seal", "billable", "why"),
        [(one.hour, one.action, one.seal_number, one.billable_clicks, "; ".join(one.reasons)) for one in done.hours],
    )
    if done.hours and done.is_all_blocked:
        raise typer.Exit(BLOCKED_EXIT_CODE)


@app.command()
def dismiss(
    hour: HourArgument,
    *,
    reason: Annotated[str, typer.Option(help="Why nothing is to be done.")],
    actor: Annotated[str, typer.Option(help="Who decides that.")],
) -> None:
    """Refuse a proposal: what was found so far is not proposed again, what is found later is."""
    from quality.proposals import read_proposals
    from warehouse.create import create_missing_tables
    from warehouse.proposal_dismissals import dismiss as write_dismissal

    settings, at = load_settings(), whole_hour("HOUR", hour)
    create_missing_tables(settings)
    proposals = read_proposals(settings, [at], note)
    if not proposals:
        raise _nothing_proposed(at)
    write_dismissal(settings, proposals[0].findings, reason=reason, actor=actor, at=now())
    note(f"hour {format_utc(at)}: {proposals[0].findings.reason} dismissed")


def _named(settings: Settings, hours: list[datetime]) -> list[Findings]:
    from warehouse.hour_findings import read_findings
    from warehouse.periods import read_closed

    read_closed(settings).check_open(hours)
    found = {one.hour: one for one in read_findings(settings, hours)}
    for hour in hours:
        if hour not in found:
            raise _nothing_proposed(hour)
    return [found[hour] for hour in sorted(found)]


def _all(settings: Settings, is_late_only: bool) -> list[Findings]:
    from domain.seals import current_seals
    from warehouse.hour_findings import read_findings
    from warehouse.periods import read_closed
    from warehouse.seals import read_seals

    closed = read_closed(settings)
    open_hours = [hour for hour in sorted(current_seals(read_seals(settings))) if not closed.holds(hour)]
    wanted = read_findings(settings, open_hours)  # of closed months, which are most of raw, nothing can be applied
    return [one for one in wanted if one.is_late_only] if is_late_only else wanted


def _apply(settings: Settings, wanted: list[Findings], actor: str) -> ReconcileReceipt:
    """One run an hour, since each has a case of its own; what they did together."""
    done = ReconcileReceipt((), None, None, 0.0)
    for number, one in enumerate(wanted, start=1):
        note(f"{number} of {len(wanted)}: hour {format_utc(one.hour)}, {one.reason}")
        params = ReconcileParams(
            one.hour, one.hour + HOUR, f"{one.actor} by {actor}", reason=one.reason, case_id=one.case_id
        )
        latest = reconcile_hours(settings, params)
        seconds = done.duration_seconds + latest.duration_seconds
        done = replace(latest, hours=(*done.hours, *latest.hours), duration_seconds=seconds)
    return done


def _nothing_proposed(hour: datetime) -> UsageError:
    return UsageError(
        f"nothing is proposed of hour {format_utc(hour)}", "an hour of `tallystick proposals list`", "name one of them"
    )


def _row(one: Proposal) -> tuple[object, ...]:
    found = one.findings
    clicks = sum(line.delta_clicks for line in one.lines) if one.lines else None
    counts = (len(found.late), len(found.verdicts), len(one.lines) or None, clicks)
    return (one.hour, one.kind, found.actor, found.case_id, *counts)


def _document(one: Proposal) -> dict[str, object]:
    found = one.findings
    return {
        "hour": one.hour,
        "kind": one.kind,
        "actor": found.actor,
        "case_id": found.case_id,
        "reason": found.reason,
        "seal_number": found.seal_number,
        "late_clicks": len(found.late),
        "verdict_count": len(found.verdicts),
        "findings_digest": found.digest,
        "lines": [asdict(line) | {"charge_hour": format_utc(line.charge_hour)} for line in one.lines],
    }
