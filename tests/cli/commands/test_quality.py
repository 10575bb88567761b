"""``tallystick quality``: what is shown, what is refused, what an override leaves. Judging is in test_expectations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from domain.buckets import HOUR
from domain.quality_metrics import Metric
from domain.quality_verdicts import blocking
from domain.settings import Settings
from tests.domain.test_quality_verdicts import VERDICT
from tests.support.empty_tables import make_empty_tables
from warehouse.quality_metrics import append_metrics
from warehouse.quality_verdicts import append_verdicts, read_overrides, read_verdicts

AT = "2026-02-03T09:00Z"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """One hour that a money rule holds, and of which an advertiser's level is new."""
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    found = Settings(home=tmp_path / "home")
    make_empty_tables(found)
    level = replace(VERDICT, rule="advertiser_level", group="7", severity="warn", suite="drift_statistics")
    append_verdicts(found, [VERDICT, level])
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["quality", *arguments])


def test_an_hour_is_shown_with_what_holds_it(settings: Settings) -> None:
    shown = run("show", AT)
    assert shown.exit_code == 0
    assert "held back by attempt a1: raw_clicks: conservation is bad: 9 clicks, expected 10 clicks" in shown.stderr
    lines = [json.loads(line) for line in run("show", AT, "--json").stdout.splitlines()]
    assert [(one["rule"], one["group"], one["is_blocking"]) for one in lines] == [
        ("advertiser_level", "7", False),
        ("conservation", "", True),
    ]
    assert "was never judged" in run("show", "2026-02-03T10:00Z").stderr


def test_an_override_releases_the_hour_and_is_a_row(settings: Settings) -> None:
    done = run("override", AT, "conservation", "--actor", "ann", "--reason", "a known hole")
    assert done.exit_code == 0
    assert blocking(read_verdicts(settings, [VERDICT.hour], "a1"), read_overrides(settings)) == []
    (row,) = read_overrides(settings)
    assert (row.kind, row.actor, row.reason, row.observed) == ("release", "ann", "a known hole", "9 clicks")
    assert "held back" not in run("show", AT).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("override", AT, "conservation", "--actor", " ", "--reason", "why"),
        ("override", AT, "conservation", "--actor", "ann", "--reason", ""),
        ("override", AT, "volume", "--actor", "ann", "--reason", "why"),
        ("override", "2026-02-03T09:30Z", "conservation", "--actor", "ann", "--reason", "why"),
        ("accept-level", AT, "advertiser_level", "--actor", "ann", "--reason", "why"),
    ],
    ids=["nobody", "no reason", "another rule", "no hour", "another group"],
)
def test_what_is_refused_leaves_no_row(settings: Settings, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
    assert read_overrides(settings) == []


def test_a_level_is_accepted(settings: Settings) -> None:
    done = run("accept-level", AT, "advertiser_level", "--group", "7", "--actor", "ann", "--reason", "a new feed")
    assert done.exit_code == 0
    assert [(one.kind, one.rule, one.group) for one in read_overrides(settings)] == [
        ("accept_level", "advertiser_level", "7")
    ]


def test_a_plan_judges_nothing(settings: Settings) -> None:
    before = read_verdicts(settings, [VERDICT.hour])
    planned = run("judge", AT, "--plan")
    assert planned.exit_code == 0
    assert "2026-02-03T09:00:00Z" in planned.stdout
    assert read_verdicts(settings, [VERDICT.hour]) == before


def test_the_page_is_written_into_a_folder_that_exists(settings: Settings, tmp_path: Path) -> None:
    assert run("docs", str(tmp_path)).exit_code == 0
    assert "conservation" in (tmp_path / "index.html").read_text()
    assert run("docs", str(tmp_path / "nowhere")).exit_code == 1


def test_a_page_about_a_day_is_written(settings: Settings, tmp_path: Path) -> None:
    assert run("report", "2026-02-03", "--folder", str(tmp_path)).exit_code == 0
    assert "Quality of 2026-02-03" in (tmp_path / "quality-2026-02-03.html").read_text(encoding="utf-8")
    assert run("report", "yesterday", "--folder", str(tmp_path)).exit_code == 2


def test_hours_are_judged_and_what_is_wrong_is_printed(settings: Settings) -> None:
    """An hour that was measured gets its rows; one that nobody measured gets none, and is told."""
    metric = Metric("raw_clicks", VERDICT.hour, "rows", "", 9, None, "rows")
    append_metrics(settings, {"a2": [metric]}, VERDICT.judged_at)
    before = len(read_verdicts(settings, [VERDICT.hour]))
    done = run("judge", AT, "2026-02-03T11:00Z")
    assert done.exit_code == 0
    assert "1 hour judged:" in done.stderr
    assert "1 hour never measured" in done.stderr
    assert "raw_schema" in done.stdout
    verdicts = read_verdicts(settings, [VERDICT.hour, VERDICT.hour + HOUR])
    judged = {(one.hour, one.attempt, one.rule): one for one in verdicts if one.run.startswith("judge-")}
    assert len(verdicts) > before
    assert judged[VERDICT.hour, "a2", "raw_not_empty"].outcome == "pass"
    assert {hour for hour, _, _ in judged} == {VERDICT.hour}
