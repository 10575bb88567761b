"""The laws, judged over what an attempt really wrote, before anything is sealed.

Belongs here: law 3 (raw = billable + excluded, per advertiser and hour), law 9 (day = sum of hours = sum of minutes,
for every key) and the figures that go into seals. What a violation says is ``domain/conservation.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from domain.buckets import HOUR
from domain.conservation import HourTally, RollupKey, RollupPair, conservation_violations, rollup_violations
from domain.counting import EXCLUSION_REASONS
from domain.errors import IntegrityError
from spark_jobs.reconcile_count import Digested
from spark_jobs.reconcile_written import UNCONSERVED_SQL, UNEQUAL_DAYS_SQL, UNEQUAL_HOURS_SQL, WrittenAttempt

NAMED_AT_MOST = 10
"""So many violations are named; the first one is enough to look for the cause."""
_KEY_LENGTH = len(RollupKey._fields)


@dataclass(frozen=True)
class HourFigures:
    """What was written of one hour, in clicks."""

    raw: int
    billable: int
    excluded: Mapping[str, int]
    digest: str


def check_laws(written: WrittenAttempt, day: date) -> None:
    """``IntegrityError`` names the first advertisers, keys and hours where a law is broken."""
    midnight = datetime.combine(day, time(tzinfo=UTC))
    tallies = [
        HourTally(advertiser_id, midnight + HOUR * hour, raw, billable, _by_reason(excluded))
        for hour, advertiser_id, raw, billable, *excluded in written.ask(UNCONSERVED_SQL, NAMED_AT_MOST)
    ]
    pairs = [
        RollupPair(RollupKey(*row[:_KEY_LENGTH]), "hour", midnight + HOUR * row[_KEY_LENGTH], *row[_KEY_LENGTH + 1 :])
        for row in written.ask(UNEQUAL_HOURS_SQL, NAMED_AT_MOST)
    ] + [
        RollupPair(RollupKey(*row[:_KEY_LENGTH]), "day", midnight, *row[_KEY_LENGTH:])
        for row in written.ask(UNEQUAL_DAYS_SQL, NAMED_AT_MOST)
    ]
    refuse_to_seal(day, [*conservation_violations(tallies), *rollup_violations(pairs)])


def figures(written: WrittenAttempt, day: date, digests: Mapping[int, Digested]) -> dict[int, HourFigures]:
    """By hour of the day what was written. ``IntegrityError`` if a digest covers another number of clicks."""
    totals = written.totals()
    nothing = (0, 0, *(0 for _ in EXCLUSION_REASONS))
    found: dict[int, HourFigures] = {}
    for hour, digested in digests.items():
        raw, billable, *excluded = totals.get(hour, nothing)
        found[hour] = HourFigures(raw, billable, _by_reason(excluded), digested.digest)
    refuse_to_seal(
        day,
        [
            f"hour {hour}: {found[hour].billable} billable clicks were written, the digest covers {digested.clicks}"
            for hour, digested in digests.items()
            if digested.clicks != found[hour].billable
        ],
    )
    return found


def refuse_to_seal(day: date, violations: list[str]) -> None:
    """``IntegrityError`` if there are violations."""
    if violations:
        raise IntegrityError(
            f"counting {day} broke a law: {'; '.join(violations)}",
            "every raw click billable or excluded, and sums that agree",
            "nothing was sealed; find the cause before you run it again",
        )


def _by_reason(excluded: list[int]) -> dict[str, int]:
    counts = zip(EXCLUSION_REASONS, excluded, strict=True)
    return {reason: count for reason, count in counts if count}
