"""``tallystick reconcile``: what it refuses, what waits, and the path from the log to figures that readers see."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.main import app
from domain.buckets import HOUR, format_utc, hour_of
from domain.settings import Settings
from spark_jobs.params import ReconcileReceipt
from tests.support.events import click
from tests.support.stream_world import StreamWorld
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.logs import register_log


def pass_on(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting by environment, as an operator would."""
    for field in fields(Settings):
        monkeypatch.setenv(f"TALLYSTICK_{field.name.upper()}", str(getattr(settings, field.name)))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reconcile", *arguments])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["2026-05-04T10:30Z"], "FROM is '2026-05-04T10:30Z'; expected a whole UTC hour"),
        (["2026-05-04T10:00"], "FROM is '2026-05-04T10:00'"),
        (["2026-05-04T10:00Z", "2026-05-04T10:00Z"], "is not after FROM"),
        (["2026-05-04T10:00Z", "--actor", ""], "no actor"),
        (["2026-05-04T10:00Z", "--case", "C-1"], "a revision without reason and actor"),
        (["2026-05-04T10:00Z", "--reason", "why", "--actor", "ann", "--plan"], "a revision without case"),
    ],
    ids=["unaligned", "no zone", "empty range", "nobody", "no reason", "no case"],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_on(Settings(home=tmp_path), monkeypatch)
    result = run(*arguments)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


@pytest.mark.broker
def test_hours_that_wait_end_with_3_and_their_reasons(
    log_settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Spark is started for them, and nothing is written."""
    pass_on(log_settings, monkeypatch)
    create_missing_tables(log_settings)
    hour = format_utc(hour_of(now()) - 3 * HOUR)
    result = run(hour, "--receipt", str(tmp_path / "receipt.json"))
    assert result.exit_code == 3, result.stderr
    assert f"{hour} waits: waits for the archive: it has never run" in result.stderr
    assert "starting Spark" not in result.stderr
    assert ReconcileReceipt.from_json((tmp_path / "receipt.json").read_text()).is_all_blocked
    register_log(log_settings, log_settings.clicks_topic, "of another topic", {}, now())
    assert run(hour, "--plan").exit_code == 4


@pytest.mark.spark
@pytest.mark.broker
def test_from_the_log_to_figures_that_readers_see(
    world: StreamWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 5: all clicks in time, live and final are equal row for row; and the plan says what is done.

    F11: a click that comes after the seal is proposed, and is exactly one revision, under a case of its own.
    """
    pass_on(world.settings, monkeypatch)
    receipt = tmp_path / "receipt.json"
    start = hour_of(now()) - 2 * HOUR
    sent = [click(f"imp-{i}", start + timedelta(seconds=i), country="DE" if i % 3 else "FR") for i in range(90)]
    world.send([*sent, *sent[:7], click("imp-0", start, kind="head"), (b"", b"no event")])
    world.run()
    hour = format_utc(start)
    (planned,) = json.loads(run(hour, "--plan", "--json").stdout)
    assert (planned["action"], sum(planned["cut"].values())) == ("seal", 99)
    result = run(hour, "--json", "--actor", "somebody")
    assert result.exit_code == 0, result.stderr
    (done,) = ReconcileReceipt.from_json(result.stdout).hours
    assert (done.raw_clicks, done.billable_clicks, done.excluded_clicks) == (98, 90, {"head": 1, "duplicate": 7})
    assert (done.live_clicks, done.unexplained_clicks) == (90, 0)
    key = ("advertiser_id", "campaign_id", "ad_id", "minute", "country", "device", "clicks")
    live, final = (
        sorted(tuple(row[name] for name in key) for row in world.rows(table))
        for table in ("live_clicks_minute", "final_clicks_minute")
    )
    assert live == final
    assert world.rows("seals")[0]["actor"] == "somebody"
    world.send([click("imp-late", start, country="DE")])
    world.run()
    (planned,) = json.loads(run(hour, "--plan", "--json", "--reason", "r", "--case", "C", "--actor", "ann").stdout)
    assert (planned["action"], planned["late_arrival_count"], sum(planned["cut"].values())) == ("revise", 1, 100)
    apply = ["proposals", "apply", "--all", "--late-only", "--actor", "ann", "--receipt", str(receipt)]
    for actions in (["revise"], []):
        assert CliRunner().invoke(app, apply).exit_code == 0
        applied = ReconcileReceipt.from_json(receipt.read_text(encoding="utf-8"))
        assert [one.action for one in applied.hours] == actions
    _, revision = sorted(world.rows("seals"), key=lambda row: row["seal_number"])
    assert (revision["revision"], revision["billable_clicks"], revision["raw_clicks"]) == (1, 91, 99)
    assert (revision["actor"], revision["case_id"]) == ("system:late by ann", f"late-{start:%Y-%m-%dT%H}")
    assert sum(row["clicks"] for row in world.rows("final_clicks_day")) == 91
    assert "verify" in run(hour).stdout
