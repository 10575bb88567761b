"""``tallystick period``: closes billing periods, and shows which are closed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, out, print_table, warn
from cli.files import check_writable, write_whole
from domain.errors import UsageError
from domain.periods import CloseRefusedError, parse_period
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.periods import PeriodClose

app = typer.Typer(help="Billing periods, and what comes after a close.", no_args_is_help=True, add_completion=False)

PERIOD_HELP = "A UTC month such as 2026-11."
CERTIFICATE_HELP = "Write the certificate to this file too, as JSON."
CertificateFile = Annotated[Path | None, typer.Option("--certificate", metavar="FILE", help=CERTIFICATE_HELP)]


@app.command()
def close(
    period: Annotated[str, typer.Argument(metavar="PERIOD", help=PERIOD_HELP)],
    actor: Annotated[str, typer.Option(help="Who closes it; it goes into the certificate.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what stands against it; close nothing.")] = False,
    certificate: CertificateFile = None,
) -> None:
    """Close a month for ever and print its certificate. Ends with 1 and every reason if it cannot be closed."""
    from warehouse.closing import close_period, plan_close

    asked, settings = parse_period(period), load_settings()
    if certificate is not None:
        check_writable(certificate)
    plan = plan_close(settings, asked, actor, now())
    if plan.close is None:
        for reason in plan.reasons:
            warn(f"- {reason}")
        raise CloseRefusedError(asked, plan.reasons)
    if dry_run:
        note(f"period {asked} can be closed: {plan.close.billable_clicks:,} clicks in {plan.close.hour_count} hours")
        return
    _hand_out(close_period(settings, asked, actor, now), certificate)


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


def _hand_out(closed: PeriodClose, certificate: Path | None) -> None:
    """The printed lines are the file's: a full disk after a close loses nothing that is not on the screen."""
    out.print(closed.certificate().decode().rstrip("\n"), markup=False)
    if certificate is not None:
        write_whole(certificate, closed.certificate())
