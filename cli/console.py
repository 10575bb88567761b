"""How commands talk to people: results on stdout, progress and errors on stderr, tables, one line an error.

Belongs here: everything that knows about terminals. A command that prints JSON writes nothing else to stdout.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from domain.buckets import format_utc
from domain.errors import TallystickError

SECONDS_BETWEEN_LINES = 10
"""Where progress goes to a file and not to a terminal, it is a line this often."""

UNLIMITED_WIDTH = 10_000
"""Where a table goes to a file or a pipe, nothing is cut off or wrapped."""

out = Console(highlight=False, soft_wrap=True)
err = Console(highlight=False, soft_wrap=True, stderr=True)


def note(text: str) -> None:
    """One line of progress."""
    err.print(text, markup=False)


def warn(text: str) -> None:
    """One line that a person should not overlook, though nothing failed."""
    err.print(text, style="yellow", markup=False)


def print_error(error: TallystickError) -> None:
    """The error as one red line: what was found, what was expected, what to do."""
    err.print(f"error: {error}", style="bold red", markup=False)


def print_json(document: object) -> None:
    """The document as one line of JSON on stdout; instants as ISO 8601 with Z."""
    print(json.dumps(document, ensure_ascii=False, default=_json_value))


def _json_value(value: object) -> str:
    return format_utc(value) if isinstance(value, datetime) else str(value)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return escape(format_utc(value) if isinstance(value, datetime) else str(value))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table on stdout. Whole numbers stand to the right with thousands separated; None is a dash."""
    listed = [tuple(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        values = [row[index] for row in listed]
        is_number = any(_is_number(value) for value in values)
        table.add_column(escape(column), justify="right" if is_number else "left", overflow="fold")
    for row in listed:
        table.add_row(*(_cell(value) for value in row))
    (out if out.is_terminal else Console(highlight=False, width=UNLIMITED_WIDTH)).print(table, soft_wrap=False)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Shows that something is going on, and how long it took. For work whose length is not known."""
    started = time.monotonic()
    if err.is_terminal:
        with _progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as bar:
            bar.add_task(escape(text), total=None)
            yield
    else:
        note(f"{text} ...")
        yield
    note(f"{text}: done in {time.monotonic() - started:.1f} s")


@contextmanager
def counting(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar up to ``total``; yields a function that takes how many are done so far."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    if err.is_terminal:
        with _progress(*columns) as bar:
            task = bar.add_task(escape(text), total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield _line_now_and_then(text, total)


def _progress(*columns: SpinnerColumn | TextColumn | BarColumn | MofNCompleteColumn | TimeElapsedColumn) -> Progress:
    return Progress(*columns, console=err, transient=True)


def _line_now_and_then(text: str, total: int) -> Callable[[int], None]:
    note(f"{text}: {total:,} to do")
    last_at = time.monotonic()

    def show(done: int) -> None:
        nonlocal last_at
        if done >= total or time.monotonic() - last_at >= SECONDS_BETWEEN_LINES:
            last_at = time.monotonic()
            note(f"{text}: {done:,} of {total:,}")

    return show
