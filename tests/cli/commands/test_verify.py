"""``tallystick verify``: a line an hour, 0 if all agree, 4 with the place if anything differs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.sealed_world import HOUR, SealedWorld, logged, sealed_world
from warehouse.seals import read_seals

NEXT_HOUR = HOUR + timedelta(hours=1)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path))
    world = sealed_world(tmp_path)
    world.archive([logged(0, HOUR), logged(1, HOUR, kind="head"), logged(2, NEXT_HOUR)])
    world.seal(HOUR, NEXT_HOUR)
    world.publish()
    return world


def _verify(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments])


def test_all_agree(world: SealedWorld) -> None:
    head = read_seals(world.settings)[-1].hash
    result = _verify("2026-11-30T09:00Z", "2026-11-30T11:00Z", "--kept-head", head)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"agrees   ledgers: 2 seals, 1 publications, head {head}",
        "agrees   hour 2026-11-30T09:00:00Z: seal 1: 2 raw = 1 billable + 1 head",
        "agrees   hour 2026-11-30T10:00:00Z: seal 2: 1 raw = 1 billable",
        "agrees   day 2026-11-30: published day = sum of its hours",
        "all agree: 2 hours, recounted from raw_clicks alone",
    ]


def test_one_hour_is_the_default_and_late_arrivals_are_noted(world: SealedWorld) -> None:
    world.archive([logged(3, HOUR)])
    result = _verify("2026-11-30T09:00Z")
    assert result.exit_code == 0
    assert "         note: 1 raw clicks came after the cut and wait for a revision" in result.stdout.splitlines()
    assert "2026-11-30T10:00:00Z" not in result.stdout


def test_a_difference_is_shown_with_its_place_and_ends_with_4(world: SealedWorld) -> None:
    world.tamper("final_clicks_minute", lambda row: row | {"clicks": 2} if row["minute"] == NEXT_HOUR else row)
    result = _verify("2026-11-30T09:00Z", "2026-11-30T11:00Z")
    assert result.exit_code == 4
    lines = result.stdout.splitlines()
    assert lines[2:4] == [
        "DIFFERS  hour 2026-11-30T10:00:00Z: seal 2: 1 raw = 1 billable",
        "         - minute 2026-11-30T10:00:00Z, advertiser 10, campaign 100, ad 1, country US, device mobile: "
        "published 2, recounted 1",
    ]
    assert result.stderr == (
        "error: 1 of 4 verdicts differ; expected seals and published figures that raw_clicks confirms; "
        "look at the lines above, docs/seals.md says what they mean\n"
    )


def test_a_range_without_a_seal_is_no_failure_of_integrity(world: SealedWorld) -> None:
    """Nothing contradicts anything: the question has no answer yet."""
    result = _verify("2026-11-30T14:00Z")
    assert result.exit_code == 2
    assert "no seal  hour 2026-11-30T14:00:00Z" in result.stdout.splitlines()
    assert result.stderr.startswith("error: no seal of 1 hour from 2026-11-30T14:00:00Z; expected a range with sealed")


def test_hours_that_are_not_sealed_yet_are_told_apart(world: SealedWorld) -> None:
    result = _verify("2026-11-30T10:00Z", "2026-11-30T12:00Z")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2] == "no seal  hour 2026-11-30T11:00:00Z"
    assert result.stdout.splitlines()[-1] == "all agree: 1 hour, recounted from raw_clicks alone"
    assert result.stderr == "1 hour of the range not sealed: nothing to verify there\n"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        pytest.param(["2026-11-30T09:30Z"], "FROM is '2026-11-30T09:30Z'", id="no-whole-hour"),
        pytest.param(["2026-11-30T09:00"], "FROM is '2026-11-30T09:00'", id="no-zone"),
        pytest.param(["yesterday"], "FROM is 'yesterday'", id="no-time"),
        pytest.param(["2026-11-30T09:00Z", "noon"], "TO is 'noon'", id="no-end"),
        pytest.param(["2026-11-30T09:00Z", "2026-11-30T09:00Z"], "TO 2026-11-30T09:00:00Z is not after", id="empty"),
    ],
)
def test_what_cannot_be_asked(world: SealedWorld, arguments: list[str], found: str) -> None:
    result = _verify(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {found}")


def test_an_hour_may_be_given_in_another_zone(world: SealedWorld) -> None:
    assert "hour 2026-11-30T09:00:00Z" in _verify("2026-11-30T10:00+01:00").stdout
