"""Who is told when, and that a late hour is asked for once more and not many times."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData

from orchestration.alerts import ALERT_SCHEDULE, alert_job, failed_runs_sensor, unsealed_hours_sensor
from orchestration.definitions import defs
from quality.alert_causes import hours_to_ask_again
from tests.quality.test_alert_causes import AT, judged, verdict
from tests.support.ledgers import seal_draft
from tests.support.sealed_world import SealedWorld, sealed_world
from warehouse.clock import now
from warehouse.seals import append_seals


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedWorld:
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "home"))
    return sealed_world(tmp_path / "home")


def tick() -> SensorExecutionData:
    context = dg.build_sensor_context(repository_def=defs.get_repository_def())
    return defs.resolve_sensor_def(unsealed_hours_sensor.name).evaluate_tick(context)


def test_a_late_hour_is_asked_for_once(world: SealedWorld) -> None:
    """O10, O12: however many are missing, one run with one key, of an hour that has ended."""
    hour = now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=6)
    append_seals(world.settings, [seal_draft(0, hour=hour)], 0, now())
    requests = [tick().run_requests or [] for _ in range(2)]
    key = f"{hour + timedelta(hours=1):%Y-%m-%dT%H:%MZ}"
    for asked in requests:
        assert [(one.run_key, one.partition_key) for one in asked] == [(f"again {key}", key)]


def test_without_a_late_hour_nothing_is_asked_for(world: SealedWorld) -> None:
    assert "no seal is overdue" in (tick().skip_message or "")


def test_an_hour_that_a_rule_holds_is_not_asked_for_again(world: SealedWorld) -> None:
    append_seals(world.settings, [seal_draft(0)], 0, AT)
    judged(world, verdict(1))
    assert [hour.hour for hour in hours_to_ask_again(world.settings, AT)] == [12]


def test_somebody_is_told_every_five_minutes_and_when_a_run_failed() -> None:
    assert ALERT_SCHEDULE.cron_schedule == "*/5 * * * *"
    assert ALERT_SCHEDULE.default_status == dg.DefaultScheduleStatus.RUNNING
    with dg.DagsterInstance.ephemeral() as instance:
        result = broken.execute_in_process(instance=instance, raise_on_error=False)
        event = result.get_run_failure_event()
        context = dg.build_run_status_sensor_context("failed_runs", event, instance, result.dagster_run)
        request = failed_runs_sensor(context.for_run_failure())
    assert isinstance(request, dg.RunRequest)
    assert request.run_key == result.dagster_run.run_id
    assert failed_runs_sensor.job.name == alert_job.name


@dg.op
def fail() -> None:
    raise dg.Failure("on purpose")


@dg.job
def broken() -> None:
    fail()
