"""Where output goes and what it looks like in a pipe: nothing cut, nothing mixed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from cli.console import counting, note, print_error, print_json, print_table, working
from domain.errors import UsageError

AT = datetime(2026, 1, 31, 13, 5, tzinfo=UTC)


def test_tables_are_not_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    print_table(("name", "value"), [("a", long), ("b", None)])
    assert long in capsys.readouterr().out


def test_cells_are_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a", "b", "c", "d", "e"), [(1_234_567, None, AT, True, "[red]")])
    row = capsys.readouterr().out.splitlines()[3]
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "1,234,567", "-", "2026-01-31T13:05:00Z", "yes", "[red]",
    ]  # fmt: skip


def test_numbers_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("number", "word"), [(7, "x")])
    assert "│      7 │ x    │" in capsys.readouterr().out


def test_progress_goes_to_stderr_and_json_alone_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    note("on the [way]")
    with working("reading"), counting("rows", 2) as show:
        show(2)
    print_json({"final_until": AT, "clicks": 3})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"final_until": "2026-01-31T13:05:00Z", "clicks": 3}
    assert "on the [way]\nreading ...\nrows: 2 to do\nrows: 2 of 2\nreading: done in " in captured.err


def test_progress_in_a_pipe_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with counting("rows", 1_000) as show:
        for done in range(1_000):
            show(done)
    assert capsys.readouterr().err == "rows: 1,000 to do\n"


def test_an_error_says_found_expected_and_remedy_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(UsageError("a " * 100, "b", "c"))
    assert capsys.readouterr().err == f"error: {'a ' * 100}; expected b; c\n"
