"""``tallystick maintain``: what it prints, its receipt, and how it ends."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.commands import maintain as command
from cli.main import app
from tests.support.kept_world import EARLY, HOUR, IN_SPRING, YEARS_LATER, hours_in, kept_world
from tests.support.sealed_world import SealedWorld
from warehouse.locks import STREAM_LOCK, writer_lock
from warehouse.retention_steps import read_steps


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    at(monkeypatch, IN_SPRING)
    return kept_world(tmp_path)


def at(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    monkeypatch.setattr(command, "now", lambda: now)


def _run(name: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, [name, *arguments])


def test_the_plan_changes_nothing(world: SealedWorld) -> None:
    result = _run("maintain", "--plan", "--json")
    assert result.exit_code == 0, result.stderr
    plans = {one["table"]: one for one in json.loads(result.stdout)}
    assert plans["final_clicks_minute"] == {
        "table": "final_clicks_minute",
        "kept_for": "90 days",
        "delete": ["2026-11-03T05", "2026-11-30T09"],
        "compact": [],
        "unused_file_count": 0,
        "notes": [],
    }
    table = _run("maintain", "--plan").stdout
    assert "would delete" in table
    assert (read_steps(world.settings), hours_in(world.settings, "final_clicks_minute")) == ([], {EARLY, HOUR})


def test_a_plan_has_no_receipt(world: SealedWorld, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    result = _run("maintain", "--plan", "--receipt", str(receipt))
    assert (result.exit_code, result.stdout, receipt.exists()) == (2, "", False)
    assert result.stderr.splitlines()[-1].startswith("error: --plan with --receipt; expected one of the two")
    assert read_steps(world.settings) == []


def test_a_run_says_what_it_did_and_leaves_a_receipt(world: SealedWorld, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    result = _run("maintain", "--actor", "ada", "--receipt", str(receipt))
    assert result.exit_code == 0, result.stderr
    assert "final_clicks_minute: deleting 2 partitions that were kept for 90 days" in result.stderr.splitlines()
    assert "publication 3 names the final tables' files of now" in result.stdout.splitlines()
    done = json.loads(receipt.read_text())
    (minutes,) = [one for one in done["tables"] if one["table"] == "final_clicks_minute"]
    assert (minutes["deleted_partitions"], minutes["deleted_row_count"], minutes["is_busy"]) == (2, 6, False)
    assert {step.actor for step in read_steps(world.settings)} == {"ada"}
    again = _run("maintain", "--json")
    assert [one["deleted_partitions"] for one in json.loads(again.stdout)["tables"]] == [0] * len(done["tables"])


def test_a_writer_at_work_ends_it_with_3_after_the_other_tables(world: SealedWorld) -> None:
    with writer_lock(world.settings, STREAM_LOCK):
        result = _run("maintain")
    assert result.exit_code == 3
    assert "live_clicks_minute: process " in result.stderr
    assert hours_in(world.settings, "final_clicks_minute") == set()
    assert hours_in(world.settings, "live_clicks_minute") == {EARLY, HOUR}


def test_a_setting_under_thirteen_months_is_refused(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_RAW_RETENTION_DAYS", "100")
    result = _run("maintain")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(
        "error: setting raw_retention_days is 100; expected 0, or at least"
    )
    assert hours_in(world.settings, "raw_clicks") == {EARLY, HOUR}


def test_verify_says_no_longer_verifiable(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hours that are all lost nothing was verified: 2, as where none is sealed; 4 is for contradictions."""
    at(monkeypatch, YEARS_LATER)
    monkeypatch.setenv("TALLYSTICK_RAW_RETENTION_DAYS", "400")
    assert _run("maintain").exit_code == 0
    lost = _run("verify", "2026-11-03T05:00Z")
    assert lost.exit_code == 2
    assert "no raw   hour 2026-11-03T05:00:00Z: no longer verifiable: raw clicks that it" in lost.stdout
    assert lost.stderr.startswith("error: 1 hour sealed, no longer verifiable; expected hours whose raw clicks")
    some = _run("verify", "2026-11-11T05:00Z", "2026-11-11T07:00Z")
    assert some.exit_code == 0
    assert some.stdout.splitlines()[-1] == "all agree: 1 hour, recounted from raw_clicks alone"
    assert some.stderr == "1 hour of the range no longer verifiable, see docs/retention.md\n"
