"""``tallystick what-if``: what another rule would have changed on sealed hours, without changing anything."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import counting, note, print_json, print_table, warn
from cli.hours import FirstHour, RangeEnd, hours_asked_for
from domain.buckets import HOUR, format_utc
from domain.errors import UsageError
from domain.prices import amount_text
from domain.texts import hours_text
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from quality.what_if import AdvertiserEffect, Change, Supposition

MAX_HORIZON_DAYS = 60
REASON_HELP = "Exclude no click as this: head, prefetch, duplicate, conflicting_duplicate or fraud. May be repeated."


def what_if(
    from_: FirstHour,
    to: RangeEnd = None,
    horizon_days: Annotated[
        int | None, typer.Option(min=1, max=MAX_HORIZON_DAYS, help="Another dedup horizon.")
    ] = None,
    verdict_set: Annotated[int | None, typer.Option(min=0, help="Another set of verdicts.")] = None,
    verdicts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of verdicts, as if it were the next set.")
    ] = None,
    is_without_verdicts: Annotated[bool, typer.Option("--no-verdicts", help="No verdict at all.")] = False,
    without_reason: Annotated[list[str] | None, typer.Option("--without-reason", help=REASON_HELP)] = None,
    is_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what another rule would have billed of hours that are sealed. Changes nothing."""
    from quality.what_if import Effects, Supposition, countable_among, sealed_among
    from quality.what_if import what_if as effects_of
    from warehouse.lost_raw import NO_LONGER_VERIFIABLE

    hours, settings = hours_asked_for(from_, to), load_settings()
    if sum((verdict_set is not None, verdicts is not None, is_without_verdicts)) > 1:
        raise UsageError(
            "several of --verdict-set, --verdicts and --no-verdicts", "one of them", "leave the others out"
        )
    supposition = Supposition(
        horizon_days=horizon_days,
        verdict_set=0 if is_without_verdicts else verdict_set,
        verdicts=_verdicts_of(verdicts),
        left_out=frozenset(without_reason or ()),
    )
    sealed = sealed_among(settings, hours)
    if len(sealed) < len(hours):
        warn(f"{len(hours) - len(sealed):,} of {hours_text(len(hours))} not sealed and left out")
    seals = countable_among(settings, sealed, supposition)
    if len(seals) < len(sealed):
        warn(f"{len(sealed) - len(seals):,} of {hours_text(len(sealed))} left out, {NO_LONGER_VERIFIABLE}")
    effects = Effects()
    with counting("hours counted twice", len(seals)) as show:
        for done, effect in enumerate(effects_of(settings, seals, supposition, note), start=1):
            effects.add(effect)
            show(done)
    if is_json:
        print_json(_document(hours, len(seals), supposition, effects.by_advertiser(), effects.total()))
    else:
        _print(effects.by_advertiser(), effects.total(), len(seals))


def _verdicts_of(path: Path | None) -> list[Any]:
    from warehouse.verdict_files import read_verdict_file

    if path is None:
        return []
    found = read_verdict_file(path, now()).verdicts
    if not found:
        raise UsageError(f"{path} holds no verdict", "at least one", "correct the file, or give --no-verdicts")
    return list(found)


def _print(by_advertiser: dict[int, AdvertiserEffect], total: AdvertiserEffect, hour_count: int) -> None:
    columns = ("advertiser", "billable now", "billable then", "difference", "excluded, by reason", "amount")
    rows = [_row(str(advertiser_id), effect) for advertiser_id, effect in by_advertiser.items()]
    print_table(columns, [*rows, _row("all", total)])
    changed = sum(effect.billable_clicks.difference != 0 for effect in by_advertiser.values())
    note(
        f"{hours_text(hour_count)} sealed, {total.billable_clicks.difference:+,} billable clicks, "
        f"other figures for {changed:,} of {len(by_advertiser):,} advertisers; nothing was changed"
    )


def _row(who: str, effect: AdvertiserEffect) -> tuple[object, ...]:
    billable = effect.billable_clicks
    excluded = [f"{name} {one.now:,} -> {one.then:,}" for name, one in sorted(effect.excluded_clicks.items())]
    amounts = [
        f"{amount_text(one.now, name)} -> {amount_text(one.then, name)}"
        for name, one in sorted(effect.amounts_micros.items())
    ]
    return who, billable.now, billable.then, billable.difference, ", ".join(excluded), ", ".join(amounts)


def _document(
    hours: list[datetime],
    sealed_hours: int,
    supposition: Supposition,
    by_advertiser: dict[int, AdvertiserEffect],
    total: AdvertiserEffect,
) -> dict[str, Any]:
    return {
        "from": format_utc(hours[0]),
        "to": format_utc(hours[-1] + HOUR),
        "sealed_hours": sealed_hours,
        "unsealed_hours": len(hours) - sealed_hours,
        "supposed": {
            "horizon_days": supposition.horizon_days,
            "verdict_set": supposition.verdict_set,
            "verdicts": len(supposition.verdicts),
            "without_reasons": sorted(supposition.left_out),
        },
        "advertisers": [{"advertiser_id": one, **_figures(effect)} for one, effect in by_advertiser.items()],
        "total": _figures(total),
    }


def _figures(effect: AdvertiserEffect) -> dict[str, Any]:
    return {
        "billable_clicks": _change(effect.billable_clicks),
        "excluded_clicks": {name: _change(one) for name, one in sorted(effect.excluded_clicks.items())},
        "amounts_micros": {name: _change(one) for name, one in sorted(effect.amounts_micros.items())},
    }


def _change(change: Change) -> dict[str, int]:
    return {"now": change.now, "then": change.then, "difference": change.difference}
