"""``tallystick verdicts``: fraud verdicts, taken in from files and listed as they are in force."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import note, print_json, print_table, warn
from domain.errors import UsageError
from domain.verdicts import Target, VerdictOfSet
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.settings import load_settings
from warehouse.verdict_files import read_verdict_file
from warehouse.verdict_intake import take_in
from warehouse.verdicts import current_set, read_in_force

app = typer.Typer(help="Fraud verdicts.", no_args_is_help=True, add_completion=False)


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="Verdicts, .csv, .json, .jsonl or .parquet; see docs/verdicts.md.")],
    source: Annotated[str, typer.Option(help="Who decided.")],
    actor: Annotated[str, typer.Option(help="Who takes them in.")],
    is_skipping_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad lines out, and keep them in table rejected_verdicts.")
    ] = False,
) -> None:
    """Take in a file as the next set of verdicts. One bad line, and nothing of it is taken."""
    settings, at = load_settings(), now()
    given = read_verdict_file(file, at, is_skipping_bad=is_skipping_bad)
    create_missing_tables(settings)
    receipt = take_in(settings, given, source, actor, at)
    print_table(
        ("verdicts", "count"),
        [
            ("taken", receipt.verdict_count),
            ("of them about clicks that are not there", receipt.unknown_count),
            ("bad lines left out", len(given.rejected)),
        ],
    )
    for line in given.rejected:
        warn(f"line {line.line_number}: {line.reason}")
    note(f"verdicts are at set {receipt.set_version}, from {file}; hours sealed from now on are counted with it")


@app.command("list")
def list_verdicts(
    set_version: Annotated[
        int | None, typer.Option("--set", min=0, help="As of this set; by default the newest one.")
    ] = None,
    is_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Print the verdicts of fraud in force."""
    settings = load_settings()
    create_missing_tables(settings)
    newest = current_set(settings)
    wanted = newest if set_version is None else set_version
    if wanted > newest:
        raise UsageError(f"set {wanted}", f"a set up to {newest}, the newest one", "ask for one that was taken in")
    rows = [_row(target, one) for target, one in sorted(read_in_force(settings, wanted).items(), key=_decided)]
    if is_json:
        for row in rows:
            print_json(row)
        return
    columns = ("click", "verdict_id", "set_version", "source", "reason", "score_micros", "decided_at")
    print_table(columns, [(_words(row), *(row[name] for name in columns[1:])) for row in rows])
    note(f"{len(rows):,} verdicts of fraud in force at set {wanted}")


def _decided(pair: tuple[Target, VerdictOfSet]) -> tuple[object, ...]:
    return pair[1].verdict.decided_at, pair[1].set_version, pair[1].verdict.verdict_id


def _row(target: Target, one: VerdictOfSet) -> dict[str, object]:
    said = {name: value for name, value in vars(one.verdict).items() if name not in ("target", "verdict")}
    return {**target._asdict(), "set_version": one.set_version, "source": one.source, **said}


def _words(row: dict[str, object]) -> str:
    if "offset" in row:
        return f"position {row['log']}:{row['partition']}:{row['offset']}"
    return f"impression {row['impression_id']}, ad {row['ad_id']}"
