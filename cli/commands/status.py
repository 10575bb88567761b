"""``tallystick status``: what runs, how far the streams are, up to when figures are final."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import out, print_json, print_table, warn
from domain.buckets import format_utc
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from cli.state import State


def status(
    is_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Show processes, lag per partition, the last live batch, final_until and what the next seal waits for."""
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
    out.print(f"last live batch  {_instant(state.last_live_batch_at)}")
    out.print(f"live has seen    {_instant(state.live_logged_at)}")
    out.print(f"final until      {_instant(state.final_until)}")
    if state.next_seal is not None:
        waits_for = state.next_seal.waits_for or ("nothing: it may be sealed now",)
        out.print(f"next seal        {_instant(state.next_seal.hour)} waits for")
        for reason in waits_for:
            out.print(f"                 {reason}", markup=False)
        if state.next_seal.waits_for:
            expected = state.next_seal.expected_at
            out.print(f"expected         {_instant(expected) if expected else 'nobody can tell'}")


def _instant(at: datetime | None) -> str:
    return format_utc(at) if at else "-"
