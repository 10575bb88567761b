"""``tallystick outcomes``: gross, net and invalid clicks by reason, and what never became a click event beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, out, print_json, print_table, warn
from cli.hours import hours_asked_for
from domain.buckets import HOUR, format_utc
from domain.counting import EXCLUSION_REASONS
from domain.errors import IntegrityError, TallystickError, UsageError
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from clicklog.edge_counts import EdgeCounts
    from domain.conservation import HourTally
    from domain.settings import Settings

GRAINS = ("hour", "day")
QUARANTINED_TITLE = (
    "records that the log got in these hours and that were quarantined, whenever clicked, of all advertisers"
)


def outcomes(
    *,
    from_: Annotated[str, typer.Option("--from", help="First hour, UTC, such as 2026-01-31T13:00Z.")],
    to: Annotated[str, typer.Option("--to", help="End, not part of the range.")],
    advertiser: Annotated[int | None, typer.Option(min=1, help="Only this advertiser.")] = None,
    by: Annotated[str, typer.Option(help="hour or day.")] = "hour",
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Print what became of every raw click of final hours. Ends with 4, naming the hours, if it does not add up."""
    hours = hours_asked_for(from_, to)
    if by not in GRAINS:
        raise UsageError(f"--by {by!r}", f"one of {', '.join(GRAINS)}", "correct it")
    from domain.outcomes import tallies_by_day
    from quality.outcomes import read_hour_outcomes, read_quarantined

    settings = load_settings()
    found = read_hour_outcomes(settings, hours, advertiser)
    tallies = tallies_by_day(found.tallies) if by == "day" else found.tallies
    edge = _edge_counts(settings, hours[0], hours[-1] + HOUR)
    quarantined = read_quarantined(settings, hours[0], hours[-1] + HOUR)
    if is_json:
        _print_json(tallies, edge, quarantined)
    else:
        _print_tables(by, tallies, edge, quarantined)
    if found.not_final:
        warn(f"{len(found.not_final):,} of {len(hours):,} hours are not final and in no figure of clicks")
    if found.violations:
        raise IntegrityError(
            "; ".join(found.violations),
            "raw = billable + excluded by reason for every advertiser and hour, and sums that are those of the seals",
            "run `tallystick verify` on these hours; restore the table's files from a copy",
        )
    note(f"raw = billable + excluded by reason in every row of {found.hour_count:,} final hours, and as sealed")


def _edge_counts(settings: Settings, start: datetime, end: datetime) -> EdgeCounts | None:
    """None, with a word of warning, where the log does not answer: the clicks are known without it."""
    from clicklog.clients import LogUnavailableError, TopicMissingError
    from clicklog.edge_counts import read_edge_counts

    try:
        found = read_edge_counts(settings, start, end)
    except (LogUnavailableError, TopicMissingError) as error:
        _say_unknown(error)
        return None
    if not found.is_whole:
        warn("the log no longer holds all edge counts of this range: those of requests refused are too low")
    return found


def _say_unknown(error: TallystickError) -> None:
    warn(f"requests refused at the edge are not known: {error.found}")


def _print_json(tallies: Sequence[HourTally], edge: EdgeCounts | None, quarantined: Mapping[str, int]) -> None:
    """Outcomes, then one line of what was refused and one of what was quarantined; ``line`` says which."""
    for tally in tallies:
        print_json({"line": "outcomes", **_document(tally)})
    refused = {"is_whole": edge.is_whole, "by_reason": edge.by_reason} if edge else None
    print_json({"line": "refused_at_the_edge", "requests": refused})
    print_json({"line": "quarantined", "by_reason": quarantined})


def _document(tally: HourTally) -> dict[str, Any]:
    excluded = {reason: tally.excluded_clicks.get(reason, 0) for reason in EXCLUSION_REASONS}
    return {
        "advertiser_id": tally.advertiser_id,
        "start": tally.hour,
        "raw_clicks": tally.raw_clicks,
        "billable_clicks": tally.billable_clicks,
        "invalid_clicks": sum(excluded.values()),
        "invalid_by_reason": excluded,
    }


def _print_tables(
    by: str, tallies: Sequence[HourTally], edge: EdgeCounts | None, quarantined: Mapping[str, int]
) -> None:
    columns = (by, "advertiser_id", "gross", "net", "invalid", *EXCLUSION_REASONS)
    print_table(columns, [_cells(tally) for tally in tallies])
    if edge is not None:
        title = "refused at the edge, of all advertisers"
        print_table(("reason", "requests"), list(edge.by_reason.items()), title=title)
    print_table(("reason", "records"), list(quarantined.items()), title=QUARANTINED_TITLE)
    gross, net = (sum(getattr(tally, name) for tally in tallies) for name in ("raw_clicks", "billable_clicks"))
    out.print(f"gross {gross:,} = net {net:,} + invalid {gross - net:,}", markup=False)


def _cells(tally: HourTally) -> tuple[object, ...]:
    said = _document(tally)
    start = format_utc(tally.hour)
    figures = (said["raw_clicks"], said["billable_clicks"], said["invalid_clicks"], *said["invalid_by_reason"].values())
    return (start, str(tally.advertiser_id), *figures)
