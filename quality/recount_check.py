"""The check that recounts a sample of sealed hours each day: some of the day, some of all before it.

Belongs here: which hours, and the verdicts as a check. The recount is ``recount.py``; before a close every hour of the
period is recounted, see ``closing.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import date, datetime

from domain.buckets import format_utc
from domain.settings import Settings
from quality.checks import Check, Hours, Judgement
from quality.recount import verify
from warehouse.seals import read_seals

SAMPLED_OF_DAY = 2
SAMPLED_OF_PAST = 2
"""What was sealed long ago is looked at again now and then: that is where somebody would change it unseen."""


def sampled_hours(hours: Iterable[datetime], sealed: Iterable[datetime]) -> list[datetime]:
    """The hours to recount on these days, ascending: the same for the same days and seals.

    By the order of SHA-256 over the day and the hour, so that a day's sample of the past is another one each day.
    """
    by_day: dict[date, list[datetime]] = {}
    for hour in hours:
        by_day.setdefault(hour.date(), []).append(hour)
    known, sampled = sorted(sealed), set[datetime]()
    for day, of_day in by_day.items():
        sampled.update(_first(day, of_day, SAMPLED_OF_DAY))
        sampled.update(_first(day, [hour for hour in known if hour.date() < day], SAMPLED_OF_PAST))
    return sorted(sampled)


def judge_recount(settings: Settings, hours: Hours) -> Judgement:
    """Law 11 on a sample of hours, and the ledgers, adjustments and closes that these touch."""
    sample = sampled_hours(hours, {seal.hour for seal in read_seals(settings)})
    verdicts = list(verify(settings, sample))
    violations = [f"{verdict.subject}: {difference}" for verdict in verdicts for difference in verdict.differences]
    violations += [f"{verdict.subject}: it has no seal" for verdict in verdicts if not verdict.is_sealed]
    return Judgement(
        f"{len(violations)} differences in {len(verdicts)} verdicts on {len(sample)} hours",
        "seals and published figures that raw confirms, counted anew",
        violations,
        {"recounted_hours": [format_utc(hour) for hour in sample]},
    )


def _first(day: date, hours: Sequence[datetime], count: int) -> list[datetime]:
    return sorted(hours, key=lambda hour: hashlib.sha256(f"{day} {format_utc(hour)}".encode()).digest())[:count]


RECOUNT = Check("recount", "a sample of hours, counted anew from raw", "error", judge_recount)
