"""``tallystick counts``: the answer that the metrics API gives, in a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from cli.console import note, print_table, warn
from domain.buckets import format_utc
from warehouse.clock import now
from warehouse.counts_query import DEFAULT_GRANULARITY, DEFAULT_GROUP_BY, PARTS, read_query
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from warehouse.counts_answer import CountsAnswer, PastAnswer

OPTION_NAME = {part: f"--{part.replace('_', '-')}" for part in PARTS}


def counts(
    *,
    from_: Annotated[str, typer.Option("--from", help="Start, a UTC minute such as 2026-01-31T13:00Z.")],
    to: Annotated[str, typer.Option("--to", help="End, not part of the range.")],
    ads: Annotated[str | None, typer.Option("--ads", help="Only these ads: A,B.")] = None,
    campaign: Annotated[str | None, typer.Option("--campaign", help="Only this campaign.")] = None,
    advertiser: Annotated[str | None, typer.Option("--advertiser", help="Only this advertiser.")] = None,
    country: Annotated[str | None, typer.Option("--country", help="Only these countries: DE,FR.")] = None,
    device: Annotated[str | None, typer.Option("--device", help="Only these classes of device: mobile,tablet.")] = None,
    time_zone: Annotated[
        str | None,
        typer.Option("--time-zone", help="Whose hours and days, such as Europe/Budapest; --from a date, too."),
    ] = None,
    granularity: Annotated[str, typer.Option("--granularity", help="minute, hour or day.")] = DEFAULT_GRANULARITY,
    group_by: Annotated[
        str, typer.Option("--group-by", help="Of advertiser,campaign,ad,country,device; '' for one row a bucket.")
    ] = ",".join(DEFAULT_GROUP_BY),
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="What was final at this instant, such as 2026-02-03T08:30Z.")
    ] = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, as the metrics API does.")] = False,
) -> None:
    """Print clicks by minute, hour or day, each row final or live."""
    given = {"from": from_, "to": to, "ads": ads, "campaign": campaign, "advertiser": advertiser, "as_of": as_of}
    given |= {"country": country, "device": device, "time_zone": time_zone}
    query = read_query(given | {"granularity": granularity, "group_by": group_by}, OPTION_NAME, now())
    from warehouse.counts import CountsReader

    answer = CountsReader(load_settings()).answer(query)
    if is_json:
        _print_json(answer)
    else:
        _print_table(answer)


def _print_json(answer: CountsAnswer) -> None:
    for chunk in answer.json_chunks():
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.write(b"\n")


def _print_table(answer: CountsAnswer) -> None:
    otherwise = "live" if answer.past is None else "final in part"
    rows = (_cells(row, otherwise, answer.query.zone) for row in answer.rows)
    print_table(["bucket", *answer.query.group_columns, "clicks", "state"], rows)
    if answer.past is not None:
        _print_past(answer.past)
    until, closed = answer.finality.final_until, answer.finality.closed_until
    total = sum(row["clicks"] for row in answer.rows)
    note(
        (f"as of {format_utc(answer.past.at)}: " if answer.past else "")
        + f"{total:,} clicks; "
        + (f"final until {format_utc(until)}" if until else "nothing is final yet")
        + (f", closed until {format_utc(closed)}" if closed else "")
    )


def _print_past(past: PastAnswer) -> None:
    """Of hours that were not final there is no figure; what live told of them turned out wrong by so much."""
    if past.later_errors:
        columns = ("hour", "advertiser_id", "live", "final", "difference")
        rows = ((row["hour"], str(row["advertiser_id"]), *list(row.values())[2:]) for row in past.later_errors)
        print_table(columns, rows, title="sealed by now: live against final")
    for start, end in past.not_final:
        warn(f"not final at {format_utc(past.at)}: {format_utc(start)} to {format_utc(end)}")
    if past.not_final:
        note(f"{past.sealed_later_count:,} of these hours are sealed by now")


def _cells(row: dict[str, Any], otherwise: str, zone: ZoneInfo | None) -> list[object]:
    """Ids are names, no quantities: as text, they stand without separators. Buckets are told by the zone's clock."""
    if zone is not None:
        row |= {"bucket": row["bucket"].astimezone(zone).isoformat()}
    cells = [str(value) if name.endswith("_id") else value for name, value in row.items() if name != "final"]
    return [*cells, "final" if row["final"] else otherwise]
