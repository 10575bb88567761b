"""``tallystick final-until``: up to when every hour is sealed and published."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.console import note, out, print_json
from domain.buckets import format_utc
from warehouse.settings import load_settings


def final_until(is_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Print the end of the last hour up to which every hour is sealed and published."""
    from warehouse.counts import CountsReader

    finality = CountsReader(load_settings()).finality()
    if is_json:
        print_json(finality.document())
    elif finality.final_until is None:
        note("nothing is final yet: no hour is sealed and published")
    else:
        out.print(format_utc(finality.final_until))
        if finality.closed_until is not None:
            note(f"closed until {format_utc(finality.closed_until)}")
