"""When late revisions are applied: by the setting, each time anew."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg
import pytest

from orchestration.definitions import defs
from orchestration.schedules import LATE_MINUTE, MAINTENANCE_SCHEDULE, late_revisions_schedule


@pytest.mark.parametrize(("setting", "run_count"), [("apply", 1), ("propose", 0)])
def test_late_revisions_follow_the_setting(setting: str, run_count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_LATE_REVISIONS", setting)
    at = datetime(2026, 3, 1, 5, LATE_MINUTE, tzinfo=UTC)
    tick = defs.resolve_schedule_def(late_revisions_schedule.name).evaluate_tick(
        dg.build_schedule_context(scheduled_execution_time=at)
    )
    assert len(tick.run_requests or ()) == run_count
    assert bool(tick.skip_message) == (run_count == 0)


def test_they_have_the_pool_of_those_who_seal() -> None:
    """O14, and no second writer of the finals."""
    (node,) = defs.resolve_job_def("revise_late_hours").nodes
    assert node.definition.pool == "reconcile"
    assert late_revisions_schedule.cron_schedule == "30 * * * *"


def test_maintenance_has_the_pool_of_those_who_seal() -> None:
    """O14, D6: no second writer of the finals."""
    (node,) = defs.resolve_job_def("maintain").nodes
    assert node.definition.pool == "reconcile"
    assert (MAINTENANCE_SCHEDULE.cron_schedule, MAINTENANCE_SCHEDULE.execution_timezone) == ("45 3 * * *", "UTC")


def test_the_hourly_run_and_maintenance_exclude_each_other() -> None:
    """A run holds the pools of all its ops: the hour's stream would wait for a lock that maintenance has."""
    pools = {node.definition.pool for node in defs.resolve_job_def("reconcile_hour").nodes}
    assert pools == {"stream", "reconcile"}
