"""``tallystick alerts``: what is wrong, once for each cause; telling somebody; and trying whether they can be told."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import note, print_json, print_table, warn
from cli.files import check_writable, write_whole
from domain.errors import UsageError
from warehouse.clock import now
from warehouse.settings import load_settings

if TYPE_CHECKING:
    from domain.alerts import Alert

app = typer.Typer(help="What is wrong, once for each cause.", no_args_is_help=True, add_completion=False)
COLUMNS = ("since", "severity", "about", "rule", "observed", "expected", "see", "told")
NOT_TAKEN_EXIT_CODE = 1


@app.command("list")
def list_alerts(
    *,
    is_all: Annotated[bool, typer.Option("--all", help="Resolved ones, too.")] = False,
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Show the open alerts, as they were last looked at."""
    from domain.alerts import alerts_of
    from warehouse.alerts import read_alert_log, read_dead_letters
    from warehouse.create import create_missing_tables

    settings = load_settings()
    create_missing_tables(settings)
    found = [one for one in alerts_of(read_alert_log(settings).steps) if is_all or one.is_open]
    if is_json:
        for one in found:
            print_json(asdict(one.told) | {"opened_at": one.opened_at, "delivered_at": one.delivered_at})
        return
    print_table(COLUMNS, map(_row, found))
    dead_count = len(read_dead_letters(settings))
    if dead_count:
        warn(f"{dead_count:,} messages were not taken: table alert_dead_letters")


@app.command()
def send(
    receipt: Annotated[Path | None, typer.Option(help="Write what was done to this file, as JSON.")] = None,
) -> None:
    """Look at everything, write down what is new and what is over, and send what is due."""
    from crawler.alert_causes import crawl_causes
    from quality.alert_causes import look_everywhere, looks_of
    from quality.alerting import record_looks, send_due
    from warehouse.create import create_missing_tables

    if receipt is not None:
        check_writable(receipt)
    settings, at = load_settings(), now()
    create_missing_tables(settings)
    looks = [*look_everywhere(settings, at), *looks_of("crawl", lambda: crawl_causes(settings))]
    steps = record_looks(settings, looks, at)
    for step in steps:
        note(f"{step.step}: {step.rule}, {step.about}: {step.observed}")
    done = send_due(settings, at)
    if receipt is not None:
        write_whole(receipt, f"{json.dumps({'step_count': len(steps), **asdict(done)})}\n".encode())
    note(f"{done.sent_count:,} sent, {done.failed_count:,} not taken, {done.waiting_count:,} wait")
    if done.failed_count:
        raise typer.Exit(NOT_TAKEN_EXIT_CODE)


@app.command()
def test() -> None:
    """Send a message that says it is a test. Nothing is written down."""
    from quality.alert_webhook import post, webhook_address
    from quality.alerting import PAYLOADS, trial_step

    settings = load_settings()
    address = webhook_address(settings)
    if address is None:
        raise UsageError("no webhook", "setting alert_webhook_file", "name the file that holds its address")
    note(f"taken: {post(address, PAYLOADS[settings.alert_form](trial_step(now())))}")


def _row(one: Alert) -> tuple[object, ...]:
    told = one.told
    state = "resolved" if not one.is_open else "waits" if one.is_pending else one.delivered_at
    return (one.opened_at, told.severity, told.about, told.rule, told.observed, told.expected, told.see, state)
