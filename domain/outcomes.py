"""What became of the raw clicks of sealed hours: whether it adds up, row by row and to the seals, and sums by day.

Belongs here: pure rules over tallies that were read. The law itself is ``domain/conservation.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from domain.buckets import day_of, format_utc
from domain.conservation import HourTally, conservation_violations
from domain.seals import Seal

EVERYBODY = 0
"""No advertiser's id: stands for all of them together."""


def outcome_violations(tallies: Sequence[HourTally], seals: Iterable[Seal]) -> list[str]:
    """Each advertiser's hour that does not add up, and each hour that is not what its seal says; in words.

    ``tallies``: those of all advertisers in the hours of ``seals``.
    """
    by_hour: dict[datetime, list[HourTally]] = defaultdict(list)
    for tally in tallies:
        by_hour[tally.hour].append(tally)
    violations = conservation_violations(tallies)
    for seal in seals:
        excluded = {reason: clicks for reason, clicks in seal.excluded_clicks.items() if clicks}
        sealed = HourTally(EVERYBODY, seal.hour, seal.raw_clicks, seal.billable_clicks, excluded)
        found = _sum(EVERYBODY, seal.hour, by_hour[seal.hour])
        if found != sealed:
            violations.append(
                f"hour {format_utc(seal.hour)}: seal {seal.number} says {_words(sealed)}, its rows say {_words(found)}"
            )
    return violations


def tallies_by_day(tallies: Iterable[HourTally]) -> list[HourTally]:
    """One tally for each advertiser and UTC day, its ``hour`` the start of the day; by day and advertiser."""
    groups: dict[tuple[datetime, int], list[HourTally]] = defaultdict(list)
    for tally in tallies:
        groups[day_of(tally.hour), tally.advertiser_id].append(tally)
    return [_sum(advertiser_id, day, found) for (day, advertiser_id), found in sorted(groups.items())]


def _sum(advertiser_id: int, start: datetime, tallies: Sequence[HourTally]) -> HourTally:
    excluded = Counter[str]()
    for tally in tallies:
        excluded.update(tally.excluded_clicks)
    raw, billable = sum(t.raw_clicks for t in tallies), sum(t.billable_clicks for t in tallies)
    return HourTally(advertiser_id, start, raw, billable, dict(excluded))


def _words(tally: HourTally) -> str:
    excluded = "".join(f" + {clicks} {reason}" for reason, clicks in sorted(tally.excluded_clicks.items()))
    return f"{tally.raw_clicks} raw = {tally.billable_clicks} billable{excluded}"
