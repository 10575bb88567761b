"""``tallystick counts``: a table for people, the metrics API's JSON for programs, one line for what cannot be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.buckets import parse_utc
from domain.periods import parse_period
from tests.support.books import books, by_hour
from tests.support.counts_tables import Clicks, CountsTables, counts_tables, hours
from tests.support.periods import close_month, settle_month

ALL_DAY = ["--from", "2026-05-03T00:00Z", "--to", "2026-05-04T00:00Z"]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountsTables:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    found = counts_tables(tmp_path)
    found.write_live([Clicks("2026-05-03T10:05Z", 9), Clicks("2026-05-03T11:05Z", 1_234, ad=12_345)])
    found.settle([Clicks("2026-05-03T10:05Z", 8)], hours("2026-05-03T10:00Z", 1))
    return found


def _counts(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["counts", *ALL_DAY, *arguments])


def test_json_is_all_of_stdout(tables: CountsTables) -> None:
    result = _counts("--ads", "1,12345", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["final_until"] == "2026-05-03T11:00:00Z"
    assert document["rows"] == [
        {"bucket": "2026-05-03T10:00:00Z", "ad_id": 1, "clicks": 8, "final": True},
        {"bucket": "2026-05-03T11:00:00Z", "ad_id": 12345, "clicks": 1234, "final": False},
    ]


def test_the_table_says_final_or_live(tables: CountsTables) -> None:
    result = _counts("--granularity", "minute", "--group-by", "ad,country")
    lines = [line.strip(" │┃").split() for line in result.stdout.splitlines() if "2026-05-03T" in line]
    assert [[cell for cell in line if cell != "│"] for line in lines] == [
        ["2026-05-03T10:05:00Z", "1", "DE", "8", "final"],
        ["2026-05-03T11:05:00Z", "12345", "DE", "1,234", "live"],
    ]
    assert result.stderr == "1,242 clicks; final until 2026-05-03T11:00:00Z\n"


def test_filters_and_group(tables: CountsTables) -> None:
    rows = json.loads(_counts("--campaign", "100", "--advertiser", "10", "--group-by", "", "--json").stdout)["rows"]
    assert [row["clicks"] for row in rows] == [8, 1_234]
    assert json.loads(_counts("--ads", "", "--json").stdout)["rows"] == []
    assert json.loads(_counts("--advertiser", "11", "--json").stdout)["rows"] == []


def test_days_of_a_zone(tables: CountsTables) -> None:
    """S1: dates are days there, and a bucket is told by its clock. The last of an option given twice holds."""
    zone = ["--from", "2026-05-03", "--to", "2026-05-04", "--time-zone", "Asia/Kolkata", "--country", "DE", "--device"]
    result = _counts(*zone, "mobile", "--granularity", "day", "--ads", "1")
    assert (result.exit_code, "2026-05-03T00:00:00+05:30" in result.stdout) == (0, True), result.output
    assert _counts(*zone, "desktop", "--json").stdout.endswith('"rows":[]}\n')


def test_an_empty_table_has_its_columns(tables: CountsTables) -> None:
    result = _counts("--ads", "7")
    assert result.exit_code == 0
    assert "ad_id" in result.stdout
    assert result.stderr.startswith("0 clicks")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--ads", "x"], "--ads 'x'"),
        (["--granularity", "week"], "--granularity 'week'"),
        (["--group-by", "planet"], "--group-by 'planet'"),
        (["--from", "2026-05-03"], "--from '2026-05-03'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(tables: CountsTables, arguments: list[str], found: str) -> None:
    result = _counts(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {found}; expected ")
    assert result.stderr.count("\n") == 1


def test_a_home_without_tables_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "elsewhere"))
    result = _counts()
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no table ")
    assert result.stderr.count("\n") == 1


def test_answers_say_what_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "closed"))
    found = counts_tables(tmp_path / "closed")
    settle_month(found, parse_period("2026-05"), [Clicks("2026-05-03T10:05Z", 8)])
    close_month(found.settings, parse_period("2026-05"))
    assert json.loads(_counts("--json").stdout)["closed_until"] == "2026-06-01T00:00:00Z"
    assert _counts().stderr.endswith("final until 2026-06-01T00:00:00Z, closed until 2026-06-01T00:00:00Z\n")


def test_as_of_shows_what_was_final_and_what_live_was_worth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "books"))
    found = books(tmp_path / "books")
    found.seal(by_hour(Clicks("2024-05-03T10:05Z", 8)))
    found.publish(parse_utc("2024-05-03T12:00Z"))
    found.seal(by_hour(Clicks("2024-05-03T10:05Z", 7), Clicks("2024-05-03T11:05Z", 5)), live={10: 6})
    found.publish(parse_utc("2024-05-03T13:00Z"))
    asked = ["counts", "--from", "2024-05-03T10:00Z", "--to", "2024-05-03T12:00Z", "--as-of"]
    result = CliRunner().invoke(app, [*asked, "2024-05-03T14:30+02:00"])
    assert result.exit_code == 0
    cells = [line.strip(" │┃").split() for line in result.stdout.splitlines() if "2024-05-03T" in line]
    assert [[cell for cell in line if cell != "│"] for line in cells] == [
        ["2024-05-03T10:00:00Z", "1", "8", "final"],
        ["2024-05-03T11:00:00Z", "10", "6", "5", "1"],
    ]
    assert result.stderr.splitlines() == [
        "not final at 2024-05-03T12:30:00Z: 2024-05-03T11:00:00Z to 2024-05-03T12:00:00Z",
        "1 of these hours are sealed by now",
        "as of 2024-05-03T12:30:00Z: 8 clicks; final until 2024-05-03T11:00:00Z",
    ]
    rows = json.loads(CliRunner().invoke(app, [*asked, "2024-05-03T12:30Z", "--json"]).stdout)["rows"]
    assert rows == [{"bucket": "2024-05-03T10:00:00Z", "ad_id": 1, "clicks": 8, "final": True}]
    for at, why in {
        "2024-05-03T12:30": "an instant with its zone",
        "9000-01-01T00:00Z": "an instant at least 60 seconds ago",
        "2024-05-03T11:59Z": "an instant from 2024-05-03T12:00:00Z on",
    }.items():
        refused = CliRunner().invoke(app, [*asked, at])
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"; expected {why}" in refused.stderr
