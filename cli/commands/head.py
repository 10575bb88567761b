"""``tallystick head``: the head of the ledgers, kept somewhere else."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.console import note, out
from cli.hours import instant
from domain.errors import UsageError
from warehouse.clock import now
from warehouse.settings import load_settings

app = typer.Typer(help="The head of the ledgers.", no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:  # without it, typer would make `tallystick head` itself the one command that there is
    """Keep the head of the ledgers somewhere else."""


@app.command()
def export(
    to: Annotated[str | None, typer.Option(help="A folder, or s3://bucket/prefix; else setting head_target.")] = None,
    retain_until: Annotated[
        str | None, typer.Option(help="Lock the object until then (UTC, as 2036-01-31T00:00Z); s3:// only.")
    ] = None,
) -> None:
    """Keep the newest numbers and hashes as a file of its own, and print where. Nothing kept is ever changed."""
    from warehouse.heads import export_head

    settings, at = load_settings(), now()
    target = to or settings.head_target
    if not target:
        raise UsageError("no target", "a folder or s3://bucket/prefix", "give --to, or set head_target")
    expected = "an instant with its zone, such as 2036-01-31T00:00Z"
    until = instant("--retain-until", retain_until, expected) if retain_until else None
    if until is not None and until <= at:
        raise UsageError(f"--retain-until {retain_until}", "a time to come", "correct it")
    receipt = export_head(settings, target, at, until)
    out.print(receipt.address, markup=False)
    head = receipt.head
    was = "kept" if receipt.is_new else "kept before"
    note(f"{was}: seal {head.seal_number}, publication {head.publication_number}, hash {head.seal_hash}")
