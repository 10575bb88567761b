"""Rules as asset checks: each on its asset and hour, as judged before the seal, and nothing judged again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from assets.catalogue import ads
from assets.command_line import CommandLine
from assets.daily import final_day
from assets.finals import finals
from assets.rule_checks import quality_rules, rule_evaluations, rule_specs
from assets.streams import streams
from domain.buckets import HOUR
from spark_jobs.params import HourReceipt, ReconcileReceipt
from tests.quality.test_alert_causes import judged, verdict, warning
from tests.support.ledgers import FIRST_HOUR
from tests.support.sealed_world import SealedWorld, sealed_world
from warehouse.quality_verdicts import append_verdicts

FIRST_KEY = "2026-05-04T10:00Z"
HOURS = [FIRST_HOUR, FIRST_HOUR + HOUR]


@pytest.fixture
def world(tmp_path: Path) -> SealedWorld:
    return sealed_world(tmp_path / "home")


def test_every_rule_stands_on_an_asset_once() -> None:
    keys = [(spec.asset_key, spec.name) for spec in rule_specs()]
    assert len(keys) == len(set(keys)) > 20
    assets = {key for one in (ads, streams, finals, final_day) for key in one.keys}
    assert {asset for asset, _ in keys} <= assets
    assert ("raw_clicks", "rule_volume") in {(asset.to_user_string(), name) for asset, name in keys}
    assert ("final_clicks_hour", "rule_seal_conservation") in {(a.to_user_string(), name) for a, name in keys}


def test_two_hours_of_which_one_is_bad_are_told_apart(world: SealedWorld) -> None:
    """O1, O2: by partition; the groups of a rule are one evaluation."""
    judged(world, verdict(0), verdict(1, outcome="pass"))
    append_verdicts(world.settings, [warning(0, group="7"), warning(0, group="8", outcome="error", observed="nothing")])
    found = {(one.partition, one.check_name): one for one in rule_evaluations(world.settings, HOURS)}
    assert {key: one.passed for key, one in found.items()} == {
        ("2026-05-04T10:00Z", "rule_conservation"): False,
        ("2026-05-04T10:00Z", "rule_volume"): False,
        ("2026-05-04T11:00Z", "rule_conservation"): True,
    }
    bad, warned = (found["2026-05-04T10:00Z", name] for name in ("rule_conservation", "rule_volume"))
    assert (bad.severity, warned.severity) == (dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN)
    assert (bad.metadata["observed"].value, bad.metadata["expected"].value) == ("9 clicks", "10 clicks")
    assert warned.metadata["outcome"].value == "error, fail"
    assert warned.metadata["observed"].value == "7: 9 clicks; 8: nothing"


def test_what_another_attempt_was_told_is_not_shown(world: SealedWorld) -> None:
    judged(world, verdict(0))
    judged(world, replace(verdict(0, outcome="pass"), attempt="later", judged_at=FIRST_HOUR + 3 * HOUR))
    assert [one.passed for one in rule_evaluations(world.settings, HOURS)] == [True]


class HeldHour(CommandLine):
    """A run whose only hour a rule holds back."""

    def run(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, *arguments: str) -> str:
        del context, arguments
        return ReconcileReceipt((HourReceipt(FIRST_HOUR, "blocked", ("held",)),), None, None, 1.0).to_json()


def test_they_are_shown_on_the_assets_of_a_run_that_fails(world: SealedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(world.settings.home))
    judged(world, verdict(0))
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [finals],
            resources={"command_line": HeldHour()},
            partition_key=FIRST_KEY,
            instance=instance,
            raise_on_error=False,
        )
        assert not result.success
        key = dg.AssetCheckKey(dg.AssetKey("raw_clicks"), "rule_conservation")
        (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    evaluation = record.event.dagster_event.asset_check_evaluation_data if record.event else None
    assert evaluation is not None
    assert (evaluation.passed, evaluation.partition) == (False, "2026-05-04T10:00Z")


@pytest.mark.parametrize(
    "tags",
    [
        {"dagster/partition": FIRST_KEY},
        {"dagster/asset_partition_range_start": FIRST_KEY, "dagster/asset_partition_range_end": "2026-05-04T12:00Z"},
    ],
    ids=["an hour", "a range"],
)
def test_launched_by_hand_an_hour_without_a_verdict_has_not_passed(
    world: SealedWorld, monkeypatch: pytest.MonkeyPatch, tags: dict[str, str]
) -> None:
    monkeypatch.setenv("TALLYSTICK_HOME", str(world.settings.home))
    judged(world, replace(verdict(0), table_name="click_exclusions", outcome="pass"))
    job = dg.define_asset_job("checks", dg.AssetSelection.checks(quality_rules))
    definitions = dg.Definitions(
        assets=[ads, streams, finals],
        asset_checks=[quality_rules],
        jobs=[job],
        resources={"command_line": CommandLine()},
    )
    result = definitions.resolve_job_def("checks").execute_in_process(tags=tags)
    said = {one.check_name: one for one in result.get_asset_check_evaluations()}
    assert said["rule_conservation"].passed
    assert not said["rule_volume"].passed
    assert said["rule_volume"].metadata["observed"].value == "never judged"
