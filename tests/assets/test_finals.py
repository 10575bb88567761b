"""The assets on real engines: a day of hours is one run, each hour gets its seal, and an hour that waits says why."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from deltalake import DeltaTable

from assets.catalogue import ads
from assets.command_line import CommandLine
from assets.daily import final_day
from assets.finals import finals
from assets.partitions import HOURLY
from assets.streams import streams
from clicklog.topics import topic_id
from domain.buckets import HOUR, hour_of
from domain.settings import Settings
from tests.support.processes import SHORT_LIVED_JAVA
from traffic.options import Shares, TrafficOptions
from traffic.run import generate
from traffic.truth import Truth
from warehouse.clock import now
from warehouse.create import create_missing_tables
from warehouse.layout import table_uri
from warehouse.logs import register_log
from warehouse.seals import read_seals

pytestmark = [pytest.mark.spark, pytest.mark.broker]

HOURS = 24
RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


@pytest.fixture
def installation(log_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An installation whose settings reach the bodies and their children as they do in production."""
    settings = replace(log_settings, shuffle_partitions=2)
    values = {f"TALLYSTICK_{name.upper()}": str(value) for name, value in asdict(settings).items()}
    for name, value in (values | SHORT_LIVED_JAVA).items():
        monkeypatch.setenv(name, value)
    create_missing_tables(settings)
    return settings


def send_a_day(settings: Settings, until: datetime) -> Truth:
    options = TrafficOptions(
        clicks_count=2_000,
        seed=5,
        start_at=until - HOURS * HOUR,
        end_at=until,
        late_bound_seconds=settings.late_bound_seconds,
        ads_count=20,
        advertisers_count=3,
        hot_share=0.3,
        shares=Shares(),
    )
    return generate(settings, options, now(), lambda _: None).truth


def run_hours(first: str, last: str) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [ads, streams, finals],
        selection=["raw_clicks", "live_clicks_minute", *finals_names()],
        resources={"command_line": CommandLine()},
        tags={RANGE_START: first, RANGE_END: last},
        raise_on_error=False,
    )


def finals_names() -> list[str]:
    return [key.to_user_string() for key in finals.keys]


def test_a_day_of_hours_is_one_run_with_one_commit_a_table(installation: Settings) -> None:
    """O3, O7: every hour has its seal and its rows; the checks say what they found."""
    until = hour_of(now() - installation.grace)
    truth = send_a_day(installation, until)
    keys = [f"{until - back * HOUR:%Y-%m-%dT%H:%MZ}" for back in range(HOURS, 0, -1)]
    result = run_hours(keys[0], keys[-1])
    assert result.success

    seals = read_seals(installation)
    assert [f"{seal.hour:%Y-%m-%dT%H:%MZ}" for seal in seals] == keys
    assert sum(seal.billable_clicks for seal in seals) == truth.totals()["billable"]
    days = {seal.hour.date() for seal in seals}
    attempts = DeltaTable(table_uri(installation, "reconciled_clicks_minute"))
    assert attempts.version() == len(days), "one commit for each date that the hours touch"

    evaluations = {e.check_name: e for e in result.get_asset_check_evaluations()}
    assert {name for name, e in evaluations.items() if e.passed} >= {"conservation", "rollups", "completeness"}
    assert evaluations["completeness"].metadata["sealed_hours"].value == HOURS
    (minute,) = result.asset_materializations_for_node("finals")[:1]
    assert minute.metadata["billable_clicks"].value == truth.totals()["billable"]


def test_an_hour_that_waits_fails_its_run_with_the_reason(installation: Settings, tmp_path: Path) -> None:
    """Law 7 through Dagster: the hour has ended, and its grace has not."""
    del tmp_path
    topic = installation.clicks_topic
    first = dict.fromkeys(range(installation.clicks_partitions), 0)
    register_log(installation, topic, topic_id(installation, topic), first, now())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TALLYSTICK_GRACE_SECONDS", "86400")
        key = f"{hour_of(now()) - HOUR:%Y-%m-%dT%H:%MZ}"
        result = dg.materialize(
            [finals], resources={"command_line": CommandLine()}, partition_key=key, raise_on_error=False
        )
    assert not result.success
    failure = result.failure_data_for_node("finals")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert failure.user_failure_data.description == "1 of 1 hours wait"
    assert "grace until" in str(failure.user_failure_data.metadata[key.replace("Z", ":00Z")].value)
    assert read_seals(installation) == []


def test_a_day_with_a_hole_is_not_confirmed(installation: Settings) -> None:
    """O11: the day waits for all of its hours."""
    day = f"{hour_of(now()) - timedelta(days=2):%Y-%m-%d}"
    result = dg.materialize(
        [final_day], resources={"command_line": CommandLine()}, partition_key=day, raise_on_error=False
    )
    assert not result.success
    failure = result.failure_data_for_node("final_day")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "24 of 24 hours are not sealed and published" in (failure.user_failure_data.description or "")


def test_keys_of_partitions_are_those_that_a_person_would_write() -> None:
    assert HOURLY.fmt == "%Y-%m-%dT%H:%MZ"
