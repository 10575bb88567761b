"""``tallystick drift``: hours and a summary for each advertiser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from domain.buckets import parse_utc
from tests.support.books import books, by_hour
from tests.support.counts_tables import Clicks


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    found = books(tmp_path)
    theirs = Clicks("2026-05-03T11:06Z", 5, ad=2, advertiser=11)
    found.seal(by_hour(Clicks("2026-05-03T10:05Z", 8), Clicks("2026-05-03T11:05Z", 4), theirs), live={10: 9, 11: 1})
    found.publish(parse_utc("2026-05-03T13:00Z"))


def test_json_has_hours_then_summaries() -> None:
    result = CliRunner().invoke(app, ["drift", "--advertiser", "10", "--json"])
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["line"], line.get("hour"), line["live_clicks"], line["final_clicks"]) for line in lines] == [
        ("hour", "2026-05-03T10:00:00Z", 9, 8),
        ("hour", "2026-05-03T11:00:00Z", 9, 4),
        ("summary", None, 18, 12),
    ]
    summary = {name: lines[-1][name] for name in ("hour_count", "largest_error_clicks", "largest_error_hour")}
    assert summary == {"hour_count": 2, "largest_error_clicks": 5, "largest_error_hour": "2026-05-03T11:00:00Z"}


def test_tables_for_people() -> None:
    result = CliRunner().invoke(app, ["drift", "--from", "2026-05-03T11:00Z"])
    assert result.exit_code == 0
    assert "2026-05-03T10:00:00Z" not in result.stdout
    assert "1000 per mille" in result.stdout


@pytest.mark.parametrize(
    "arguments", [["--from", "2026-05-03"], ["--from", "2026-05-03T11:00Z", "--to", "2026-05-03T11:00Z"]]
)
def test_a_range_that_is_none_is_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["drift", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
