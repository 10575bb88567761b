"""``tallystick ads``: the catalogue of ads, taken over from a file and listed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import note, print_json, print_table
from warehouse.ads import read_ads, read_ads_file, snapshot_ads
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.settings import load_settings

app = typer.Typer(help="The catalogue of ads.", no_args_is_help=True, add_completion=False)


@app.command()
def snapshot(
    file: Annotated[
        Path | None, typer.Argument(help="Catalogue, a JSON object a line; by default the one of the settings.")
    ] = None,
) -> None:
    """Take over what is new or changed in the catalogue file. An ad that is not in it keeps its last row."""
    settings = load_settings()
    path = file or settings.ads_path
    ads = read_ads_file(path)
    create_missing_tables(settings)
    receipt = snapshot_ads(settings, ads, now())
    print_table(
        ("ads", "count"),
        [("added", receipt.added_count), ("changed", receipt.changed_count), ("unchanged", receipt.unchanged_count)],
    )
    note(f"table ads is at version {receipt.version}, from {path}")


@app.command("list")
def list_ads(
    is_json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, as the catalogue file has it.")
    ] = False,
) -> None:
    """Print the ads in force."""
    settings = load_settings()
    create_missing_tables(settings)
    ads = [ad for _, ad in sorted(read_ads(settings).items())]
    if is_json:
        for ad in ads:
            print_json(vars(ad))
        return
    columns = ("ad_id", "advertiser_id", "campaign_id", "target_url", "price_micros", "currency")
    print_table(
        columns, ([str(value) if name.endswith("_id") else value for name, value in vars(ad).items()] for ad in ads)
    )
    note(f"{len(ads):,} ads")
