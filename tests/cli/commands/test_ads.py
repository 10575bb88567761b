"""``tallystick ads``: the catalogue file is taken over, and what is in force is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app

BREAD = {"ad_id": 7, "advertiser_id": 3, "campaign_id": 5, "target_url": "https://bread.example/rye"}
CAKE = BREAD | {"ad_id": 8, "price_micros": 1_500_000, "currency": "EUR"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    return tmp_path


def _ads(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["ads", *arguments])


def _write(path: Path, *ads: dict[str, object]) -> None:
    path.write_text("".join(json.dumps(ad) + "\n" for ad in ads))


def _printed(result: Result) -> dict[str, str]:
    cells = [line.split("│") for line in result.stdout.splitlines() if "│" in line]
    return {row[1].strip(): row[2].strip() for row in cells}


def test_snapshot_of_the_catalogue_of_the_settings(home: Path) -> None:
    _write(home / "ads.jsonl", BREAD, CAKE)
    assert _printed(_ads("snapshot")) == {"added": "2", "changed": "0", "unchanged": "0"}
    _write(home / "ads.jsonl", BREAD | {"campaign_id": 6}, CAKE)
    assert _printed(_ads("snapshot")) == {"added": "0", "changed": "1", "unchanged": "1"}


def test_snapshot_of_another_file_and_the_list(tmp_path: Path) -> None:
    _write(tmp_path / "other.jsonl", CAKE, BREAD)
    assert _ads("snapshot", str(tmp_path / "other.jsonl")).exit_code == 0
    listed = [json.loads(line) for line in _ads("list", "--json").stdout.splitlines()]
    assert listed == [{**BREAD, "price_micros": None, "currency": None}, CAKE]
    table = _ads("list")
    assert "https://bread.example/rye" in table.stdout
    assert "2 ads" in table.stderr


def test_a_wrong_line_is_named_and_nothing_is_taken_over(home: Path) -> None:
    _write(home / "ads.jsonl", BREAD, CAKE | {"ad_id": 0})
    result = _ads("snapshot")
    assert result.exit_code == 2
    assert "ads.jsonl line 2: ad_id is 0" in result.stderr
    assert "0 ads" in _ads("list").stderr
