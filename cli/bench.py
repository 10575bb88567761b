"""Runs the benchmarks one after the other and shows their figures in one table: ``make bench``.

A benchmark is a file of ``benchmarks/`` that takes ``--quick``, prints what it does as it goes, and ends with one line
of JSON. What it measures is its own business.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import note, print_error, print_table
from cli.jars import REPOSITORY
from domain.errors import TallystickError


class BenchmarkError(TallystickError):
    """A benchmark failed, or did not end with its line of figures."""


def run_benchmark(script: Path, arguments: list[str]) -> dict[str, Any]:
    """The figures of one benchmark; its output is shown as it comes. ``BenchmarkError`` if there are none."""
    last_line = ""
    with subprocess.Popen([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        for line in process.stdout or ():
            sys.stderr.write(line)
            last_line = line
    try:
        figures = json.loads(last_line)
    except ValueError:
        figures = None
    if process.returncode or not isinstance(figures, dict):
        raise BenchmarkError(
            f"{script.name} ended with code {process.returncode} and {last_line.strip()!r}",
            "code 0 and a JSON object on the last line",
            f"run it alone: {script.relative_to(REPOSITORY) if script.is_relative_to(REPOSITORY) else script}",
        )
    return figures


def figure_rows(name: str, figures: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """One row a figure; figures inside figures get a dotted name."""
    rows: list[tuple[str, str, Any]] = []
    for key, value in figures.items():
        if isinstance(value, dict):
            rows += [(name, f"{key}.{inner}", figure) for _, inner, figure in figure_rows(name, value)]
        else:
            rows.append((name, key, value))
    return rows


def bench(is_full: Annotated[bool, typer.Option("--full", help="On much data; takes long.")] = False) -> None:
    """Run each file of benchmarks/ and show what they found. One that fails does not keep the others from running."""
    rows: list[tuple[str, str, Any]] = []
    failures: list[TallystickError] = []
    for script in sorted((REPOSITORY / "benchmarks").glob("[a-z]*.py")):
        note(f"== {script.name}")
        try:
            rows += figure_rows(script.stem, run_benchmark(script, [] if is_full else ["--quick"]))
        except BenchmarkError as error:
            failures.append(error)
    print_table(("benchmark", "figure", "value"), rows)
    for failure in failures:
        print_error(failure)
    if failures:
        sys.exit(max(failure.exit_code for failure in failures))


if __name__ == "__main__":
    typer.run(bench)
