"""``tallystick outcomes``: clicks gross, net and invalid by reason; refused and quarantined beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from clicklog.edge_counts import EdgeCount
from clicklog.producer import ClickProducer
from domain.buckets import HOUR as ONE_HOUR
from domain.settings import Settings
from tests.support.outcomes_world import seal_with_outcomes
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world

DAY = ["--from", "2026-11-30T00:00Z", "--to", "2026-12-01T00:00Z"]
UNKNOWN = "requests refused at the edge are not known: no broker answers"


def _fill(home: Path) -> SealedWorld:
    found = sealed_world(home)
    found.archive(
        [
            logged(0, HOUR),
            logged(1, HOUR, impression_id="imp-0-0"),
            logged(2, HOUR, ad_id=2, advertiser_id=20, kind="head"),
            logged(3, HOUR + ONE_HOUR),
        ]
    )
    found.quarantine(4)
    seal_with_outcomes(found, HOUR, HOUR + ONE_HOUR)
    found.publish()
    return found


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    """Nothing listens at its broker's port."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    monkeypatch.setenv("TALLYSTICK_BROKER_PORT", "1")
    return _fill(tmp_path)


def _ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["outcomes", *DAY, *arguments])


def _lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_json_by_hour(world: SealedWorld) -> None:
    result = _ask("--json")
    assert result.exit_code == 0
    *clicks, refused, quarantined = _lines(result)
    assert [
        (one["advertiser_id"], one["start"], one["raw_clicks"], one["billable_clicks"], one["invalid_clicks"])
        for one in clicks
    ] == [
        (10, "2026-11-30T09:00:00Z", 2, 1, 1),
        (20, "2026-11-30T09:00:00Z", 1, 0, 1),
        (10, "2026-11-30T10:00:00Z", 1, 1, 0),
    ]
    reasons = {"head": 0, "prefetch": 0, "duplicate": 1, "conflicting_duplicate": 0, "fraud": 0}
    assert clicks[0]["invalid_by_reason"] == reasons
    assert refused == {"line": "refused_at_the_edge", "requests": None}
    assert quarantined == {"line": "quarantined", "by_reason": {"empty": 1}}
    first, *others = result.stderr.splitlines()
    assert first.startswith(UNKNOWN)
    assert others == [
        "22 of 24 hours are not final and in no figure of clicks",
        "raw = billable + excluded by reason in every row of 2 final hours, and as sealed",
    ]


def test_tables_by_day(world: SealedWorld) -> None:
    result = _ask("--by", "day", "--advertiser", "10")
    assert result.exit_code == 0
    cells = [line.strip(" │┃").split() for line in result.stdout.splitlines() if "2026-11-30T" in line]
    assert [[cell for cell in line if cell != "│"] for line in cells] == [
        ["2026-11-30T00:00:00Z", "10", "3", "2", "1", "0", "0", "1", "0", "0"]
    ]
    assert result.stdout.endswith("gross 3 = net 2 + invalid 1\n")


def test_what_does_not_add_up_is_4_and_names_the_hour(world: SealedWorld) -> None:
    """Law 3."""
    world.tamper("click_outcomes_hour", lambda row: row | {"fraud_clicks": row["fraud_clicks"] + 1})
    result = _ask()
    assert result.exit_code == 4
    assert "error: advertiser 10, hour 2026-11-30T09:00:00Z: 2 raw clicks, but 1 billable + 1 duplicate + 1 fraud" in (
        result.stderr
    )


@pytest.mark.parametrize("arguments", [["--by", "week"], ["--to", "2026-11-29T00:00Z"]])
def test_what_cannot_be_asked_is_2(world: SealedWorld, arguments: list[str]) -> None:
    result = _ask(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.broker
def test_requests_refused_at_the_edge_stand_beside_them(
    log_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: a forged click is no click, and is not lost from sight."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(log_settings.home))
    monkeypatch.setenv("TALLYSTICK_KAFKA_BOOTSTRAP", log_settings.kafka_bootstrap)
    monkeypatch.setenv("TALLYSTICK_EDGE_COUNTS_TOPIC", log_settings.edge_counts_topic)
    sealed_world(log_settings.home)
    start = HOUR.replace(year=2024)
    producer = ClickProducer(log_settings)
    for minute in (start, start + ONE_HOUR):
        report = EdgeCount("edge-1", minute, "bad_signature", 3)
        producer.send(b"edge-1", report.encode(), topic=log_settings.edge_counts_topic)
    producer.flush(30)
    asked = ["outcomes", "--from", "2024-11-30T09:00Z", "--to", "2024-11-30T10:00Z"]
    refused, _ = _lines(CliRunner().invoke(app, [*asked, "--json"]))
    assert refused == {"line": "refused_at_the_edge", "requests": {"is_whole": True, "by_reason": {"bad_signature": 3}}}
    assert "bad_signature" in CliRunner().invoke(app, asked).stdout
