"""``tallystick period``: closes billing periods, and shows which are closed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import counting, note, out, print_json, print_table, warn
from cli.files import check_writable, write_whole
from cli.hours import whole_hour
from domain.buckets import format_utc
from domain.errors import UsageError
from domain.periods import CloseRefusedError, parse_period, period_of
from domain.prices import amounts_text
from domain.texts import hours_text
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.adjustments import AdjustmentLine
    from domain.disputes import Dispute
    from domain.periods import Period, PeriodClose
    from domain.settings import Settings

app = typer.Typer(help="Billing periods, and what comes after a close.", no_args_is_help=True, add_completion=False)

PERIOD_HELP = "A UTC month such as 2026-11."
CERTIFICATE_HELP = "Write the certificate to this file too, as JSON."
CertificateFile = Annotated[Path | None, typer.Option("--certificate", metavar="FILE", help=CERTIFICATE_HELP)]


@app.command()
def close(
    period: Annotated[str, typer.Argument(metavar="PERIOD", help=PERIOD_HELP)],
    actor: Annotated[str, typer.Option(help="Who closes it; it goes into the certificate.")],
    is_plan: Annotated[bool, typer.Option("--plan", help="Say what stands against it; close nothing.")] = False,
    certificate: CertificateFile = None,
    is_json: Annotated[bool, typer.Option("--json", help="One JSON object: certificate, reasons, disputes.")] = False,
) -> None:
    """Close a month for ever and print its certificate, once every hour of it is counted again from raw.

    Ends with 1 and every reason if it cannot be closed.
    """
    from warehouse.disputes import open_disputes

    asked, settings = parse_period(period), load_settings()
    if certificate is not None:
        check_writable(certificate)
    disputes = open_disputes(settings, asked.start, asked.end)
    for dispute in disputes:
        warn(f"open dispute {dispute.case_id} of advertiser {dispute.advertiser_id}: its outcome will be an adjustment")
    try:
        found = _recounted(settings, asked, actor, is_plan=is_plan)
    except CloseRefusedError as error:
        if is_json:
            print_json(_close_document(asked, None, error.reasons, disputes))
        for reason in error.reasons:
            warn(f"- {reason}")
        count = len(error.reasons)
        said = "for the reason above" if count == 1 else f"for the {count} reasons above"
        raise CloseRefusedError(asked, (said,)) from error
    if is_json:
        print_json(_close_document(asked, None if is_plan else found, (), disputes))
    if not is_plan:
        _hand_out(found, certificate, is_shown=not is_json)
    elif not is_json:
        note(f"period {asked} can be closed: {found.billable_clicks:,} clicks in {hours_text(found.hour_count)}")


@app.command()
def show(
    period: Annotated[str, typer.Argument(metavar="PERIOD", help=PERIOD_HELP)],
    certificate: CertificateFile = None,
) -> None:
    """Print the certificate of a closed month again: the same bytes."""
    from warehouse.periods import read_closes

    asked = parse_period(period)
    closes = [one for one in read_closes(load_settings()) if one.period == asked]
    if not closes:
        raise UsageError(f"period {asked} is open", "a closed one", "see `tallystick period list`")
    _hand_out(closes[0], certificate)


@app.command()
def adjust(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The lines, a JSON object each.")] = None,
    *,
    proposals: Annotated[
        list[str] | None, typer.Option("--proposal", metavar="HOUR", help="Lines that are proposed of a closed hour.")
    ] = None,
    case: Annotated[str, typer.Option(help="The case; one is adjusted once.")],
    reason: Annotated[str, typer.Option(help="Why; it stands on the statement.")],
    requester_token: Annotated[Path, typer.Option(metavar="FILE", help="File with the token of who asks.")],
    approver_token: Annotated[Path, typer.Option(metavar="FILE", help="File with the token of who approves.")],
    billing_period: Annotated[
        str | None, typer.Option(help="What bills it; the month that follows the closed ones.")
    ] = None,
) -> None:
    """Bill differences of closed months in an open one: those of a file, or as proposed. Needs two people."""
    from domain.adjustments import AdjustmentCase
    from services.approvals import read_approval
    from warehouse.adjustments import adjust as write_adjustments
    from warehouse.adjustments import read_adjustments, read_lines
    from warehouse.periods import read_closed
    from warehouse.prices import amounts_of

    settings, at = load_settings(), now()
    approval = read_approval(settings, requester_token, approver_token, at)
    billed_in = parse_period(billing_period) if billing_period else period_of(read_closed(settings).closed_until or at)
    asked = AdjustmentCase(case_id=case, reason=reason, billing_period=billed_in, adjusted_at=at, **vars(approval))
    lines, known_count = read_lines(file) if file else [], len(read_adjustments(settings))
    lines += _proposed_lines(settings, [whole_hour("--proposal", hour) for hour in proposals or ()])
    written = write_adjustments(settings, asked, lines, known_count if proposals else None)
    total = sum(one.delta_clicks for one in written)
    said = (f"{len(written)} lines", f"{total:+,} clicks", amounts_text(amounts_of(settings, written)))
    note(f"case {case}: {', '.join(filter(None, said))}, billed in {billed_in}")


@app.command("list")
def list_periods() -> None:
    """List the closed months."""
    from warehouse.periods import read_closes

    columns = ("period", "closed", "by", "hours", "billable", "last seal", "root digest")
    rows = [
        (str(c.period), c.closed_at, c.actor, c.hour_count, c.billable_clicks, c.last_seal_number, c.root_digest)
        for c in read_closes(load_settings())
    ]
    print_table(columns, rows)


def _recounted(settings: Settings, asked: Period, actor: str, is_plan: bool) -> PeriodClose:
    """The close, or the one that would be, after every hour of the month was counted again."""
    from quality.closing import close_recounted, plan_recounted
    from warehouse.closing import plan_close

    plan = plan_close(settings, asked, actor, now())
    plan.required()  # what is known at once is said at once
    with counting("hours recounted", len(asked.hours)) as show:
        if is_plan:
            found = plan_recounted(settings, asked, actor, now(), known=plan, on_hour=show, on_progress=note)
            return found.required()
        return close_recounted(settings, asked, actor, now, known=plan, on_hour=show, on_progress=note)


def _close_document(
    period: Period, closed: PeriodClose | None, reasons: Sequence[str], disputes: Sequence[Dispute]
) -> dict[str, object]:
    """``certificate`` is null where nothing was closed."""
    said = ("case_id", "advertiser_id", "start", "end", "claim", "opened_at")
    return {
        "period": str(period),
        "certificate": None if closed is None else json.loads(closed.certificate()),
        "reasons": reasons,
        "open_disputes": [{name: getattr(dispute, name) for name in said} for dispute in disputes],
    }


def _proposed_lines(settings: Settings, hours: list[datetime]) -> list[AdjustmentLine]:
    from quality.proposals import read_proposals

    if not hours:
        return []
    lines = {one.hour: list(one.lines) for one in read_proposals(settings, hours, note) if one.kind == "adjustment"}
    for hour in hours:
        if hour not in lines:
            raise UsageError(
                f"no adjustment is proposed of hour {format_utc(hour)}",
                "an hour of a closed period out of `tallystick proposals list`",
                "name one of them",
            )
    return [line for hour in sorted(lines) for line in lines[hour]]


def _hand_out(closed: PeriodClose, certificate: Path | None, is_shown: bool = True) -> None:
    """The printed lines are the file's: a full disk after a close loses nothing that is not on the screen."""
    if is_shown:
        out.print(closed.certificate().decode().rstrip("\n"), markup=False)
    if certificate is not None:
        write_whole(certificate, closed.certificate())
