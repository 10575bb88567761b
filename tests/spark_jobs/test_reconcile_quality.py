"""An attempt is measured and judged before it may be sealed, and held back by what guards money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from domain.ads import Ad
from domain.buckets import HOUR
from domain.errors import SettingError
from domain.quality_metrics import WHOLE, Metric
from domain.quality_verdicts import Outcome, Verdict
from domain.settings import Settings
from quality.judging import Judging, judge_attempts
from spark_jobs.reconcile_quality import RUN, Judge, write_metrics, write_verdicts
from spark_jobs.reconcile_written import written_attempt
from tests.domain.test_quality_verdicts import VERDICT
from tests.support.archive_world import NOW, ArchiveWorld, Click, H
from tests.support.reconcile_world import ReconcileWorld
from warehouse.ads import snapshot_ads
from warehouse.quality_verdicts import read_overrides, read_verdicts, release

ROWS = Metric("raw_clicks", H, "rows", WHOLE, 1, None, "rows")
ATTEMPTS = {H.hour: "a", H.hour + 1: "b"}
RULE = "raw_unknown_ads"


def saying(outcome: Outcome, severity: Any = "fail") -> Judge:
    """Says this of the first hour, and that all is well with the others."""

    def judge(
        _: Settings,
        metrics: Mapping[datetime, Sequence[Metric]],
        attempts: Mapping[datetime, str],
        judging: Judging,
    ) -> list[Verdict]:
        said = replace(VERDICT, severity=severity, run=judging.run, judged_at=judging.judged_at)
        return [
            replace(said, hour=hour, attempt=attempts[hour], outcome=outcome if hour == H else "pass")
            for hour in metrics
        ]

    return judge


def held(world: ArchiveWorld, judge: Judge) -> dict[datetime, tuple[str, ...]]:
    return write_verdicts(world.settings, {H: [ROWS], H + HOUR: [ROWS]}, ATTEMPTS, NOW, judge)


@pytest.mark.parametrize(
    ("outcome", "word"), [("fail", "conservation is bad"), ("error", "conservation could not be checked")]
)
def test_bad_hours_and_those_that_nobody_could_check_are_held(tmp_path: Path, outcome: Outcome, word: str) -> None:
    """Error is not fail: both hold, each says what it is, in words and in its row. The other hour goes on."""
    world = ArchiveWorld(tmp_path)
    reasons = held(world, saying(outcome))
    assert (list(reasons), word in reasons[H][0]) == ([H], True)
    first, second = read_verdicts(world.settings, [H, H + HOUR])
    assert (first.outcome, first.attempt, first.run, second.outcome) == (outcome, "a", RUN, "pass")


def test_a_warning_holds_nothing(tmp_path: Path) -> None:
    assert held(ArchiveWorld(tmp_path), saying("fail", "warn")) == {}


def test_what_was_released_before_holds_no_more(tmp_path: Path) -> None:
    world = ArchiveWorld(tmp_path)
    held(world, saying("fail"))
    release(world.settings, H, VERDICT.rule, actor="ann", reason="known", at=NOW)
    assert held(world, saying("fail")) == {}


def test_a_judge_who_cannot_judge_lets_nothing_pass(tmp_path: Path) -> None:
    """What is configured wrongly is raised: without a judgement nobody gets to the seal."""
    world = ArchiveWorld(tmp_path)

    def judge(*_: object) -> list[Verdict]:
        raise SettingError("no zone", "a zone", "name one")

    with pytest.raises(SettingError):
        held(world, judge)
    assert read_verdicts(world.settings, [H]) == []


def test_metrics_carry_the_attempt_of_their_hour(tmp_path: Path) -> None:
    world = ArchiveWorld(tmp_path)
    world.archive([Click("a"), Click("b", 61)])
    cuts = {hour: {"1:0": 2, "1:1": 0} for hour in ATTEMPTS}
    with written_attempt(world.settings, H.date(), cuts, ATTEMPTS) as written:
        write_metrics(world.settings, H.date(), ATTEMPTS, written, NOW)
    rows = world.rows("quality_metrics")
    assert {(row["hour"], row["attempt"]) for row in rows} == {(H, "a"), (H + HOUR, "b")}
    assert {row["amount"] for row in rows if row["name"] == "rows"} == {1}


def measured(world: ArchiveWorld, attempt: str) -> list[dict[str, Any]]:
    names = ("table_name", "hour", "name", "group", "amount", "out_of", "unit")
    rows = [{name: row[name] for name in names} for row in world.rows("quality_metrics") if row["attempt"] == attempt]
    return sorted(rows, key=lambda row: (row["table_name"], row["name"], row["group"]))


@pytest.mark.spark
def test_a_bad_hour_is_held_until_it_is_repaired_or_released(spark: SparkSession, tmp_path: Path) -> None:
    """Through the job and through the plan. Nothing is sealed, published or changed; figures are as the rule counts.

    Two hours with clicks of an ad that nobody knows, one that is well; then the one is released, the other repaired.
    """
    world = ReconcileWorld(tmp_path, spark)
    world.archive([Click("a"), Click("b", 1, ad=2), Click("c", 61), Click("d", 121), Click("e", 122, ad=3)])
    first, second, third = world.reconcile(count=3, judge=judge_attempts).hours
    assert [one.action for one in (first, second, third)] == ["blocked", "seal", "blocked"]
    assert RULE in first.reasons[0]
    assert [seal.hour for seal in world.seals()] == [H + HOUR]
    assert {hour for _, _, _, hour, *_ in world.final_counts()} == {H + timedelta(hours=1, minutes=1)}
    assert [one.reasons for one in world.plan()] == [first.reasons]

    again = world.reconcile(judge=judge_attempts).hours
    assert [(one.action, one.reasons, one.attempt) for one in again] == [("blocked", first.reasons, None)]
    assert len(world.rows("reconciled_clicks_minute")) == 5

    release(world.settings, H, RULE, actor="ann", reason="a partner's ad", at=NOW)
    (sealed,) = world.reconcile(judge=judge_attempts).hours
    assert (sealed.action, len(read_overrides(world.settings))) == ("seal", 1)
    assert first.attempt is not None
    assert sealed.attempt is not None
    assert measured(world, sealed.attempt) == measured(world, first.attempt) != []

    snapshot_ads(world.settings, [Ad(3, 10, 100, "https://shop.example/")], NOW)
    assert [one.action for one in world.plan(H + 2 * HOUR)] == ["blocked"]
    (repaired,) = world.reconcile(H + 2 * HOUR, is_recounting_held=True, judge=judge_attempts).hours
    assert repaired.action == "seal"
    world.assert_sealed_equals_oracle()
    said = {(one.hour, one.outcome) for one in read_verdicts(world.settings, [H, H + 2 * HOUR]) if one.rule == RULE}
    assert said == {(H, "fail"), (H + 2 * HOUR, "fail"), (H + 2 * HOUR, "pass")}
