"""Counts sealed hours again, each at the cut and the verdict set of its seal, and compares row by row.

Belongs here: the comparison, and the row in ``verifications`` where nothing differs. Without a case a difference is
refused: a sealed figure changes by a revision or not at all. Under a case ``reconcile.py`` asks which hours differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from domain.buckets import format_utc
from domain.counting import RULE_VERSION
from domain.errors import IntegrityError
from domain.seals import Seal
from domain.settings import Settings
from spark_jobs.reconcile_attempt import counts_of, exclusions_of, written_counts, written_exclusions
from spark_jobs.reconcile_count import DayCount, counted_hours
from spark_jobs.transforms.count import LIVE_KEY
from spark_jobs.transforms.dedup import POSITION
from warehouse.verifications import Verification, append_verifications

NAMED_AT_MOST = 5
"""So many differences are named; the first one is enough to look for the cause."""
_EXCLUSION = (
    *POSITION,
    "advertiser_id",
    "ad_id",
    "reason",
    "winner_log",
    "winner_partition",
    "winner_offset",
    "verdict_id",
)


def verify_hours(spark: SparkSession, settings: Settings, seals: Sequence[Seal], *, actor: str, at: datetime) -> None:
    """Counts sealed hours of one date again, and records that each was confirmed; one commit.

    ``IntegrityError`` names what differs; then nothing is recorded.
    """
    for seal in seals:
        if seal.rule_version != RULE_VERSION:
            raise _refusal(seal, f"rule version {seal.rule_version}", f"{RULE_VERSION}, the one that this code knows")
    for horizon_days, verdict_set in sorted({_pinned(seal) for seal in seals}):
        by_hour = {seal.hour.hour: seal for seal in seals if _pinned(seal) == (horizon_days, verdict_set)}
        cuts = {hour: seal.cut for hour, seal in by_hour.items()}
        day = seals[0].hour.date()
        with counted_hours(spark, settings, day, cuts, timedelta(days=horizon_days), verdict_set=verdict_set) as count:
            _compare(count, by_hour)
    confirmed = [confirmation(seal, seal.verdict_set, actor, at) for seal in seals]
    append_verifications(settings, confirmed)


def confirmation(
    seal: Seal, verdict_set: int, actor: str, at: datetime, *, reason: str = "", case_id: str = ""
) -> Verification:
    """What is recorded of a seal that came out the same."""
    return Verification(
        hour=seal.hour,
        seal_number=seal.seal_number,
        digest=seal.digest,
        actor=actor,
        verified_at=at,
        verdict_set=verdict_set,
        reason=reason,
        case_id=case_id,
    )


def differing_hours(count: DayCount, seals: Mapping[int, Seal]) -> set[int]:
    """Which of the sealed hours, by hour of the day, come out differently in a count at a later cut.

    ``IntegrityError`` if raw holds another number of clicks below the cut of a seal than it did then: that is no late
    arrival but a loss, and no revision may hide it.
    """
    if not seals:
        return set()
    for hour, found in count.raw_below({hour: seal.cut for hour, seal in seals.items()}).items():
        if found != seals[hour].raw_clicks:
            raise _refusal(seals[hour], f"{found} raw clicks", f"{seals[hour].raw_clicks}, which were sealed")
    again = count.of_hours(seals)
    digests = again.digests()
    changed = {
        hour
        for hour, seal in seals.items()
        if (digests[hour].digest, digests[hour].clicks) != (seal.digest, seal.billable_clicks)
    }
    for differences in _row_differences(again, seals):
        changed |= {row["click_hour"] for row in differences.select("click_hour").distinct().collect()}
    return changed


def _pinned(seal: Seal) -> tuple[int, int]:
    """What hours that are counted together have to share."""
    return seal.horizon_days, seal.verdict_set


def _compare(count: DayCount, seals: Mapping[int, Seal]) -> None:
    counts, exclusions = _row_differences(count, seals)
    for hour, described in (*_described(counts), *_described(exclusions)):
        raise _refusal(seals[hour], f"a row that was written otherwise or not at all: {described}", "the sealed rows")
    for hour, found in count.digests().items():
        seal = seals[hour]
        if (found.digest, found.clicks) != (seal.digest, seal.billable_clicks):
            raise _refusal(
                seal,
                f"{found.clicks} billable clicks, digest {found.digest}",
                f"{seal.billable_clicks}, digest {seal.digest}",
            )


def _row_differences(count: DayCount, seals: Mapping[int, Seal]) -> tuple[DataFrame, DataFrame]:
    """Counts, and exclusions, that the count has and the sealed attempts have not, or the reverse."""
    attempts = {hour: seal.attempt for hour, seal in seals.items()}
    counts = _differences(counts_of(count), written_counts(count, attempts), LIVE_KEY, ("clicks",))
    exclusions = _differences(exclusions_of(count), written_exclusions(count, attempts), _EXCLUSION, ())
    return counts, exclusions


def _differences(fresh: DataFrame, stored: DataFrame, key: Sequence[str], figures: Sequence[str]) -> DataFrame:
    """Rows that one side has and the other has not; a row that stands twice is another row than one that stands
    once.
    """
    columns = ("click_hour", *key, *figures)
    sides = fresh.select(*columns, F.lit(1).alias("side")).unionByName(stored.select(*columns, F.lit(-1).alias("side")))
    balance = sides.groupBy(*columns).agg(F.sum("side").alias("side")).where("side != 0")
    found = F.when(F.col("side") > 0, F.lit("counted now")).otherwise(F.lit("sealed"))
    return balance.select("click_hour", F.to_json(F.struct(found.alias("found"), *columns)).alias("row"))


def _described(differences: DataFrame) -> list[tuple[int, str]]:
    """The first hour that differs, with its first rows."""
    rows = differences.orderBy("click_hour", "row").limit(NAMED_AT_MOST).collect()
    return [(rows[0]["click_hour"], ", ".join(row["row"] for row in rows))] if rows else []


def _refusal(seal: Seal, found: str, expected: str) -> IntegrityError:
    return IntegrityError(
        f"hour {format_utc(seal.hour)}, counted again at the cut of seal {seal.seal_number}, gives {found}",
        expected,
        "nothing was changed; a sealed hour changes by a revision only, so find the cause first",
    )
