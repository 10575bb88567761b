"""``tallystick click``: the click service, and the keys and links that it accepts."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from cli.console import note, out, print_table, warn
from domain.buckets import format_utc
from domain.errors import UsageError
from domain.links import CLICK_PATH, LinkFault, link_query, parse_link
from domain.signing import KeyRing
from services.click.keys import load_key_ring, rotate_keys
from warehouse.clock import now
from warehouse.settings import load_settings

DEFAULT_TERM_DAYS = 90

app = typer.Typer(invoke_without_command=True, add_completion=False)


@app.callback()
def click(context: typer.Context) -> None:
    """Run the click service until it is interrupted."""
    if context.invoked_subcommand is None:
        from services.click.server import run_click_service

        run_click_service(load_settings(), note)


@app.command()
def link(
    impression: Annotated[str, typer.Option("--imp", help="The impression: 1 to 64 letters, digits, - or _.")],
    ad: Annotated[int, typer.Option("--ad", help="The ad that was shown.")],
    base: Annotated[str | None, typer.Option("--base", help="Where visitors reach the click service.")] = None,
    hours: Annotated[int | None, typer.Option("--hours", min=1, help="How long it is accepted; else for ever.")] = None,
) -> None:
    """Print a signed link; who follows it is counted as a click on that ad."""
    settings = load_settings()
    expires_seconds = None if hours is None else int((now() + timedelta(hours=hours)).timestamp())
    query = link_query(load_key_ring(settings).sign(impression, ad, expires_seconds))
    fault = parse_link(query.encode())
    if isinstance(fault, LinkFault):
        raise UsageError(f"--{fault.parameter} is not allowed", fault.expected, "correct it")
    out.print(f"{base or f'http://{settings.bind_address}:{settings.click_port}'}{CLICK_PATH}?{query}", markup=False)


@app.command()
def keys() -> None:
    """List the signing keys, never their secrets."""
    _show(load_key_ring(load_settings()))


@app.command("rotate-keys")
def rotate(
    term_days: Annotated[
        int, typer.Option(min=0, help="How long links that are out are accepted still.")
    ] = DEFAULT_TERM_DAYS,
) -> None:
    """Sign with a new key from now on. Running click services follow within seconds."""
    _show(rotate_keys(load_settings(), now(), timedelta(days=term_days)))


@app.command()
def spool() -> None:
    """What this server's spool holds for the log, and which hours the clicks belong to that went through it."""
    from services.click.spool_report import report_spool

    settings = load_settings()
    found = report_spool(settings.spool_path)
    print_table(("hour of clicked_at", "shipped clicks"), found.shipped_by_hour.items())
    since = f", the oldest of {format_utc(found.oldest_waiting)}" if found.oldest_waiting else ""
    note(f"server {settings.server_id}: {found.waiting_count:,} clicks ({found.waiting_bytes:,} bytes) wait{since}")
    if found.damaged_bytes:
        warn(f"{found.damaged_bytes:,} bytes were no whole clicks: see *.damaged in {settings.spool_path}")


def _show(ring: KeyRing) -> None:
    rows = ((key.key_id, key.accepted_until is None, key.accepted_until) for key in ring.keys)
    print_table(("key", "signs", "accepted until"), rows)
