"""``tallystick sql``: the tables by SQL, as a shell, for one statement, or as a file that other programs open."""

from __future__ import annotations

import csv
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, print_error, print_json, print_table
from cli.files import ExportError, check_writable
from domain.buckets import format_utc
from domain.errors import TallystickError, UsageError
from domain.settings import Settings
from warehouse.settings import load_settings

if TYPE_CHECKING:
    import duckdb

SHOWN_ROWS = 1_000
"""Of an answer in a terminal; ``--csv`` and ``--json`` print all of them."""
PROMPT, CONTINUED = "tallystick> ", "       ...> "
BATCH_ROWS = 10_000


def sql(
    statement: Annotated[str | None, typer.Argument(help="One statement that reads; none for a shell.")] = None,
    *,
    is_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    is_json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", help="Write a DuckDB file with the same views, for BI tools and notebooks.")
    ] = None,
) -> None:
    """Read all tables by SQL (DuckDB). clicks_minute says of each row whether it is final; nothing can be changed."""
    if (is_csv and is_json) or (file is not None and (statement is not None or is_csv or is_json)):
        raise UsageError(
            "options that exclude each other",
            "a statement with --csv or --json, or --file alone",
            "give one of them at a time",
        )
    settings = load_settings()
    if file is not None:
        _write_file(settings, file)
    elif statement is not None:
        _answer(settings, statement, is_csv, is_json)
    else:
        _shell(settings, is_csv, is_json)


def _write_file(settings: Settings, path: Path) -> None:
    from warehouse.sql_views import write_sql_file

    check_writable(path)
    try:
        pins = write_sql_file(settings, path)
    except OSError as error:
        raise ExportError(
            f"{path}: {error.strerror}", "room for the file", "free some space, or name another folder"
        ) from error
    until = "nothing is final yet" if pins.final_until is None else f"final until {format_utc(pins.final_until)}"
    note(f"{path}: views of this moment, {until}; write it again for newer figures")


def _shell(settings: Settings, is_csv: bool, is_json: bool) -> None:
    """Statement after statement, each over the newest figures. At a terminal a wrong one is told and forgotten."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        import readline  # noqa: F401  gives input() a history and keys to edit a line

        note("one statement at a time, ended by ;  SHOW TABLES lists what there is, Ctrl-D ends")
    for statement in _statements(is_terminal):
        try:
            _answer(settings, statement, is_csv, is_json)
        except TallystickError as error:
            if not is_terminal:
                raise
            print_error(error)


def _statements(is_terminal: bool) -> Iterator[str]:
    """From standard input, each up to the semicolon that ends it; what is left at the end counts as one."""
    text = ""
    while True:
        try:
            line = input((CONTINUED if text else PROMPT) if is_terminal else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            note("")
            text = ""
            continue
        text += f"{line}\n"
        if sqlite3.complete_statement(text):
            yield text
            text = ""
        elif not text.strip():
            text = ""
    if text.strip():
        yield text


def _answer(settings: Settings, statement: str, is_csv: bool, is_json: bool) -> None:
    from warehouse.sql_views import run_sql, sql_session

    with sql_session(settings) as session:
        found = run_sql(session, statement)
        columns = [name for name, *_ in found.description or ()]
        if is_csv:
            _print_csv(columns, found)
        elif is_json:
            for row in _rows(found):
                print_json(dict(zip(columns, row, strict=True)))
        else:
            _print_table(columns, found)


def _print_table(columns: list[str], found: duckdb.DuckDBPyConnection) -> None:
    from warehouse.sql_views import rows_of_answer

    rows = rows_of_answer(found, SHOWN_ROWS + 1)
    print_table(columns, rows[:SHOWN_ROWS])
    if len(rows) > SHOWN_ROWS:
        note(f"the first {SHOWN_ROWS:,} rows; --csv or --json print all of them, LIMIT fewer")


def _print_csv(columns: list[str], found: duckdb.DuckDBPyConnection) -> None:
    from warehouse.csv_cells import csv_text

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in _rows(found):
        writer.writerow([csv_text(value) for value in row])


def _rows(found: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    from warehouse.sql_views import rows_of_answer

    while rows := rows_of_answer(found, BATCH_ROWS):
        yield from rows
