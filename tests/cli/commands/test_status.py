"""``tallystick status``: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from domain.settings import Settings
from warehouse.locks import writer_lock


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    return Settings(home=tmp_path)


def test_json_is_all_of_stdout(settings: Settings) -> None:
    with writer_lock(settings, "reconcile"):
        result = CliRunner().invoke(app, ["status", "--json"])
    document = json.loads(result.stdout)
    assert {"name": "reconcile", "is_running": True, "detail": "lock reconcile"} in document["processes"]
    assert document["partitions"] is None
    assert document["final_until"] is None


def test_tables_say_what_is_not_known(settings: Settings) -> None:
    result = CliRunner().invoke(app, ["status"])
    assert result.exit_code == 0
    assert "final until      -" in result.stdout
    assert result.stderr.startswith("no lag: the broker does not run")
