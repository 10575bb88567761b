"""What became of each raw click: billable, or excluded with a reason. The counting rule of the batch.

Belongs here: the order of the rule, and which events are plainly billable without asking it. Finding the copy that
stands for an identity is ``dedup.py``; grouping what is billable is ``count.py``; the plain-Python oracle is
``domain/counting.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.transforms.cut import Cut
from spark_jobs.transforms.dedup import COPY, POSITION, find_winners, join_keys, key, look_up_copies
from spark_jobs.transforms.parse import dimensions, identity, minute

CLICK_KIND = "click"
UNARCHIVED = "TALLYSTICK-UNARCHIVED"
"""In the error with which Spark stops where a click has no row in click_identities."""
_COUNTED = ("advertiser_id", "campaign_id", "ad_id", "minute", "country", "device")
FRAUD_TYPES = "log int, partition int, offset long, identity binary, verdict_id string"
"""Verdicts of fraud in force: a row has a position or an identity, each of which stands once."""
_EVENT = ("click_date", "click_hour", *POSITION, "logged_at", "impression_id", *_COUNTED)


def events_of(raw_clicks: DataFrame) -> DataFrame:
    """Of rows of ``raw_clicks`` what counting needs, and what finds the copies of a click."""
    events = raw_clicks.withColumns({"minute": minute(), "identity": identity(), "dimensions": dimensions()})
    return events.select(*_EVENT, "kind", "identity", "dimensions", key().alias("key"))


def split_events(events: DataFrame, crowded: DataFrame, fraud: DataFrame | None) -> tuple[DataFrame, DataFrame]:
    """The events that are plainly billable, and those that ``judge_events`` has to look at.

    ``crowded``: LONG ``key`` of all clicks that are not alone. ``fraud``: as for ``judge_events``. A click that is
    alone and that no verdict names is billable: most are, and need neither a shuffle nor a sort.
    """
    if fraud is not None:
        crowded = crowded.unionByName(fraud.where("identity IS NOT NULL").select(key().alias("key"))).distinct()
    marked = join_keys(events, crowded, "is_crowded")
    is_plain = (F.col("kind") == CLICK_KIND) & ~F.col("is_crowded")
    if fraud is not None:
        named = fraud.where("identity IS NULL").select(*POSITION, F.lit(True).alias("is_named"))
        marked = marked.join(F.broadcast(named), list(POSITION), "left")
        is_plain &= F.col("is_named").isNull()
    return marked.where(is_plain).select(*_EVENT), marked.where(~is_plain).select(*events.columns)


def judge_events(
    events: DataFrame, copies: DataFrame, horizon: timedelta, cuts: Mapping[int, Cut], fraud: DataFrame | None
) -> DataFrame:
    """The outcome of each event: ``reason`` is null where it is billable, ``winner`` (COPY) where it has none,
    ``verdict_id`` where the reason is not fraud.

    ``events``: as ``events_of`` gives them, of one date, below their hours' cuts. ``copies``: all in reach of the
    clicks among them. ``fraud``: few rows of FRAUD_TYPES, None for none at all.
    Kinds other than clicks go first, then duplicates, then fraud: a verdict never makes another copy count. One row out
    for each row in.
    """
    is_click = F.col("kind") == CLICK_KIND
    clicks = events.where(is_click)
    judged = find_winners(clicks, look_up_copies(copies, clicks, cuts), horizon)
    judged = judged.withColumn("reason", _reason())
    judged = judged.withColumn("winner", F.when(F.col("reason").isNotNull(), F.col("winner")))
    judged = _exclude_fraud(judged, fraud)
    others = events.where(~is_click).withColumn("reason", F.col("kind"))
    others = others.withColumn("winner", F.lit(None).cast(judged.schema["winner"].dataType))
    others = others.withColumn("verdict_id", F.lit(None).cast("string"))
    kept = (*_EVENT, "reason", "winner", "verdict_id")
    return judged.select(*kept).unionByName(others.select(*kept))


def _exclude_fraud(judged: DataFrame, fraud: DataFrame | None) -> DataFrame:
    """Where both its place and the click itself were judged, the verdict on its place is named."""
    if fraud is None:
        return judged.withColumn("verdict_id", F.lit(None).cast("string"))
    of_place = fraud.where("identity IS NULL").select(*POSITION, F.col("verdict_id").alias("place_verdict_id"))
    of_click = fraud.where("identity IS NOT NULL").select("identity", F.col("verdict_id").alias("click_verdict_id"))
    met = judged.join(F.broadcast(of_place), list(POSITION), "left").join(F.broadcast(of_click), "identity", "left")
    verdict_id = F.when(F.col("reason").isNull(), F.coalesce("place_verdict_id", "click_verdict_id"))
    reason = F.when(F.col("verdict_id").isNotNull(), F.lit("fraud")).otherwise(F.col("reason"))
    return met.withColumn("verdict_id", verdict_id).withColumn("reason", reason)


def _reason() -> Column:
    """Of a click whose ``winner`` was found. A click is among its own copies, so the winner is never later than it."""
    own = F.struct(*COPY[:-1])
    winner = F.struct(*(F.col(f"winner.{name}").alias(name) for name in COPY[:-1]))
    place = F.concat_ws(":", *POSITION)
    return (
        F.when(F.col("winner").isNull() | (winner > own), F.raise_error(F.concat_ws(" ", F.lit(UNARCHIVED), place)))
        .when(winner == own, F.lit(None))
        .when(F.col("winner.dimensions") != F.col("dimensions"), "conflicting_duplicate")
        .otherwise("duplicate")
    )
