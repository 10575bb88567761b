"""``tallystick status``: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.commands.status import level_text
from cli.main import app
from domain.settings import Settings
from domain.stream_batches import Forecast, StreamBatch
from tests.support.batches import AT, batch
from tests.support.empty_tables import make_empty_tables
from warehouse.clock import now
from warehouse.locks import writer_lock
from warehouse.stream_batches import append_batches


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    return Settings(home=tmp_path)


def test_json_is_all_of_stdout(settings: Settings) -> None:
    with writer_lock(settings, "reconcile"):
        result = CliRunner().invoke(app, ["status", "--json"])
    document = json.loads(result.stdout)
    assert {
        "name": "reconcile",
        "is_running": True,
        "detail": "lock reconcile, which maintenance takes, too",
    } in document["processes"]
    assert document["partitions"] is None
    assert document["final_until"] is None


def test_tables_say_what_is_not_known(settings: Settings) -> None:
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 0
    assert "final until      -" in result.stdout
    assert result.stderr.startswith("no lag: the broker does not run")


@pytest.fixture
def busy(settings: Settings) -> Settings:
    """An installation whose stream has just reported."""
    make_empty_tables(settings)
    moved = now() - AT
    append_batches(settings, [_moved(batch("archive", 45), moved), _moved(batch(), moved)])
    return settings


def _moved(found: StreamBatch, by: timedelta) -> StreamBatch:
    return replace(found, **{name: value + by for name, value in vars(found).items() if isinstance(value, datetime)})  # type: ignore[arg-type]


def test_the_last_batches_and_freshness_are_shown(busy: Settings) -> None:
    stdout = CliRunner().invoke(app, ["status"]).stdout
    rows = [line.split("│")[1:] for line in stdout.splitlines() if "merge 2.5" in line]
    assert [[cell.strip() for cell in (row[0], *row[4:10])] for row in rows] == [
        ["archive", "100", "2", "-", "-", "4", "-"],
        ["live", "100", "2", "10", "6", "4", "70"],
    ]
    assert "freshness        at most p50 8.0 s, p95 8.0 s, p99 8.0 s, worst 8.0 s, of the last 10 minutes" in stdout


def test_counts_that_are_not_fresh_alert(busy: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_FRESHNESS_ALERT_SECONDS", "7")
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 0
    assert "alert: of the last 10 minutes a click waited 8.0 s until it was seen; expected at most 7 s" in result.stderr
    document = json.loads(CliRunner().invoke(app, ["status", "--json"]).stdout)
    assert document["stream"]["freshness"]["worst_seconds"] == 8.0
    assert len(document["stream"]["alerts"]) == 1
    assert document["stream"]["batches"][1]["lag_events"] == {"0": 0, "1": 3}


LEVEL = {
    "level": (Forecast("live", 0), "is level with the log"),
    "off": (Forecast("live", 1_500), "is 1,500 records behind; no batch of the last 10 minutes tells"),
    "catching up": (
        Forecast("live", 9_000, 100.0, 25.0, AT),
        "is 9,000 records behind, level about 2026-05-03T12:00:00Z: it reads 100 a second, the log grows by 25",
    ),
    "too slow": (Forecast("live", 9_000, 25.0, 100.0), "will not catch up: it reads 25 a second"),
}


@pytest.mark.parametrize(("forecast", "said"), LEVEL.values(), ids=LEVEL)
def test_when_a_query_is_level_is_said(forecast: Forecast, said: str) -> None:
    assert said in level_text(forecast)
