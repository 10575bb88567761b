"""The batch's deduplication against brute force, and what it may leave unread."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.transforms.dedup import (
    LookBack,
    copies_in_reach,
    copies_since,
    crowded_keys,
    find_winners,
    key,
    look_up_copies,
    old_keys,
)

pytestmark = pytest.mark.spark

AT = datetime(2026, 5, 4, 10, tzinfo=UTC)
HORIZON = timedelta(minutes=10)
DAYS = timedelta(days=7)
TYPES = "click_hour int, identity binary, logged_at timestamp, log int, partition int, offset long, dimensions long"
CUT = {10: {"1:0": 1_000_000, "1:1": 1_000_000}}


class Copy(NamedTuple):
    """A copy of a click, as ``look_up_copies`` gives it."""

    hour: int
    identity: bytes
    logged_at: datetime
    log: int
    partition: int
    offset: int
    dimensions: int

    @property
    def order(self) -> tuple[datetime, int, int, int]:
        return (self.logged_at, self.log, self.partition, self.offset)


def winners(spark: SparkSession, copies: list[Copy]) -> dict[Copy, tuple[datetime, int, int, int]]:
    frame = spark.createDataFrame(copies, TYPES)
    found = find_winners(frame, frame, HORIZON).select(*frame.columns, "winner.*").collect()
    assert len(found) == len(copies)
    return {
        Copy(row[0], bytes(row[1]), row[2].astimezone(UTC), *row[3:7]): (row[7].astimezone(UTC), *row[8:11])
        for row in found
    }


def brute_force(copies: list[Copy]) -> dict[Copy, tuple[datetime, int, int, int]]:
    by_identity = defaultdict(list)
    for copy in sorted(copies, key=lambda one: one.order):
        by_identity[copy.hour, copy.identity].append(copy)
    return {
        copy: next(other.order for other in by_identity[key] if other.logged_at >= copy.logged_at - HORIZON)
        for key in by_identity
        for copy in by_identity[key]
    }


def test_equals_brute_force_on_random_logs(spark: SparkSession) -> None:
    """L6, L7: gaps on, within and beyond the horizon, the same instant at several positions, two hours, two logs."""
    chance = random.Random(4)
    gaps = [timedelta(0), timedelta(microseconds=1), HORIZON / 3, HORIZON, HORIZON + timedelta(microseconds=1)]
    copies = []
    for number in range(600):
        logged_at = AT
        for _ in range(chance.randrange(1, 9)):
            place = (chance.randrange(1, 3), chance.randrange(2), len(copies))
            copies.append(Copy(chance.randrange(9, 11), number.to_bytes(16, "big"), logged_at, *place, 0))
            logged_at += chance.choice(gaps)
    assert winners(spark, copies) == brute_force(copies)


def test_a_click_sent_fifty_thousand_times(spark: SparkSession) -> None:
    """Linear work: a window that slides over the copies would compare more than a thousand million pairs."""
    copies = [Copy(10, bytes(16), AT + timedelta(seconds=i), 1, 0, i, 0) for i in range(50_000)]
    frame = spark.createDataFrame(copies, TYPES)
    found = find_winners(frame, frame, HORIZON)
    distance = F.col("offset") - F.col("winner.offset")
    (row,) = found.agg(F.count(F.lit(1)), F.max(distance), F.sum(distance)).collect()
    assert tuple(row) == (50_000, 600, sum(min(i, 600) for i in range(50_000)))


def identities(spark: SparkSession, *rows: tuple[bytes, timedelta, timedelta | None]) -> DataFrame:
    """Copies of (identity, logged, minted), both as time before AT; offsets in the order given."""
    types = f"{TYPES.removeprefix('click_hour int, ')}, minted_at timestamp, log_date date"
    return spark.createDataFrame(
        [
            (identity, AT - logged, 1, 0, offset, 0, None if minted is None else AT - minted, (AT - logged).date())
            for offset, (identity, logged, minted) in enumerate(rows)
        ],
        types,
    )


def reached(copies: DataFrame, old_clicks: int) -> list[int]:
    """Offsets of the copies in reach of the clicks logged at AT."""
    span = LookBack(AT, AT, DAYS)
    near, far = copies_since(copies, span)
    old = old_keys(near, span)
    assert old.count() == old_clicks
    return sorted(row["offset"] for row in copies_in_reach(near, far, old).collect())


@pytest.mark.parametrize("is_broadcast", [True, False])
def test_only_old_clicks_are_looked_up_further_back(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, is_broadcast: bool
) -> None:
    if not is_broadcast:
        monkeypatch.setattr("spark_jobs.transforms.dedup.BROADCAST_KEYS", 0)
    hour, minute, none = timedelta(hours=1), timedelta(minutes=1), timedelta(0)
    copies = identities(
        spark,
        *[(b"recent", none, 30 * minute), (b"recent", 20 * minute, 30 * minute)],
        *[(b"old", none, 50 * hour), (b"old", 40 * hour, 50 * hour), (b"old", DAYS + minute, DAYS + hour)],
        *[(b"opaque", none, None), (b"opaque", DAYS, None)],
        *[(b"too late", none - minute, None), (b"nobody asks", 3 * hour, None)],
    )
    assert reached(copies, old_clicks=2) == [0, 1, 2, 3, 5, 6]


def test_an_id_that_claims_the_future_hides_nothing(spark: SparkSession) -> None:
    """Whoever can choose ids would mint them two days ahead, click, and click again when the time has come."""
    two_days, minutes = timedelta(days=2), timedelta(minutes=10)
    copies = identities(spark, (b"forged", two_days, minutes), (b"forged", timedelta(0), minutes))
    assert reached(copies, old_clicks=0) == [0, 1]


def test_who_is_plainly_alone(spark: SparkSession) -> None:
    """A click whose only copy stands elsewhere has no row of its own, and is not taken for unique."""
    copies = identities(
        spark, *[(name, timedelta(0), None) for name in (b"alone", b"twice", b"twice", b"elsewhere", b"nobody asks")]
    )
    clicks = copies.where("offset < 3").unionByName(
        identities(spark, *[(name, timedelta(0), None) for name in (b"elsewhere", b"gone")])
    )
    found = crowded_keys(clicks.withColumn("key", key()), copies.withColumn("key", key()))
    crowded = clicks.withColumn("key", key()).join(found, "key", "left_semi").select("identity").distinct().collect()
    assert {bytes(row["identity"]) for row in crowded} == {b"twice", b"elsewhere", b"gone"}


def test_a_click_twice_in_raw_is_not_alone(spark: SparkSession) -> None:
    copies = identities(spark, (b"a", timedelta(0), None)).withColumn("key", key())
    assert crowded_keys(copies.unionByName(copies), copies).count() == 1


def test_copies_beyond_the_cut_do_not_exist(spark: SparkSession) -> None:
    """Law 6: a seal is a function of raw up to the cut, in the look-back too."""
    copies = identities(spark, (b"a", timedelta(0), None), (b"a", timedelta(minutes=1), None))
    clicks = copies.where("offset = 0").withColumn("click_hour", F.lit(10))
    found = look_up_copies(copies, clicks, {10: {"1:0": 1}}).collect()
    assert [row["offset"] for row in found] == [0]
