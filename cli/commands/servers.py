"""``tallystick servers``: the click servers that the log knows, and how one that will not come back is retired."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

from cli.console import note, print_json, print_table
from clicklog.watermarks import read_watermarks, retire_server
from domain.buckets import format_utc
from services.click.standing import Standing
from warehouse.clock import now
from warehouse.settings import load_settings

app = typer.Typer(help="The click servers that the log knows.", no_args_is_help=True, add_completion=False)


@app.command("list")
def list_servers(
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Show each server's newest watermark. No hour is sealed beyond one that is sending or silent."""
    at = now()
    found = sorted(read_watermarks(load_settings()).items())
    if is_json:
        for _, watermark in found:
            print_json({**asdict(watermark), "state": watermark.state(at)})
        return
    columns = ("server", "state", "all before this is in the log", "sent", "retired by", "reason")
    rows = [(name, w.state(at), w.accepted_until, w.sent_at, w.actor, w.reason) for name, w in found]
    print_table(columns, rows)


@app.command()
def retire(
    server_id: Annotated[str, typer.Argument(help="The server, as `tallystick servers list` names it.")],
    reason: Annotated[str, typer.Option(help="Why nothing more is on its way from it.")],
    actor: Annotated[str, typer.Option(help="Who decided that.")],
) -> None:
    """Stop waiting for a server that is gone. Clicks that it kept to itself are late if they come after all."""
    settings = load_settings()
    closing = retire_server(settings, server_id, reason, actor, now())
    Standing(replace(settings, server_id=server_id).spool_path).end()
    note(f"server {server_id} is retired as of {format_utc(closing.sent_at)}; no hour waits for it any more")
