"""``tallystick drift``: how far the live count was off in hours that are final, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, print_json, print_table
from cli.hours import whole_hour
from domain.errors import UsageError
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.drift_history import ErrorSummary, HourError

HOUR_COLUMNS = (
    *("hour", "advertiser_id", "live", "final", "difference"),
    *("late", "dedup horizon", "fraud", "missing", "extra", "over the bar"),
)
SUMMARY_COLUMNS = (
    *("advertiser_id", "hours", "within the bar", "live", "final", "median error", "largest error", "in hour"),
    "without a cause",
)


def drift(
    from_: Annotated[str | None, typer.Option("--from", help="First hour, UTC; left out, the first final one.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="End, not part of the range.")] = None,
    advertiser: Annotated[int | None, typer.Option(min=1, help="Only this advertiser.")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Print live against final of each final hour and advertiser, and a summary for each advertiser."""
    start = whole_hour("--from", from_) if from_ is not None else None
    end = whole_hour("--to", to) if to is not None else None
    _check_order(start, end)
    from domain.drift_history import summarised
    from quality.drift_history import read_errors

    errors = read_errors(load_settings(), start, end, advertiser)
    summaries = summarised(errors)
    if is_json:
        for error in errors:
            print_json({"line": "hour", **asdict(error)})
        for summary in summaries:
            print_json({"line": "summary", **asdict(summary)})
    else:
        print_table(HOUR_COLUMNS, [_hour_cells(error) for error in errors])
        print_table(SUMMARY_COLUMNS, [_summary_cells(summary) for summary in summaries], title="by advertiser")
        note("errors are |live - final| in clicks, as they were when each hour was sealed")


def _check_order(start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and end <= start:
        raise UsageError("--to is not after --from", "a later end", "swap them")


def _hour_cells(error: HourError) -> tuple[object, ...]:
    hour, advertiser_id, *clicks = asdict(error).values()
    return (hour, str(advertiser_id), *clicks)


def _summary_cells(summary: ErrorSummary) -> tuple[object, ...]:
    return (
        *(str(summary.advertiser_id), summary.hour_count, f"{summary.within_bar_per_mille} per mille"),
        *(summary.live_clicks, summary.final_clicks, summary.median_error_clicks, summary.largest_error_clicks),
        *(summary.largest_error_hour, summary.unexplained_clicks),
    )
