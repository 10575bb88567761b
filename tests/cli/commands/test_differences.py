"""``tallystick differences``: a line for each click, and whether table drift says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.buckets import MINUTE
from domain.counting import count_key
from tests.support.live_world import compare, count_live, write_live
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    """Live has not seen offset 1; of another ad it has 2 clicks that nobody knows."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    found = sealed_world(tmp_path)
    found.archive([logged(0, HOUR), logged(1, HOUR + MINUTE)])
    count_live(found, unseen=[1])
    unknown = count_key(found.log[0].event)._replace(ad_id=5)
    write_live(found, {unknown: 2}, [])
    (seal,) = found.seal(HOUR)
    found.publish()
    compare(found, seal)
    return found


def _ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["differences", "2026-11-30T09:00Z", *arguments])


def test_a_line_for_each_click_key_and_advertiser(world: SealedWorld) -> None:
    result = _ask("--json")
    assert (result.exit_code, result.stderr) == (0, "totals of 1 advertisers are those of table drift, seal 1\n")
    key: dict[str, Any] = {"advertiser_id": 10, "campaign_id": 100, "country": "US", "device": "mobile"}
    click = {"position": "1:0:1", "impression_id": "imp-0-1", "ad_id": 1, "minute": "2026-11-30T09:01:00Z"}
    cause = {"side": "final", "cause": "missing", "other": None, "verdict_id": None}
    rest = {"ad_id": 5, "minute": "2026-11-30T09:00:00Z", "side": "live", "cause": "extra", "clicks": 2}
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"line": "click", **key, **click, **cause},
        {"line": "key", **key, **rest},
        {"line": "total", "advertiser_id": 10, "live_clicks": 3, "final_clicks": 2, "is_as_in_drift": True},
    ]


def test_tables_for_people(world: SealedWorld) -> None:
    result = _ask("--advertiser", "10")
    assert result.exit_code == 0
    assert "1:0:1" in result.stdout
    assert "extra: live counted 2 more than it should have: advertiser 10, campaign 100, ad 5" in result.stdout
    assert "imp-0-1" not in _ask("--advertiser", "11").stdout


def test_what_drift_does_not_confirm_is_4(world: SealedWorld) -> None:
    world.tamper("drift", lambda row: row | {"final_clicks": 1})
    result = _ask()
    assert result.exit_code == 4
    assert result.stderr.startswith("error: advertiser 10: final is 2, table drift says 1; the difference")


def test_an_hour_that_is_not_final_is_2(world: SealedWorld) -> None:
    result = CliRunner().invoke(app, ["differences", "2026-11-30T10:00Z"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: hour 2026-11-30T10:00:00Z is not final; expected")
