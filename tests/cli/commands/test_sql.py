"""``tallystick sql``: one statement, a script on standard input, a file for others; refusals in one line."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.counts_tables import Clicks, counts_tables, hours

CLICKS = "SELECT minute, ad_id, clicks, final FROM clicks_minute ORDER BY minute"


@pytest.fixture(autouse=True)
def _installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    tables = counts_tables(tmp_path)
    tables.write_live([Clicks("2026-05-03T10:05Z", 9), Clicks("2026-05-03T11:05Z", 1_234, ad=12_345)])
    tables.settle([Clicks("2026-05-03T10:05Z", 8)], hours("2026-05-03T10:00Z", 1))


def _sql(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *arguments], input=stdin)


def test_csv(tmp_path: Path) -> None:
    result = _sql(CLICKS, "--csv")
    assert result.stdout.splitlines() == [
        "minute,ad_id,clicks,final",
        "2026-05-03T10:05:00Z,1,8,True",
        "2026-05-03T11:05:00Z,12345,1234,False",
    ]
    assert result.exit_code == 0


def test_json_is_a_line_a_row() -> None:
    lines = [json.loads(line) for line in _sql(CLICKS, "--json").stdout.splitlines()]
    assert lines[0] == {"minute": "2026-05-03T10:05:00Z", "ad_id": 1, "clicks": 8, "final": True}
    assert len(lines) == 2


def test_a_table_for_people() -> None:
    result = _sql("SELECT count(*) AS minutes FROM clicks_minute")
    assert "minutes" in result.stdout
    assert "2" in result.stdout


def test_a_long_answer_is_cut_and_says_so() -> None:
    result = _sql("SELECT range FROM range(1001)")
    assert "the first 1,000 rows" in result.stderr
    assert "1,000" not in result.stdout


def test_a_script_runs_statement_by_statement() -> None:
    result = _sql("--csv", stdin="SELECT 'a;b' AS x;\nSELECT\n  2 AS y;\nSELECT 3 AS z")
    assert result.stdout.splitlines() == ["x", "a;b", "y", "2", "z", "3"]


def test_a_script_ends_at_its_first_error() -> None:
    result = _sql("--csv", stdin="SELEC 1;\nSELECT 2 AS y;")
    assert result.exit_code == 2
    assert "y" not in result.stdout


@pytest.mark.parametrize(
    "arguments", [("SELECT 1", "--csv", "--json"), ("SELECT 1", "--file", "x"), ("DELETE FROM seals",)]
)
def test_refusals(arguments: tuple[str, ...]) -> None:
    result = _sql(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected" in result.stderr


def test_a_file_for_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "tally.duckdb"
    result = _sql("--file", str(path))
    assert "final until 2026-05-03T11:00:00Z" in result.stderr
    with duckdb.connect(str(path), read_only=True) as database:
        assert database.sql("SELECT sum(clicks) FROM clicks_minute WHERE final").fetchall() == [(8,)]


def test_a_file_in_no_folder_is_refused(tmp_path: Path) -> None:
    result = _sql("--file", str(tmp_path / "nowhere" / "tally.duckdb"))
    assert result.exit_code != 0
    assert "no folder" in result.stderr
