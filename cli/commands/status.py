"""``tallystick status``: what runs, how far the streams are, up to when figures are final."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import out, print_json, print_table, warn
from domain.buckets import format_utc
from domain.stream_batches import WINDOW_TEXT
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from cli.state import State
    from domain.stream_batches import Forecast, StreamBatch
    from warehouse.stream_state import StreamState


def status(
    is_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Show processes, lag, the last batches, freshness, final_until and what the next seal waits for."""
    from cli.state import read_state

    state = read_state(load_settings(), now())
    if is_json:
        print_json(asdict(state))
    else:
        _show(state)


def _show(state: State) -> None:
    rows = [(process.name, "runs" if process.is_running else "-", process.detail) for process in state.processes]
    print_table(("process", "", "where"), rows)
    if state.partitions is None:
        warn(f"no lag: {state.log_problem}")
    else:
        lags = [
            (each.partition, each.end_offset, each.archive_lag_events, each.live_lag_events)
            for each in state.partitions
        ]
        print_table(("partition", "end of log", "archive behind", "live behind"), lags)
    _show_batches(state.stream)
    out.print(f"last live batch  {_instant(state.last_live_batch_at)}")
    out.print(f"live has seen    {_instant(state.live_logged_at)}")
    _show_stream(state.stream)
    out.print(f"final until      {_instant(state.final_until)}")
    if state.next_seal is not None:
        waits_for = state.next_seal.waits_for or ("nothing: it may be sealed now",)
        out.print(f"next seal        {_instant(state.next_seal.hour)} waits for")
        for reason in waits_for:
            out.print(f"                 {reason}", markup=False)
        if state.next_seal.waits_for:
            expected = state.next_seal.expected_at
            out.print(f"expected         {_instant(expected) if expected else 'nobody can tell'}")


def _show_batches(stream: StreamState) -> None:
    if stream.batches:
        columns = ("query", "ended", "s", "slowest", "in", "quarantined", "duplicate", "late", "already", "counted")
        print_table(columns, map(_batch_row, stream.batches))


def _batch_row(batch: StreamBatch) -> tuple[object, ...]:
    stage, seconds = max(batch.stage_seconds.items(), key=lambda each: each[1])
    return (
        batch.query,
        format_utc(batch.ended_at.replace(microsecond=0)),
        f"{batch.duration.total_seconds():.1f}",
        f"{stage} {seconds:.1f}",
        batch.in_count,
        batch.quarantined_count,
        batch.duplicate_count,
        batch.late_count,
        batch.already_count,
        batch.counted_count,
    )


def _show_stream(stream: StreamState) -> None:
    for each in stream.forecasts:
        out.print(f"{each.query:<16} {level_text(each)}")
    fresh = stream.freshness
    if fresh is not None:
        quantiles = f"p50 {fresh.p50_seconds:.1f} s, p95 {fresh.p95_seconds:.1f} s, p99 {fresh.p99_seconds:.1f} s"
        out.print(f"freshness        at most {quantiles}, worst {fresh.worst_seconds:.1f} s, of the last {WINDOW_TEXT}")
    for alert in stream.alerts:
        warn(f"alert: {alert}")


def level_text(forecast: Forecast) -> str:
    """How far behind the log a query is, and when it will be level."""
    if not forecast.lag_events:
        return "is level with the log"
    behind = f"is {forecast.lag_events:,} records behind"
    if forecast.read_per_second is None:
        return f"{behind}; no batch of the last {WINDOW_TEXT} tells how long it will take"
    pace = f"reads {forecast.read_per_second:,.0f} a second, the log grows by {forecast.growth_per_second:,.0f}"
    if forecast.level_at is None:
        return f"{behind} and will not catch up: it {pace}"
    return f"{behind}, level about {format_utc(forecast.level_at.replace(microsecond=0))}: it {pace}"


def _instant(at: datetime | None) -> str:
    return format_utc(at) if at else "-"
