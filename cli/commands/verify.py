"""``tallystick verify``: recount sealed hours from the raw log alone, and check the chain of seals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, out, warn
from cli.hours import FirstHour, RangeEnd, hours_asked_for
from domain.buckets import format_utc
from domain.errors import IntegrityError, UsageError
from domain.texts import hours_text
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.heads import Head
    from quality.recount import Verdict


def verify(
    from_: FirstHour,
    to: RangeEnd = None,
    kept_head: Annotated[
        str | None, typer.Option("--kept-head", help="Hash of a seal that you kept elsewhere: it must still be there.")
    ] = None,
    head: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A head that `tallystick head export` kept: it must still hold.")
    ] = None,
) -> None:
    """Recount hours from raw_clicks without Spark and without the code that sealed them.

    Ends with 4 if any differs, with 2 if none of them is sealed, or the raw clicks of none are kept any more.
    """
    hours = hours_asked_for(from_, to)
    from quality.recount import verify as verdicts_on

    kept = _read_head(head) if head is not None else None
    verdicts = []
    for verdict in verdicts_on(load_settings(), hours, kept_head, note, kept):
        _show(verdict)
        verdicts.append(verdict)
    differing_count = sum(not verdict.is_agreeing for verdict in verdicts)
    of_hours = [verdict for verdict in verdicts if verdict.hour is not None]
    sealed_count = sum(verdict.is_sealed for verdict in of_hours)
    lost_count = sum(not verdict.is_verifiable for verdict in of_hours)
    if differing_count:
        raise IntegrityError(
            f"{differing_count} of {len(verdicts)} verdicts differ",
            "seals and published figures that raw_clicks confirms",
            "look at the lines above, docs/seals.md says what they mean",
        )
    if not sealed_count:
        raise UsageError(
            f"no seal of {hours_text(len(hours))} from {format_utc(hours[0])}",
            "a range with sealed hours",
            "`tallystick status` says what the next seal waits for",
        )
    if lost_count == sealed_count:
        raise UsageError(
            f"{hours_text(lost_count)} sealed, no longer verifiable",
            "hours whose raw clicks are still kept",
            "see docs/retention.md; nothing that is left contradicts the seals",
        )
    if lost_count:
        warn(f"{hours_text(lost_count)} of the range no longer verifiable, see docs/retention.md")
    if sealed_count < len(hours):
        warn(f"{hours_text(len(hours) - sealed_count)} of the range not sealed: nothing to verify there")
    out.print(
        f"all agree: {hours_text(sealed_count - lost_count)}, recounted from raw_clicks alone",
        style="green",
        markup=False,
    )


def _read_head(path: Path) -> Head:
    from domain.heads import parse_head

    try:
        return parse_head(str(path), path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", "a file of `tallystick head export`", "name that one"
        ) from error


def _show(verdict: Verdict) -> None:
    if verdict.is_agreeing and not verdict.is_sealed:
        out.print(f"no seal  {verdict.subject}", markup=False)
    elif verdict.is_agreeing and not verdict.is_verifiable:
        out.print(f"no raw   {verdict.subject}: {verdict.found}", style="yellow", markup=False)
    elif verdict.is_agreeing:
        out.print(f"agrees   {verdict.subject}: {verdict.found}", markup=False)
    else:
        out.print(f"DIFFERS  {verdict.subject}: {verdict.found}", style="red", markup=False)
    for difference in verdict.differences:
        out.print(f"         - {difference}", style="red", markup=False)
    for remark in verdict.notes:
        out.print(f"         note: {remark}", markup=False)
