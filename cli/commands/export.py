"""``tallystick export``: files for people outside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import note
from cli.files import check_writable, whole_file
from domain.periods import parse_period
from domain.prices import amounts_text
from warehouse.settings import load_settings

app = typer.Typer(help="Files for people outside.", no_args_is_help=True, add_completion=False)


@app.callback()
def export() -> None:
    """Write figures to files: whole, or not at all."""


@app.command()
def statement(
    *,
    advertiser: Annotated[int, typer.Option(min=1, help="Whose clicks.")],
    period: Annotated[str, typer.Option(help="A closed period such as 2026-11.")],
    time_zone: Annotated[str, typer.Option(help="In which a day begins at midnight, such as Asia/Kolkata.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to; a file of that name is replaced.")],
    file_format: Annotated[str, typer.Option("--format", help="csv, parquet or xlsx.")] = "csv",
) -> None:
    """Write what an advertiser is billed for in a closed period, by day, campaign and ad."""
    asked = parse_period(period)
    check_writable(out)
    from warehouse.duck_engine import scratch_folder
    from warehouse.statement_files import write_statement
    from warehouse.statements import read_statement

    with whole_file(out) as file:
        settings = load_settings()
        found = read_statement(settings, advertiser, asked, time_zone)
        write_statement(found, file_format, file, scratch_folder(settings))
    money = amounts_text({one.currency: one.amount_micros for one in found.amounts})
    clicks = ", ".join(filter(None, (f"{found.total_clicks:,} clicks", money)))
    note(f"{out}: {clicks} of advertiser {advertiser} in {asked}, days of {time_zone}")
