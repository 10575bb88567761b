"""What readers see: exactly the sealed attempts, in tables that add up, or the publication before."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from domain.buckets import HOUR
from domain.errors import IntegrityError
from spark_jobs.publish import publish
from tests.support.archive_world import NOW, Click, H
from tests.support.reconcile_world import ReconcileWorld
from warehouse.counts import CountsReader
from warehouse.publications import latest_publication, read_publications

pytestmark = pytest.mark.spark

MIDNIGHT = H + 14 * HOUR


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> ReconcileWorld:
    return ReconcileWorld(tmp_path, spark)


def minutes_to(at: datetime) -> float:
    return (at - H) / timedelta(minutes=1)


def test_a_range_over_midnight_is_published_date_by_date(world: ReconcileWorld) -> None:
    """Each date is one pass and one publication; a publication holds all dates there are."""
    world.archive([Click("a", minutes_to(MIDNIGHT) - 1), Click("b", minutes_to(MIDNIGHT)), Click("c", 1)])
    steps: list[str] = []
    world.reconcile(MIDNIGHT - HOUR, 2, after_step=steps.append)
    assert (steps.count("counts written"), steps.count("sealed"), steps.count("published")) == (2, 2, 2)
    first, second = read_publications(world.settings)
    assert (first.final_until, second.final_until) == (MIDNIGHT, MIDNIGHT + HOUR)
    days = world.rows("final_clicks_day", second.day_version)
    assert sorted((row["click_date"], row["clicks"]) for row in days) == [(H.date(), 1), (MIDNIGHT.date(), 1)]


def test_hours_of_a_date_that_follow_leave_the_others_as_they_are(world: ReconcileWorld) -> None:
    """Only the minutes of the new hour are rewritten; its date's hours and day hold both."""
    world.archive([Click("a", 1), Click("b", 61), Click("b", 62, country="FR")])
    world.reconcile()
    files = set(world.files("final_clicks_minute"))
    world.reconcile(H + HOUR)
    assert files < set(world.files("final_clicks_minute"))
    assert sorted(world.final_counts("final_clicks_hour").values()) == [1, 1]
    assert list(world.final_counts("final_clicks_day").values()) == [2]


def test_hours_sealed_out_of_order_become_final_when_the_hole_closes(world: ReconcileWorld) -> None:
    """What readers know as final stays final meanwhile."""
    assert world.reconcile(H + 2 * HOUR).final_until == H + 3 * HOUR
    assert world.reconcile(H).final_until == H + 3 * HOUR
    assert CountsReader(world.settings).finality().final_from == H + 2 * HOUR
    assert world.reconcile(H + HOUR).final_until == H + 3 * HOUR
    assert CountsReader(world.settings).finality().final_from == H


def test_a_sealed_attempt_that_was_changed_is_not_published(world: ReconcileWorld) -> None:
    """Laws 8 and 9: what readers would see is compared with the seal, and they go on seeing what was there before."""
    world.archive([Click("a", 1), Click("b", 2, country="FR")])

    def meddle(step: str) -> None:
        if step == "sealed":
            world.write_rows("reconciled_clicks_minute", world.rows("reconciled_clicks_minute")[:1])

    with pytest.raises(IntegrityError, match="hour 2026-05-04T10:00:00Z has 3 clicks, sealed are 2"):
        world.reconcile(after_step=meddle)
    assert latest_publication(world.settings) is None


def test_rows_that_nobody_sealed_are_not_published(world: ReconcileWorld) -> None:
    world.archive([Click("a", 1), Click("b", 61)])
    world.reconcile()
    (row,) = world.rows("final_clicks_minute")
    stray = row | {"minute": row["minute"] + 2 * HOUR, "click_hour": H.hour + 2}
    world.write_rows("final_clicks_minute", [stray])
    with pytest.raises(IntegrityError, match="hour 2026-05-04T12:00:00Z has 1 clicks, sealed are 0"):
        world.reconcile(H + HOUR)
    assert len(read_publications(world.settings)) == 1


def test_nothing_is_published_twice(world: ReconcileWorld) -> None:
    world.reconcile()
    again = publish(world.spark, world.settings, lambda: NOW, lambda _: None)
    assert again == latest_publication(world.settings)
    assert len(read_publications(world.settings)) == 1


def test_nothing_sealed_is_nothing_to_publish(world: ReconcileWorld) -> None:
    assert publish(world.spark, world.settings, lambda: NOW, lambda _: None) is None
