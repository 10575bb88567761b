"""What Dagster loads: the graph as a whole, its partitions, its checks, and how it is configured."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
import yaml

from assets.partitions import DAILY, FIRST_DAY, HOURLY, HOURS_PER_RUN
from assets.rule_checks import rule_specs
from domain.settings import Settings
from orchestration.definitions import build_defs, defs
from orchestration.schedules import HOUR_GRACE_MINUTES, HOURLY_SCHEDULE
from warehouse.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
GRAPH = {
    "ads": set(),
    "raw_clicks": {"ads"},
    "live_clicks_minute": {"ads"},
    "final_clicks_minute": {"raw_clicks", "live_clicks_minute"},
    "final_clicks_hour": {"raw_clicks", "live_clicks_minute"},
    "click_exclusions": {"raw_clicks", "live_clicks_minute"},
    "click_outcomes_hour": {"raw_clicks", "live_clicks_minute"},
    "drift": {"raw_clicks", "live_clicks_minute"},
    "final_clicks_day": {"final_clicks_hour"},
}
CHECKS = {
    ("click_exclusions", "conservation", True),
    ("final_clicks_hour", "rollups", True),
    ("final_clicks_day", "rollups", True),
    ("final_clicks_day", "recount", True),
    ("final_clicks_day", "files", False),
    ("final_clicks_minute", "completeness", True),
    ("drift", "drift", False),
} | {(spec.asset_key.to_user_string(), spec.name, False) for spec in rule_specs()}


def specs() -> dict[str, dg.AssetSpec]:
    graph = defs.resolve_asset_graph()
    return {key.to_user_string(): graph.get(key).to_asset_spec() for key in graph.get_all_asset_keys()}


def test_all_of_it_loads_as_the_page_loads_it() -> None:
    """Two things of one name, a job and an op, are seen only here; the page and every schedule would be gone."""
    repository = defs.get_repository_def()
    repository.load_all_definitions()
    jobs = {job.name for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert jobs == {"reconcile_hour", "confirm_day", "revise_late_hours", "keep_head", "maintain", "alert"}
    schedules = {schedule.name for schedule in repository.schedule_defs}
    assert schedules == {
        "every_hour",
        "every_day",
        "late_revisions",
        "every_head",
        "every_day_maintenance",
        "every_five_minutes",
    }


def test_the_graph_is_the_path_of_a_click() -> None:
    graph = defs.resolve_asset_graph()
    found = {
        k.to_user_string(): {p.to_user_string() for p in graph.get(k).parent_keys} for k in graph.get_all_asset_keys()
    }
    assert found == GRAPH


def test_checks_and_which_of_them_block() -> None:
    graph = defs.resolve_asset_graph()
    found = {(key.asset_key.to_user_string(), key.name, graph.get(key).blocking) for key in graph.asset_check_keys}
    assert found == CHECKS


@pytest.mark.parametrize("name", sorted(GRAPH))
def test_every_asset_says_who_owns_it_and_what_it_holds(name: str) -> None:
    spec = specs()[name]
    schema = spec.metadata["dagster/column_schema"]
    assert [column.name for column in schema.columns] == list(TABLES[name].column_names)
    assert spec.owners
    assert "delta" in spec.kinds
    assert spec.group_name in {"catalogue", "streams", "finals"}
    assert TABLES[name].description in (spec.description or "")


def test_all_partitions_start_together_in_utc() -> None:
    """O5, O6, O13: equal starts, no MultiPartitions, UTC keys."""
    for spec in specs().values():
        if spec.key.to_user_string() != "ads":
            assert isinstance(spec.partitions_def, dg.TimeWindowPartitionsDefinition)
            assert (spec.partitions_def.start, spec.partitions_def.timezone) == (FIRST_DAY, "UTC")


def test_an_hour_is_a_key_only_once_it_has_ended() -> None:
    """O12, O20."""
    at = datetime(2026, 3, 1, 5, 30, tzinfo=UTC)
    with dg.partition_loading_context(effective_dt=at):
        assert HOURLY.get_last_partition_key() == "2026-03-01T04:00Z"
        assert DAILY.get_last_partition_key() == "2026-02-28"


def test_the_schedule_asks_for_the_hour_that_ended_a_grace_ago() -> None:
    """O20: not sooner than the completeness gate could say yes."""
    assert Settings(home=ROOT).grace_seconds <= HOUR_GRACE_MINUTES * 60
    at = datetime(2026, 3, 1, 5, HOUR_GRACE_MINUTES, tzinfo=UTC)
    context = dg.build_schedule_context(scheduled_execution_time=at)
    schedule = defs.resolve_schedule_def(HOURLY_SCHEDULE.name)
    (request,) = schedule.evaluate_tick(context).run_requests or ()
    assert request.partition_key == "2026-03-01T04:00Z"


def test_a_backfill_runs_a_day_of_hours_at_a_time() -> None:
    graph = defs.resolve_asset_graph()
    for name in ("raw_clicks", "live_clicks_minute", "final_clicks_minute", "drift"):
        policy = graph.get(dg.AssetKey(name)).backfill_policy
        assert policy is not None
        assert policy.max_partitions_per_run == HOURS_PER_RUN == 24


def test_two_writers_of_a_table_never_meet() -> None:
    pools = {
        op.name: op.pool
        for asset in (build_defs().assets or ())
        if isinstance(asset, dg.AssetsDefinition)
        for op in [asset.op]
    }
    assert pools == {"ads": "ads", "streams": "stream", "finals": "reconcile", "final_day": None}
    assert instance_config()["concurrency"]["pools"] == {"default_limit": 1, "granularity": "run"}


def test_slots_are_freed_and_nothing_is_reported_outside() -> None:
    """O14."""
    config = instance_config()
    assert config["run_monitoring"]["free_slots_after_run_end_seconds"] == 60
    assert config["run_retries"]["retry_on_asset_or_op_failure"] is False
    assert config["telemetry"]["enabled"] is False


def instance_config() -> dict[str, dict[str, object]]:
    config = yaml.safe_load((ROOT / "dagster.yaml").read_text(encoding="utf-8"))
    assert isinstance(config, dict)
    return config


def test_the_instance_accepts_its_configuration(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_STORAGE", str(tmp_path))
        with dg.DagsterInstance.from_config(str(ROOT)) as instance:
            assert instance.run_monitoring_enabled


def test_definitions_load_without_settings_secrets_or_spark() -> None:
    code = "import sys, orchestration.definitions as d; assert d.defs; assert 'pyspark' not in sys.modules"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TALLYSTICK_", "DAGSTER_"))}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
