"""``tallystick counts``: the answer that the metrics API gives, in a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, print_table
from domain.buckets import format_utc
from warehouse.counts_query import DEFAULT_GRANULARITY, DEFAULT_GROUP_BY, PARTS, read_query
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from warehouse.counts_answer import CountsAnswer

OPTION_NAME = {part: f"--{part.replace('_', '-')}" for part in PARTS}


def counts(
    *,
    from_: Annotated[str, typer.Option("--from", help="Start, a UTC minute such as 2026-01-31T13:00Z.")],
    to: Annotated[str, typer.Option("--to", help="End, not part of the range.")],
    ads: Annotated[str | None, typer.Option("--ads", help="Only these ads: A,B.")] = None,
    campaign: Annotated[str | None, typer.Option("--campaign", help="Only this campaign.")] = None,
    advertiser: Annotated[str | None, typer.Option("--advertiser", help="Only this advertiser.")] = None,
    granularity: Annotated[str, typer.Option("--granularity", help="minute, hour or day.")] = DEFAULT_GRANULARITY,
    group_by: Annotated[
        str, typer.Option("--group-by", help="Of advertiser,campaign,ad,country,device; '' for one row a bucket.")
    ] = ",".join(DEFAULT_GROUP_BY),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, as the metrics API does.")] = False,
) -> None:
    """Print clicks by minute, hour or day, each row final or live."""
    given = {"from": from_, "to": to, "ads": ads, "campaign": campaign, "advertiser": advertiser}
    query = read_query(given | {"granularity": granularity, "group_by": group_by}, OPTION_NAME)
    from warehouse.counts import CountsReader

    answer = CountsReader(load_settings()).answer(query)
    if json:
        _print_json(answer)
    else:
        _print_table(answer)


def _print_json(answer: CountsAnswer) -> None:
    for chunk in answer.json_chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.write(b"\n")


def _print_table(answer: CountsAnswer) -> None:
    print_table(["bucket", *answer.query.group_columns, "clicks", "state"], (_cells(row) for row in answer.rows))
    until, closed = answer.finality.final_until, answer.finality.closed_until
    total = sum(row["clicks"] for row in answer.rows)
    note(
        f"{total:,} clicks; "
        + (f"final until {format_utc(until)}" if until else "nothing is final yet")
        + (f", closed until {format_utc(closed)}" if closed else "")
    )


def _cells(row: dict[str, object]) -> list[object]:
    """Ids are names and not quantities: as text, they stand without separators."""
    cells = [str(value) if name.endswith("_id") else value for name, value in row.items() if name != "final"]
    return [*cells, "final" if row["final"] else "live"]
