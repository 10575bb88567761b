"""``tallystick verify``: recount sealed hours from the raw log alone, and check the chain of seals."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, out
from domain.buckets import HOUR, format_utc, hour_of, hours_between, parse_utc
from domain.errors import IntegrityError, UsageError
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from quality.recount import Verdict


def verify(
    from_: Annotated[str, typer.Argument(metavar="FROM", help="First hour, UTC, such as 2026-01-31T13:00Z.")],
    to: Annotated[
        str | None, typer.Argument(metavar="[TO]", help="End, not part of the range; left out, it is one hour.")
    ] = None,
    kept_head: Annotated[
        str | None, typer.Option("--kept-head", help="Hash of a seal that you kept elsewhere: it must still be there.")
    ] = None,
) -> None:
    """Recount hours from raw_clicks without Spark and without the code that sealed them. Ends with 4 if any differs."""
    hours = _hours(from_, to)
    from quality.recount import verify as verdicts_on

    verdicts = []
    for verdict in verdicts_on(load_settings(), hours, kept_head, note):
        _show(verdict)
        verdicts.append(verdict)
    differing_count = sum(not verdict.is_agreeing for verdict in verdicts)
    if differing_count:
        raise IntegrityError(
            f"{differing_count} of {len(verdicts)} verdicts differ",
            "seals and published figures that raw_clicks confirms",
            "look at the lines above, docs/seals.md says what they mean",
        )
    out.print(f"all agree: {len(hours):,} hours, recounted from raw_clicks alone", style="green", markup=False)


def _show(verdict: Verdict) -> None:
    if verdict.is_agreeing:
        out.print(f"agrees   {verdict.subject}: {verdict.found}", markup=False)
    else:
        out.print(f"DIFFERS  {verdict.subject}: {verdict.found}", style="red", markup=False)
    for difference in verdict.differences:
        out.print(f"         - {difference}", style="red", markup=False)
    for remark in verdict.notes:
        out.print(f"         note: {remark}", markup=False)


def _hours(from_: str, to: str | None) -> list[datetime]:
    start = _whole_hour("FROM", from_)
    end = _whole_hour("TO", to) if to is not None else start + HOUR
    if end <= start:
        raise UsageError(f"TO {format_utc(end)} is not after FROM {format_utc(start)}", "a later end", "swap them")
    return list(hours_between(start, end))


def _whole_hour(name: str, text: str) -> datetime:
    refusal = UsageError(f"{name} is {text!r}", "a whole UTC hour such as 2026-01-31T13:00Z", "write it like that")
    try:
        at = parse_utc(text)
    except ValueError:
        raise refusal from None
    if at != hour_of(at):
        raise refusal
    return at
