"""``tallystick drift``: how far the live count was off in hours that are final, and how far it can be trusted."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, print_json, print_table, warn
from cli.hours import whole_hour
from domain.errors import UsageError
from domain.prices import amount_text
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from domain.drift_history import ErrorSummary, HourError
    from domain.drift_money import HourMoney, MoneyByHour, MoneySummary

    Money = Sequence[HourMoney | MoneySummary] | None

HOUR_COLUMNS = (
    *("hour", "advertiser_id", "live", "final", "difference"),
    *("late", "dedup horizon", "fraud", "missing", "extra", "over the bar"),
)
SUMMARY_COLUMNS = (
    *("advertiser_id", "hours", "within the bar", "live", "final", "median error", "largest error", "in hour"),
    "without a cause",
)
MONEY_COLUMNS = ("live amount", "final amount", "amount difference")
MONEY_FIELDS = ("live_amount_micros", "final_amount_micros", "difference_amount_micros")


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
    from domain.drift_money import money_summarised
    from quality.drift_history import read_errors, seals_between
    from quality.drift_money import read_money

    settings = load_settings()
    seals = seals_between(settings, start, end)
    errors = read_errors(settings, seals, advertiser)
    summaries = summarised(errors)
    money = read_money(settings, seals, errors, advertiser)
    sums = money_summarised(money or {})
    hours = [(one, None if money is None else money.get((one.hour, one.advertiser_id), ())) for one in errors]
    totals = [(one, None if money is None else sums.get(one.advertiser_id, ())) for one in summaries]
    if is_json:
        for error, of_hour in hours:
            print_json({"line": "hour", **asdict(error), **_money_document(of_hour)})
        for summary, of_all in totals:
            print_json({"line": "summary", **asdict(summary), **_money_document(of_all)})
    else:
        more = () if money is None else MONEY_COLUMNS
        rows = [(*_hour_cells(error), *_money_cells(of_hour)) for error, of_hour in hours]
        print_table((*HOUR_COLUMNS, *more), rows)
        rows = [(*_summary_cells(summary), *_money_cells(of_all)) for summary, of_all in totals]
        print_table((*SUMMARY_COLUMNS, *more), rows, title="by advertiser")
        note("errors are |live - final| in clicks, as they were when each hour was sealed")
    _warn_of_unknown(money or {})


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


def _money_document(money: Money) -> dict[str, Any]:
    """Nothing where no ad has a price."""
    return {} if money is None else {"money": [asdict(one) for one in money]}


def _money_cells(money: Money) -> tuple[str | None, ...]:
    """For each of ``MONEY_COLUMNS`` the amounts of all currencies; None where there is none."""
    if money is None:
        return ()
    return tuple(", ".join(_amount(getattr(one, name), one.currency) for one in money) or None for name in MONEY_FIELDS)


def _amount(micros: int | None, currency: str) -> str:
    return f"? {currency}" if micros is None else amount_text(micros, currency)


def _warn_of_unknown(money: MoneyByHour) -> None:
    unknown = {key for key, found in money.items() if any(one.difference_amount_micros is None for one in found)}
    if unknown:
        warn(
            f"{len(unknown):,} hours of advertisers have no amount and are in no sum of amounts: their minutes do not "
            "hold the clicks that the hour was sealed with"
        )
