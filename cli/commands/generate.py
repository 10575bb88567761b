"""``tallystick generate``: made-up traffic with a known truth, straight to the log or through the click service."""

# ruff: noqa: ARG001 - the shares are read from the context, by their names

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import counting, note, print_table, warn
from domain.buckets import format_utc, parse_utc
from domain.errors import UsageError
from domain.settings import Settings
from traffic.http_sender import ClickService
from traffic.options import Shares, TrafficOptions, time_range
from traffic.run import RunReceipt
from traffic.run import generate as run_traffic
from traffic.truth import Truth, load_truth, reserve_truth, save_truth
from warehouse.clock import now
from warehouse.settings import load_settings


def _share(help_text: str, default: float) -> Any:
    return typer.Option(min=0, max=1, help=f"Share of the clicks {help_text}.", show_default=str(default))


def generate(
    ctx: typer.Context,
    *,
    clicks: Annotated[int, typer.Option(min=1, help="Billable clicks; everything else comes on top.")],
    seed: Annotated[int, typer.Option(help="Same seed, options and range: same bytes.")] = 1,
    hours: Annotated[int | None, typer.Option(min=1, help="Length of the range; 3 by default.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Start, a UTC minute: 2026-01-31T13:00Z.")] = None,
    until: Annotated[
        str | None, typer.Option(help="End, not part of the range; by default the last full hour.")
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="Write what must be counted to this file, as JSON.")] = None,
    after: Annotated[Path | None, typer.Option(help="Truth file of the run before on the same log.")] = None,
    via_http: Annotated[str | None, typer.Option(help="Send through the click service at this address.")] = None,
    ads: Annotated[int, typer.Option(min=1, help="How many ads.")] = 200,
    advertisers: Annotated[int, typer.Option(min=1, help="How many advertisers.")] = 8,
    hot_share: Annotated[float, typer.Option(min=0, max=1, help="Share of the clicks on the hot ad.")] = 0.3,
    plain: Annotated[bool, typer.Option("--plain", help="No oddities but those asked for by a share.")] = False,
    duplicates: Annotated[float | None, _share("repeated within seconds", Shares.duplicates)] = None,
    far_duplicates: Annotated[float | None, _share("repeated hours or days later", Shares.far_duplicates)] = None,
    conflicting: Annotated[
        float | None, _share("repeated with another country, device or campaign", Shares.conflicting)
    ] = None,
    heads: Annotated[float | None, _share("with a HEAD request beside", Shares.heads)] = None,
    prefetches: Annotated[float | None, _share("with a prefetch beside", Shares.prefetches)] = None,
    malformed: Annotated[float | None, _share("with a malformed twin", Shares.malformed)] = None,
    future: Annotated[float | None, _share("with a future-dated twin", Shares.future)] = None,
    unknown_ads: Annotated[float | None, _share("with a twin of an unknown ad", Shares.unknown_ads)] = None,
    out_of_order: Annotated[float | None, _share("sent late, within the bound", Shares.out_of_order)] = None,
    late: Annotated[float | None, _share("sent later than the bound", Shares.late)] = None,
    old_impressions: Annotated[
        float | None, _share("on impressions an hour to ten days old", Shares.old_impressions)
    ] = None,
    opaque: Annotated[float | None, _share("with an impression id that tells no time", Shares.opaque)] = None,
    twins: Annotated[float | None, _share("that look like another click and are none", Shares.twins)] = None,
    odd_forms: Annotated[float | None, _share("written in a valid, unusual form", Shares.odd_forms)] = None,
) -> None:
    """Send made-up traffic, and write down what must be counted of it."""
    settings, at = load_settings(), now()
    start_at, end_at = time_range(_instant("--from", from_), _instant("--until", until), hours, at)
    options = TrafficOptions(
        clicks_count=clicks,
        seed=seed,
        start_at=start_at,
        end_at=end_at,
        late_bound_seconds=settings.late_bound_seconds,
        ads_count=ads,
        advertisers_count=advertisers,
        hot_share=hot_share,
        shares=_asked_for(ctx, Shares.none() if plain else Shares()),
    )
    _send(settings, options, at, truth=truth, after=after, via_http=via_http)


def _asked_for(ctx: typer.Context, shares: Shares) -> Shares:
    """The shares, with those replaced that were given as an option of the same name."""
    given = {share.name: ctx.params[share.name] for share in fields(Shares)}
    return replace(shares, **{name: value for name, value in given.items() if value is not None})


def _instant(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_utc(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}", "a UTC instant such as 2026-01-31T13:00Z", "correct it") from error


def _send(
    settings: Settings,
    options: TrafficOptions,
    at: datetime,
    *,
    truth: Path | None,
    after: Path | None,
    via_http: str | None,
) -> None:
    if truth is not None:
        reserve_truth(truth)
    earlier = load_truth(after) if after else None
    service = None
    if via_http is not None:
        from services.click.keys import load_key_ring

        service = ClickService(via_http, load_key_ring(settings))
        options = options.over_http()
    with counting("sending clicks", options.clicks_count) as show:
        receipt = run_traffic(settings, options, at, show, earlier=earlier, service=service)
    if truth is not None:
        save_truth(receipt.truth, truth)
    _show(receipt, options, truth)


def _show(receipt: RunReceipt, options: TrafficOptions, path: Path | None) -> None:
    ads, seconds = receipt.ads, receipt.sending_seconds
    rows = [(name, count) for name, count in receipt.truth.totals().items() if count or name == "billable"]
    where = f"{format_utc(options.start_at)} to {format_utc(options.end_at)}"
    print_table(("must be", "count"), rows, title=f"traffic of {where}, seed {options.seed}")
    records = receipt.truth.records_count
    note(f"{records:,} records in {seconds:.1f} s, {records / max(seconds, 0.001):,.0f} a second")
    note(f"ads: {ads.added_count} added, {ads.changed_count} changed, {ads.unchanged_count} as they were")
    if path is not None:
        note(f"the truth is in {path}")
    _warn_if_live_differs(receipt.truth)


def _warn_if_live_differs(truth: Truth) -> None:
    if not truth.is_live_exact:
        warn(
            "other clicks were in the log before: live may refuse more as late than the truth says "
            "(final is exact); give the truth file of the run before with --after"
        )
