"""Reconcile dies between any two of its commits; the next run makes good, and readers never see half of it."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from domain.buckets import HOUR
from tests.support.archive_world import Click, H
from tests.support.processes import SHORT_LIVED_JAVA
from tests.support.reconcile_world import ReconcileWorld
from warehouse.publications import read_publications

pytestmark = pytest.mark.spark

CLICKS = [Click("a", 1), Click("b", 2, partition=1), Click("a", 3), Click("c", 4, kind="head"), Click("d", 61)]
MORE = [Click("d", 62, country="FR"), Click("e", 63, partition=1), Click("a", 64)]
BEFORE_THE_SEAL = (
    *("counts written", "exclusions written", "outcomes written", "drift written"),
    *("metrics written", "verdicts written"),
)
BEFORE_THE_PUBLICATION = ("sealed", "minutes replaced", "hours replaced", "day replaced")
FINAL_TABLES = ("final_clicks_minute", "final_clicks_hour", "final_clicks_day")
RUN_AND_DIE = """
import os, signal, sys
from pathlib import Path
from domain.settings import Settings
from spark_jobs.params import ReconcileParams
from spark_jobs.reconcile import reconcile
from tests.support.archive_world import H, HOUR, NOW, WrittenLog
from tests.support.reconcile_world import judge_nothing
from warehouse.spark.session import spark_session

home, step = Path(sys.argv[1]), sys.argv[2]
settings = Settings(home=home, shuffle_partitions=2, spark_driver_heap_mib=512)
ends = {int(partition): int(end) for partition, end in (place.split(":") for place in sys.argv[3:])}
reconcile(
    settings,
    spark_session(settings, "dies"),
    ReconcileParams(H + HOUR, H + 2 * HOUR, "dies"),
    lambda: NOW,
    log=WrittenLog(ends),
    judge=judge_nothing,
    after_step=lambda done: os.kill(os.getpid(), signal.SIGKILL) if done == step else None,
)
"""


class Died(BaseException):
    """What no code of ours catches, as the end of a process would not be."""


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> ReconcileWorld:
    """The first hour sealed and published; the second due."""
    world = ReconcileWorld(tmp_path, spark)
    world.archive(CLICKS)
    world.reconcile()
    world.archive(MORE)
    return world


def die_after(world: ReconcileWorld, step: str, hour: datetime = H + HOUR, case: str = "") -> None:
    def die(done: str) -> None:
        if done == step:
            raise Died

    with pytest.raises(Died):
        world.reconcile(hour, case=case, after_step=die)


def seen_by_readers(world: ReconcileWorld) -> list[list[dict[str, object]]]:
    """The final tables at the versions that the newest publication names."""
    newest = read_publications(world.settings)[-1]
    versions = (newest.minute_version, newest.hour_version, newest.day_version)
    return [world.rows(table, version) for table, version in zip(FINAL_TABLES, versions, strict=True)]


def assert_all_is_well(world: ReconcileWorld, publications: int) -> None:
    """Both hours sealed once and published; what readers see adds up to what was sealed."""
    assert [(seal.hour, seal.revision) for seal in world.seals()] == [(H, 0), (H + HOUR, 0)]
    world.assert_sealed_equals_oracle()
    published = read_publications(world.settings)
    assert (len(published), published[-1].seal_number, published[-1].final_until) == (publications, 2, H + 2 * HOUR)
    minutes, hours, days = seen_by_readers(world)
    totals = [sum(row["clicks"] for row in rows) for rows in (minutes, hours, days)]
    assert totals == [sum(world.sealed_counts().values())] * 3


def test_dead_between_any_two_commits(world: ReconcileWorld) -> None:
    """Laws 8 and 10: an attempt without a seal is nothing; a seal without a publication is published by the next."""
    before = seen_by_readers(world)
    for step in BEFORE_THE_SEAL:
        die_after(world, step)
        assert (len(world.seals()), seen_by_readers(world)) == (1, before), step
    attempts = len({row["attempt"] for row in world.rows("reconciled_clicks_minute")})
    assert attempts == 1 + len(BEFORE_THE_SEAL)
    for step in BEFORE_THE_PUBLICATION:
        die_after(world, step)
        assert (len(world.seals()), seen_by_readers(world)) == (2, before), step
        assert [one.action for one in world.plan(count=2)] == ["verify", "publish"], step
    die_after(world, "published")
    assert_all_is_well(world, publications=2)
    assert [hour.action for hour in world.reconcile(count=2).hours] == ["verify", "verify"]
    assert_all_is_well(world, publications=2)


def test_whatever_hour_is_asked_for_repairs_what_was_left(world: ReconcileWorld) -> None:
    """A seal that nobody sees is published by any run, also one that seals nothing itself."""
    die_after(world, "sealed")
    receipt = world.reconcile(H)
    assert [hour.action for hour in receipt.hours] == ["verify"]
    assert (receipt.publication_number, receipt.final_until) == (2, H + 2 * HOUR)
    assert_all_is_well(world, publications=2)


def test_a_revision_dead_between_any_two_commits(world: ReconcileWorld) -> None:
    """Law 10: before its seal the old one holds, after it the next run publishes; one revision, whatever dies."""
    world.archive([Click("late", 5, logged=99)])
    before = seen_by_readers(world)
    for step in BEFORE_THE_SEAL:
        die_after(world, step, H, "C-1")
        assert (len(world.seals()), seen_by_readers(world)) == (1, before), step
    for step in BEFORE_THE_PUBLICATION:
        die_after(world, step, H, "C-1")
        assert ([seal.revision for seal in world.seals()], seen_by_readers(world)) == ([0, 1], before), step
    (hour,) = world.reconcile(H, case="C-1").hours
    assert (hour.action, hour.seal_number, len(world.seals())) == ("verify", 2, 2)
    world.assert_sealed_equals_oracle()
    minutes, hours, days = seen_by_readers(world)
    totals = [sum(row["clicks"] for row in rows) for rows in (minutes, hours, days)]
    assert totals == [sum(world.sealed_counts().values())] * 3


@pytest.mark.parametrize("step", [pytest.param("exclusions written", marks=pytest.mark.soak), "hours replaced"])
def test_killed_for_real(world: ReconcileWorld, step: str) -> None:
    """SIGKILL: nothing is flushed, no lock is given back, a JVM is left behind; its end is waited for."""
    before = seen_by_readers(world)
    ends = [f"{partition}:{end}" for partition, end in world.log.ends.items()]
    killed = subprocess.run(
        [sys.executable, "-c", RUN_AND_DIE, str(world.settings.home), step, *ends],
        env={**os.environ, **SHORT_LIVED_JAVA},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    assert seen_by_readers(world) == before
    (hour,) = world.reconcile(H + HOUR).hours
    assert hour.action == ("publish" if step == "hours replaced" else "seal")
    assert_all_is_well(world, publications=2)
