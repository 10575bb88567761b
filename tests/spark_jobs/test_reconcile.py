"""Reconcile on real Spark and Delta: what is sealed equals the plain rule; the laws hold, or nothing is sealed."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from domain.buckets import HOUR
from domain.conservation import HourTally
from domain.counting import EXCLUSION_REASONS, CountKey
from domain.errors import IntegrityError, WriterBusyError
from domain.outcomes import outcome_violations
from domain.seals import current_seals
from domain.verdicts import ClickTarget, FraudVerdict, Target
from quality.recount import verify
from tests.support.archive_world import NOW, Click, H
from tests.support.random_log import random_clicks
from tests.support.reconcile_world import ReconcileWorld
from warehouse.locks import writer_lock
from warehouse.outcomes import read_outcomes
from warehouse.publications import latest_publication
from warehouse.verifications import read_verifications

pytestmark = pytest.mark.spark

COPIES = [
    Click("a", 1),
    Click("b", 2, partition=1),
    Click("a", 3),
    Click("a", 4, country="FR"),
    Click("c", 5, kind="head"),
    Click("c", 6),
    Click("d", 7, kind="prefetch"),
    Click("e", 8, advertiser=20, ad=2, campaign=200),
    Click("a", 9, ad=2, advertiser=20, campaign=200),
    Click("f", 61),
    Click("b", 62, partition=1),
]
"""Two hours: duplicates plain and conflicting, a HEAD before its click, one impression with two ads, a repeat later."""


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> ReconcileWorld:
    return ReconcileWorld(tmp_path, spark)


def key(minute: int = 0, **changes: object) -> CountKey:
    return CountKey(10, 100, 1, H + timedelta(minutes=minute), "DE", "mobile")._replace(**changes)


def drift_of(world: ReconcileWorld, advertiser_id: int = 10) -> dict[str, int]:
    """The drift row of the advertiser, without its key; zeros left out."""
    (row,) = [row for row in world.rows("drift") if row["advertiser_id"] == advertiser_id]
    return {name.removesuffix("_clicks"): value for name, value in row.items() if name.endswith("_clicks") and value}


def assert_nothing_sealed(world: ReconcileWorld) -> None:
    assert world.seals() == []
    assert latest_publication(world.settings) is None
    assert world.rows("final_clicks_day") == []


def test_seals_what_the_rule_counts_and_publishes_it(world: ReconcileWorld) -> None:
    """Laws 3, 5, 8 and 9, F2, F3, L6: minute, hour and day come from one publication and hold sealed rows only."""
    world.archive(COPIES)
    world.quarantine(1)
    receipt = world.reconcile(count=2)
    world.assert_sealed_equals_oracle()
    seals = current_seals(world.seals())
    tallies = read_outcomes(world.settings, {hour: seal.attempt for hour, seal in seals.items()})
    assert outcome_violations(tallies, seals.values()) == []
    assert tallies == [
        HourTally(10, H, 7, 3, {"head": 1, "prefetch": 1, "duplicate": 1, "conflicting_duplicate": 1}),
        HourTally(20, H, 2, 2, {}),
        HourTally(10, H + HOUR, 2, 1, {"duplicate": 1}),
    ]
    first, second = receipt.hours
    assert (first.raw_clicks, first.billable_clicks, first.live_clicks) == (9, 5, 0)
    assert first.excluded_clicks == {"head": 1, "prefetch": 1, "duplicate": 1, "conflicting_duplicate": 1}
    assert (second.raw_clicks, second.billable_clicks, second.excluded_clicks) == (2, 1, {"duplicate": 1})
    publication = latest_publication(world.settings)
    assert publication is not None
    assert (publication.seal_number, publication.final_until) == (2, H + 2 * HOUR)
    assert (receipt.publication_number, receipt.final_until) == (1, H + 2 * HOUR)
    minutes = world.rows("final_clicks_minute", publication.minute_version)
    hours = world.rows("final_clicks_hour", publication.hour_version)
    days = world.rows("final_clicks_day", publication.day_version)
    assert world.final_counts() == {tuple(one): clicks for one, clicks in world.sealed_counts().items()}
    by_hour = Counter({(row["ad_id"], row["country"], row["hour"]): row["clicks"] for row in hours})
    assert by_hour == {(1, "DE", H): 3, (2, "DE", H): 2, (1, "DE", H + HOUR): 1}
    assert {(row["ad_id"], row["clicks"]) for row in days} == {(1, 4), (2, 2)}
    assert sum(row["clicks"] for row in minutes) == sum(row["clicks"] for row in days) == 6
    assert [verdict for verdict in verify(world.settings, [H, H + HOUR]) if not verdict.is_agreeing] == []


def test_a_sealed_hour_again_is_a_verification(world: ReconcileWorld) -> None:
    """Law 6, F8: identical rows, no second seal, no second publication; late arrivals are named, not counted."""
    world.archive(COPIES)
    world.reconcile()
    tables = ("seals", "publications", "reconciled_clicks_minute", "click_exclusions", "drift", "final_clicks_minute")
    before = {table: world.rows(table) for table in tables}
    world.archive([Click("late", 10, logged=100), Click("a", 11, logged=101)])
    (hour,) = world.reconcile(now=NOW + HOUR).hours
    assert (hour.action, hour.seal_number, hour.late_arrival_count) == ("verify", 1, 2)
    assert {table: world.rows(table) for table in tables} == before
    (confirmed,) = read_verifications(world.settings)
    assert (confirmed.hour, confirmed.digest, confirmed.actor) == (H, hour.digest, "test")
    assert confirmed.verified_at == NOW + HOUR


def test_a_sealed_hour_that_comes_out_differently_is_refused(world: ReconcileWorld) -> None:
    """F9, law 10: a sealed figure never changes by counting again; what differs is named, nothing is recorded."""
    world.archive([Click(f"{minute}", minute) for minute in (1, 2, 61, 62, 121)])
    world.reconcile(count=3)
    first, second, third = world.seals()
    world.delete_rows("raw_clicks", "offset = 1")
    world.delete_rows("click_identities", "offset = 2")
    extra = {**key(123)._asdict(), "attempt": third.attempt, "clicks": 1}
    world.write_rows("reconciled_clicks_minute", [extra | {"click_date": H.date(), "click_hour": H.hour + 2}])
    damages = {
        first.hour: 'at the cut of seal 1, gives a row that was written otherwise or not at all: {"found":"sealed"',
        second.hour: "click_identities lacks log position 1:0:2",
        third.hour: "at the cut of seal 3, gives a row that was written otherwise or not at all",
    }
    for hour, refusal in damages.items():
        with pytest.raises(IntegrityError, match=refusal):
            world.reconcile(hour)
    assert len(world.seals()) == 3
    assert read_verifications(world.settings) == []


def test_an_hour_without_clicks_is_sealed_and_a_stale_live_row_is_drift(world: ReconcileWorld) -> None:
    """F4: the stream says 3, the log says nothing."""
    world.write_live({key(5): 3})
    (hour,) = world.reconcile().hours
    assert (hour.action, hour.raw_clicks, hour.digest, hour.unexplained_clicks) == ("seal", 0, "0" * 64, 3)
    assert drift_of(world) == {"live": 3, "difference": 3, "extra": 3}
    assert world.final_counts() == {}
    assert latest_publication(world.settings) is not None


def test_the_causes_of_drift(spark: SparkSession, tmp_path: Path) -> None:
    """L4, L11: late ones that live refused, repeats that its horizon did not see, and what nobody can explain."""
    world = ReconcileWorld(tmp_path, spark, live_horizon_hours=2, drift_floor_clicks=0)
    world.archive([Click("old", -121), Click("near", -119), Click("later", -300), Click("later", -130)])
    world.archive([Click("far", -125)])
    world.archive([Click("old", 0), Click("near", 0), Click("later", 10), Click("new", 11), Click("lost", 12)])
    world.archive([Click("other", 13, advertiser=20)])
    late = world.archive([Click("late", 1, logged=30), Click("late", 2, logged=31), Click("late too", 3, logged=32)])
    late += world.archive([Click("far", 4, logged=33)])
    world.write_late([late[0], late[2], late[3]])
    world.write_live({key(0): 1, key(10): 1, key(11): 1, key(13, advertiser_id=20): 2})
    (hour,) = world.reconcile().hours
    world.assert_sealed_equals_oracle()
    # final: new, lost, late, late too; live: old and later (both beyond its 2 h), new. The late repeat is in neither.
    expected = {"raw": 9, "live": 3, "final": 4, "difference": -1, "late": 2, "dedup_horizon": 2, "missing": 1}
    assert drift_of(world) == expected
    assert drift_of(world, 20) == {"raw": 1, "live": 2, "final": 1, "difference": 1, "extra": 1}
    assert (hour.live_clicks, hour.unexplained_clicks, hour.alert_count) == (5, 2, 2)


def fraud(number: int, target: Target, judgement: Any = "fraud", minute: int = 0) -> FraudVerdict:
    return FraudVerdict(f"v{number}", target, judgement, "a bot", H + timedelta(minutes=minute))


def test_fraud_is_excluded_with_the_verdicts_that_the_seal_pins(spark: SparkSession, tmp_path: Path) -> None:
    """Laws 3 and 6: a set that comes after the seal changes nothing that is sealed; the recount agrees.

    Of advertiser 10 live counted a click that was fraud; another one it had refused as late.
    """
    world = ReconcileWorld(tmp_path, spark, drift_floor_clicks=0)
    places = world.archive([*COPIES, Click("g", 10, logged=30)])
    world.judge_fraud(fraud(1, ClickTarget("a", 1)), fraud(2, places[2]), fraud(3, ClickTarget("f", 1)))
    world.judge_fraud(fraud(4, places[11]), fraud(5, ClickTarget("f", 1), "withdrawn", 1))
    world.write_late([places[11]])
    world.write_live({key(1): 1, key(2): 1, key(6): 1, key(61): 1})
    first, second = world.reconcile(count=2).hours
    world.assert_sealed_equals_oracle()
    assert first.excluded_clicks == {
        **{"head": 1, "prefetch": 1, "duplicate": 1, "conflicting_duplicate": 1},
        "fraud": 2,
    }
    assert second.excluded_clicks == {"duplicate": 1}
    assert [seal.verdict_set for seal in world.seals()] == [2, 2]
    (of_first,) = [row for row in world.rows("drift") if (row["advertiser_id"], row["hour"]) == (10, H)]
    assert (of_first["fraud_clicks"], of_first["late_clicks"], of_first["difference_clicks"]) == (1, 0, 1)
    assert (of_first["missing_clicks"], of_first["extra_clicks"]) == (0, 0)
    world.judge_fraud(fraud(6, ClickTarget("b", 1)))
    assert [hour.action for hour in world.reconcile(count=2).hours] == ["verify", "verify"]
    assert [verdict for verdict in verify(world.settings, [H, H + HOUR]) if not verdict.is_agreeing] == []
    world.archive([Click("b", 121), Click("c2", 122)])
    world.judge_fraud(fraud(7, ClickTarget("c2", 1)))
    (third,) = world.reconcile(H + 2 * HOUR).hours
    assert (third.excluded_clicks, world.seals()[2].verdict_set) == ({"duplicate": 1, "fraud": 1}, 4)
    hours = world.reconcile(count=3).hours
    assert [hour.action for hour in hours] == ["verify"] * 3


def test_a_random_log_is_counted_as_the_plain_rule_counts_it(spark: SparkSession, tmp_path: Path) -> None:
    """Law 5: row for row, exclusions with reason, winner and verdict, digests; a whole day of hours in one pass.

    Horizon of a day over four days of log: copies on, just within and just beyond the horizon's edge, the same instant
    in two partitions, mint times old, recent, opaque and claimed for the future, late and out of order.
    """
    world = ReconcileWorld(tmp_path, spark, final_horizon_days=1, live_horizon_hours=2)
    world.archive(random_clicks(seed=20260504, identity_count=700))
    judged = world.events[::7]
    places = [fraud(number, one.position) for number, one in enumerate(judged)]
    clicks = [fraud(1_000 + n, ClickTarget(e.event.impression_id, e.event.ad_id)) for n, e in enumerate(judged[::4])]
    world.judge_fraud(*places, *clicks)
    world.judge_fraud(*(fraud(2_000 + n, e.position, "withdrawn", 1) for n, e in enumerate(judged[::5])))
    midnight = H.replace(hour=0)
    receipt = world.reconcile(midnight, 24, now=NOW + 9 * 24 * HOUR)
    assert sum(hour.raw_clicks for hour in receipt.hours) > 600
    reasons = Counter(reason for reason, _ in world.sealed_exclusions().values())
    assert min(reasons[reason] for reason in EXCLUSION_REASONS) > 20
    world.assert_sealed_equals_oracle()
    assert [verdict for verdict in verify(world.settings, [midnight + 7 * HOUR]) if not verdict.is_agreeing] == []


def test_hours_in_any_order_give_the_same_seals(spark: SparkSession, tmp_path: Path) -> None:
    """Law 6: alone or together, whatever was sealed before, on any number of partitions."""
    clicks = random_clicks(seed=3, identity_count=60)
    together, apart = (ReconcileWorld(tmp_path / name, spark, final_horizon_days=1) for name in ("a", "b"))
    for world in (together, apart):
        world.archive(clicks)
    together.reconcile(count=2)
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        apart.reconcile(H + HOUR)
        apart.reconcile(H)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    assert apart.sealed_counts() == together.sealed_counts()
    assert apart.sealed_exclusions() == together.sealed_exclusions()
    assert {seal.hour: seal.digest for seal in apart.seals()} == {seal.hour: seal.digest for seal in together.seals()}
    assert apart.final_counts("final_clicks_day") == together.final_counts("final_clicks_day")


def test_hours_that_wait_do_not_hold_up_the_others(world: ReconcileWorld) -> None:
    """O3: the receipt names each; only an hour that may be sealed is counted."""
    world.archive(COPIES)
    receipt = world.reconcile(count=3, now=H + 2 * HOUR + timedelta(minutes=30))
    assert [hour.action for hour in receipt.hours] == ["seal", "seal", "blocked"]
    assert receipt.hours[2].reasons == ("ends at 2026-05-04T13:00:00Z, grace until 2026-05-04T13:05:00Z",)
    assert not receipt.is_all_blocked
    assert [seal.hour for seal in world.seals()] == [H, H + HOUR]


def test_clicks_that_vanish_or_appear_are_never_sealed(world: ReconcileWorld) -> None:
    """Laws 3 and 9, F10: what was really written is judged, whoever wrote it."""
    world.archive(COPIES)
    row = {**key(1)._asdict(), "clicks": 1, "click_date": H.date(), "click_hour": H.hour}
    seen: set[object] = set()

    def meddle(rows: list[dict[str, object]]) -> None:
        (attempt,) = {one["attempt"] for one in world.rows("reconciled_clicks_minute")} - seen
        seen.add(attempt)
        world.write_rows("reconciled_clicks_minute", [one | {"attempt": attempt} for one in rows])

    with pytest.raises(IntegrityError, match="advertiser 10, hour 2026-05-04T10:00:00Z: 7 raw clicks, but 4 billable"):
        world.reconcile(after_step=lambda step: meddle([row]) if step == "exclusions written" else None)
    assert_nothing_sealed(world)
    swap = [row | {"clicks": -1}, row | {"country": "FR"}]
    with pytest.raises(IntegrityError, match="country FR, device mobile: hour 2026-05-04T10:00:00Z has 0 clicks, its"):
        world.reconcile(after_step=lambda step: meddle(swap) if step == "exclusions written" else None)
    assert_nothing_sealed(world)
    assert world.reconcile().hours[0].action == "seal"
    world.assert_sealed_equals_oracle()


def test_one_process_reconciles_at_a_time(world: ReconcileWorld) -> None:
    """F8, D8: the second one is told who holds the lock, and does nothing."""
    with writer_lock(world.settings, "reconcile"), pytest.raises(WriterBusyError):
        world.reconcile()
    assert_nothing_sealed(world)


def test_under_a_case_what_changed_is_revised_and_what_did_not_is_verified(world: ReconcileWorld) -> None:
    """Laws 6, 8, 9 and 10, F9, F11: late clicks and a newer verdict make one revision, and the day is published anew.

    The attempt before it stays. Asked again it is a verification; what raw has lost since is neither.
    """
    world.archive(COPIES)
    world.reconcile(count=2)
    kept = {table: world.rows(table) for table in ("seals", "reconciled_clicks_minute", "click_exclusions", "drift")}
    world.archive(
        [Click("late", 10, logged=100), Click("a", 11, logged=101), Click("f", 63, logged=102), Click("g", 121)]
    )
    world.judge_fraud(fraud(1, ClickTarget("c", 1)))
    first, second, third = world.reconcile(count=3, case="C-7").hours
    assert [hour.action for hour in (first, second, third)] == ["revise", "revise", "seal"]
    assert (first.late_arrival_count, first.raw_clicks, first.billable_clicks) == (2, 11, 5)
    assert first.excluded_clicks == {"head": 1, "prefetch": 1, "duplicate": 2, "conflicting_duplicate": 1, "fraud": 1}
    assert (second.digest, second.excluded_clicks) == (world.seals()[1].digest, {"duplicate": 2})
    seals = world.seals()[2:]
    assert [(one.hour - H, one.revision, one.verdict_set) for one in seals] == [
        (0 * HOUR, 1, 1),
        (HOUR, 1, 1),
        (2 * HOUR, 0, 1),
    ]
    assert [(one.reason, one.case_id) for one in seals] == [("found later", "C-7")] * 2 + [("", "")]
    world.assert_sealed_equals_oracle()
    for table, rows in kept.items():
        now_held = world.rows(table)
        assert all(row in now_held for row in rows), table
    assert {row["attempt"] for row in world.rows("drift")} >= {first.attempt, second.attempt}
    assert_published(world, 2)
    hours = [H, H + HOUR, H + 2 * HOUR]
    assert [verdict for verdict in verify(world.settings, hours) if not verdict.is_agreeing] == []

    world.archive([Click("h", 122, logged=200)])
    assert [hour.action for hour in world.reconcile(count=3, case="C-8").hours] == ["verify", "verify", "revise"]
    found = [(one.hour, one.seal_number, one.case_id, one.verdict_set) for one in read_verifications(world.settings)]
    assert sorted(found) == [(H, 3, "C-8", 1), (H + HOUR, 4, "C-8", 1)]
    assert_published(world, 3)
    world.delete_rows("raw_clicks", "offset = 0 AND partition = 0")
    with pytest.raises(IntegrityError, match="at the cut of seal 3, gives 10 raw clicks; expected 11"):
        world.reconcile(case="C-9")
    assert len(world.seals()) == 6


def assert_published(world: ReconcileWorld, number: int) -> None:
    """What readers see is what is sealed now, in minutes, hours and the day alike."""
    publication = latest_publication(world.settings)
    assert publication is not None
    assert (publication.publication_number, publication.seal_number) == (number, len(world.seals()))
    assert world.final_counts() == {tuple(one): clicks for one, clicks in world.sealed_counts().items()}
    versions = (publication.minute_version, publication.hour_version, publication.day_version)
    tables = ("final_clicks_minute", "final_clicks_hour", "final_clicks_day")
    sums = [sum(row["clicks"] for row in world.rows(*one)) for one in zip(tables, versions, strict=True)]
    assert sums == [sum(world.sealed_counts().values())] * 3
