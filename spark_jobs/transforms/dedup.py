"""Finds for each click the copy that stands for its identity: the first one logged within the horizon.

Belongs here: the batch's engine of deduplication, which earlier clicks it has to look at, and which clicks are plainly
alone, so that only the others are sorted. The stream's engine is
the state store; ``domain/counting.py`` is the plain-Python oracle that tests hold both equal to. What a winner means
for a click is ``outcomes.py``.

All functions work on several hours of a day at once, each counted as if it were alone: a click has its ``click_hour``,
and so has every copy that is looked up for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from domain.buckets import MICROSECOND
from spark_jobs.transforms.cut import Cut, is_below_cut

MINT_MARGIN = timedelta(minutes=5)
"""Clocks of whoever mints impressions and of the broker may disagree by this much."""
RECENTLY_MINTED = timedelta(hours=1)
"""Most clicks come this soon after their impression. Older and opaque ones are looked up further back, one by one."""
BROADCAST_KEYS = 1_000_000
"""Up to so many keys go to every task whole (some 60 MB); more of them are met by a shuffle."""
POSITION = ("log", "partition", "offset")
COPY = ("logged_at", *POSITION, "dimensions")
"""What is known of a copy: first the order in which copies are judged, then a hash of what they should agree in."""


@dataclass(frozen=True)
class LookBack:
    """How far back copies matter to some clicks: those logged from ``first_logged_at`` to ``last_logged_at``."""

    first_logged_at: datetime
    last_logged_at: datetime
    horizon: timedelta

    @property
    def start(self) -> datetime:
        """No copy before this makes any of the clicks a duplicate."""
        return self.first_logged_at - self.horizon

    @property
    def near_start(self) -> datetime:
        """Copies since then are looked at for all clicks, those before it for old clicks only."""
        return max(self.start, self.first_logged_at - RECENTLY_MINTED - MINT_MARGIN)


def key() -> Column:
    """LONG that stands for an identity where a collision costs time only: half the width, and quicker to group by."""
    return F.xxhash64("identity")


def is_old() -> Column:
    """Whether copies of a click (logged_at, minted_at) may lie further back than recently minted ones can."""
    return F.coalesce(F.col("minted_at") < F.col("logged_at") - F.lit(RECENTLY_MINTED), F.lit(True))


def copies_since(identities: DataFrame, span: LookBack) -> tuple[DataFrame, DataFrame]:
    """Rows of ``click_identities`` within the horizon before the clicks of the span, with their ``key``: those that
    are near, and those further back.
    """
    copies = identities.where(_is_logged_between(span.start, span.last_logged_at)).withColumn("key", key())
    is_near = F.col("logged_at") >= F.lit(span.near_start)
    return copies.where(is_near), copies.where(~is_near)


def old_keys(near: DataFrame, span: LookBack) -> DataFrame:
    """LONG ``key`` of the old clicks of the span, which are known by their own rows among the ``near`` copies."""
    return near.where((F.col("logged_at") >= F.lit(span.first_logged_at)) & is_old()).select("key").distinct()


def copies_in_reach(near: DataFrame, far: DataFrame, old: DataFrame) -> DataFrame:
    """The copies that can matter to the clicks: all that are near, and of the ``far`` ones those of ``old`` keys.

    All copies of a click are logged after its impression was minted, so those further back matter to old clicks only.
    Where an id claims a mint time later than its own logging, the claim is worth nothing, and the copy is looked at
    wherever it stands.
    """
    is_minted_later = F.col("minted_at") > F.col("logged_at") + F.lit(MINT_MARGIN)
    wanted = join_keys(far, old, "is_wanted").where(is_minted_later | F.col("is_wanted"))
    return near.unionByName(wanted.drop("is_wanted"))


def crowded_keys(clicks: DataFrame, copies: DataFrame) -> DataFrame:
    """Keys of identities whose clicks (key, POSITION) are not plainly alone among the copies in reach: LONG ``key``.

    A click is alone where the one copy with its key is itself; then it is the first, whatever the cut or the horizon.
    One without a row of its own is not alone either, so that nobody takes it for unique.
    """
    place = F.xxhash64(*POSITION).alias("place")
    is_click, is_copy = F.lit(1).alias("clicks"), F.lit(0).alias("copies")
    both = clicks.select("key", place, is_click, is_copy).unionByName(
        copies.select("key", place, F.lit(0).alias("clicks"), F.lit(1).alias("copies"))
    )
    met = both.groupBy("key").agg(F.sum("clicks").alias("clicks"), F.sum("copies").alias("copies"), F.bit_xor("place"))
    is_alone = (F.col("clicks") == 1) & (F.col("copies") == 1) & (F.col("bit_xor(place)") == 0)
    return met.where((F.col("clicks") > 0) & ~is_alone).select("key")


def join_keys(rows: DataFrame, keys: DataFrame, flag: str) -> DataFrame:
    """``rows`` (key, ...) with ``flag``: whether the key is among ``keys`` (LONG ``key``, each once)."""
    flagged = keys.withColumn(flag, F.lit(True))
    if keys.count() <= BROADCAST_KEYS:
        flagged = F.broadcast(flagged)
    return rows.join(flagged, "key", "left").withColumn(flag, F.coalesce(flag, F.lit(False)))


def look_up_copies(copies: DataFrame, clicks: DataFrame, cuts: Mapping[int, Cut]) -> DataFrame:
    """The copies of the clicks below their hour's cut: click_hour, identity and COPY, a row per copy and hour.

    ``copies``: in reach, of the clicks' keys. ``clicks``: click_hour, identity.
    """
    asked_for = clicks.select("click_hour", "identity").distinct()
    return copies.join(asked_for, "identity").where(is_below_cut(cuts)).select("click_hour", "identity", *COPY)


def find_winners(clicks: DataFrame, copies: DataFrame, horizon: timedelta) -> DataFrame:
    """``clicks`` with ``winner``, a struct of COPY: the first copy logged within the horizon before the click, or
    itself.

    ``clicks``: click_hour, identity, logged_at, ...; ``copies``: as ``look_up_copies`` gives them, the clicks among
    them.

    Each click asks at the far edge of its horizon, and the first copy at or after that edge is the answer. Questions
    and copies stand in one list, newest first, so the answer is the last copy met before the question: one sort,
    however many copies an identity has. A sliding window would be quadratic in them, and copies are what attackers
    send.
    """
    asked = clicks.withColumn("at_us", F.unix_micros("logged_at") - F.lit(horizon // MICROSECOND))
    met = copies.select(
        "click_hour", "identity", F.unix_micros("logged_at").alias("at_us"), F.struct(*COPY).alias("copy")
    )
    both = asked.withColumn("is_question", F.lit(True)).unionByName(
        met.withColumn("is_question", F.lit(False)), allowMissingColumns=True
    )
    newest_first = [F.desc("at_us"), F.asc("is_question"), *(F.desc(f"copy.{name}") for name in POSITION)]
    met_so_far = (
        Window.partitionBy("click_hour", "identity")
        .orderBy(*newest_first)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    answered = both.withColumn("winner", F.last("copy", ignorenulls=True).over(met_so_far))
    return answered.where("is_question").drop("is_question", "at_us", "copy")


def _is_logged_between(first: datetime, last: datetime) -> Column:
    """With the dates as literals, so that other partitions are not even listed."""
    is_day = F.col("log_date").between(F.lit(first.date()), F.lit(last.date()))
    return is_day & F.col("logged_at").between(F.lit(first), F.lit(last))
