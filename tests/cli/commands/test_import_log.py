"""``tallystick import-log``: a dry run that tells everything, refusals in one line, and the real way into the log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.settings import Settings
from tests.support.click_parts import home_with_ads
from tests.support.click_process import values_of
from tests.support.counts_tables import Clicks, CountsTables, hours

MAP = ["--map", "impression_id=imp", "--map", "ad_id=ad", "--map", "clicked_at=at"]
ROWS = [
    {"imp": "i-1", "ad": 17, "at": "2026-05-04T10:00:00Z"},
    {"imp": "i-1", "ad": 17, "at": "2026-05-04T10:00:01Z"},
    {"imp": "i-2", "ad": 999, "at": "2026-05-04T11:00:00Z"},
    {"imp": "i-3", "ad": 18, "at": "2026-05-04T11:00:00Z"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "clicks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    settings = home_with_ads(tmp_path / "home")
    monkeypatch.setenv("TALLYSTICK_HOME", str(settings.home))
    return settings


def _import(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["import-log", str(path), "--format", "jsonl", *arguments])


def test_a_dry_run_says_what_would_become_of_each_row(home: Settings, log: Path, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    result = _import(log, *MAP, "--dry-run", "--json", "--rejects", str(rejects))
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {
        "rows": 4,
        "left_out": 0,
        "events": {"click": 3},
        "copies": 1,
        "refused": {"unknown_ad": 1},
        "events_by_state_of_hour": {"open": 3},
        "events_by_hour": {"2026-05-04T10:00:00Z": 2, "2026-05-04T11:00:00Z": 1},
    }
    (refused,) = map(json.loads, rejects.read_text().splitlines())
    assert (refused["row"], refused["reason"]) == (3, "unknown_ad")
    assert "nothing was sent" in result.stderr


def test_a_dry_run_for_people(home: Settings, log: Path) -> None:
    result = _import(log, *MAP, "--dry-run")
    assert "refused: unknown_ad" in result.stdout
    assert "row 3: unknown_ad" in result.stderr


def test_sealed_hours_need_a_word(home: Settings, log: Path) -> None:
    CountsTables(home).settle([Clicks("2026-05-04T10:05Z", 8)], hours("2026-05-04T10:00Z", 1))
    result = _import(log, *MAP)
    assert result.exit_code == 2
    assert "sealed or closed" in result.stderr
    dry = json.loads(_import(log, *MAP, "--dry-run", "--json").stdout)
    assert dry["events_by_state_of_hour"] == {"sealed": 2, "open": 1}


@pytest.mark.parametrize(
    "arguments",
    [["--map", "price=x"], ["--map", "ad_id=ad"], [*MAP, "--only", "x"], [*MAP, "--format", "xml"]],
)
def test_refusals_are_one_line(home: Settings, log: Path, arguments: list[str]) -> None:
    result = _import(log, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected" in result.stderr


def test_a_file_that_is_not_there(home: Settings, tmp_path: Path) -> None:
    result = _import(tmp_path / "none", *MAP)
    assert result.exit_code == 2
    assert "none" in result.stderr


@pytest.mark.broker
def test_an_import_twice_is_the_same_clicks_twice(
    log_settings: Settings, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home_with_ads(log_settings.home)
    monkeypatch.setenv("TALLYSTICK_HOME", str(log_settings.home))
    for name in ("kafka_bootstrap", "clicks_topic", "edge_counts_topic", "edge_watermarks_topic", "clicks_partitions"):
        monkeypatch.setenv(f"TALLYSTICK_{name.upper()}", str(getattr(log_settings, name)))
    for _ in range(2):
        result = _import(log, *MAP)
        assert result.exit_code == 0, result.stderr
        assert "3 events are in the log" in result.stderr
    events = values_of(log_settings, log_settings.clicks_topic)
    first, second = events[:3], events[3:]
    assert sorted(map(str, first)) == sorted(map(str, second))
    assert {event["advertiser_id"] for event in events} == {3}
