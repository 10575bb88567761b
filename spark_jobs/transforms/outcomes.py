"""What became of each raw click: billable, or excluded with a reason. The counting rule of the batch.

Belongs here: the order of the rule. Finding the copy that stands for an identity is ``dedup.py``; grouping what is
billable is ``count.py``; the plain-Python oracle is ``domain/counting.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.transforms.cut import Cut
from spark_jobs.transforms.dedup import COPY, POSITION, LookBack, find_winners, look_up_copies
from spark_jobs.transforms.parse import dimensions, identity, minted_at, minute

CLICK_KIND = "click"
UNARCHIVED = "TALLYSTICK-UNARCHIVED"
"""In the error with which Spark stops where a click has no row in click_identities."""
_KEPT = (
    "click_date",
    "click_hour",
    *POSITION,
    "logged_at",
    "impression_id",
    "advertiser_id",
    "campaign_id",
    "ad_id",
    "minute",
    "country",
    "device",
    "reason",
    "winner",
)


def judge_clicks(raw_clicks: DataFrame, identities: DataFrame, span: LookBack, cuts: Mapping[int, Cut]) -> DataFrame:
    """The outcome of each raw click: ``reason`` is null where it is billable, ``winner`` (COPY) where it has none.

    ``raw_clicks``: rows of the table, below their hours' cuts, of one date. ``identities``: rows of the table.
    Kinds other than clicks go first, then duplicates. One row out for each row in.
    """
    events = raw_clicks.withColumn("minute", minute())
    clicks = events.where(F.col("kind") == CLICK_KIND).withColumns(
        {"identity": identity(), "minted_at": minted_at(), "dimensions": dimensions()}
    )
    copies = look_up_copies(identities, clicks, span, cuts)
    judged = find_winners(clicks, copies, span.horizon).withColumn("reason", _reason())
    others = events.where(F.col("kind") != CLICK_KIND).withColumn("reason", F.col("kind"))
    return (
        judged.withColumn("winner", F.when(F.col("reason").isNotNull(), F.col("winner")))
        .select(*_KEPT)
        .unionByName(others.withColumn("winner", F.lit(None).cast(judged.schema["winner"].dataType)).select(*_KEPT))
    )


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
