"""Outcomes of a range of hours: gross, net and invalid by reason, checked, and what was quarantined beside them.

Belongs here: reading table ``click_outcomes_hour`` by the seals that hold, and holding it to the law and to the seals.
Counting outcomes anew from raw is ``outcome_tallies.py``; requests that were refused at the edge,
``clicklog/edge_counts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as ds

from domain.buckets import MICROSECOND, hours_by_day
from domain.conservation import HourTally
from domain.outcomes import outcome_violations
from domain.settings import Settings
from warehouse.finality import published_seals
from warehouse.layout import dataset_of, open_table
from warehouse.outcomes import read_outcomes
from warehouse.schema import INSTANT


@dataclass(frozen=True)
class Outcomes:
    """What became of the raw clicks of the final hours of a range.

    ``violations``: where a row does not add up, or an hour is not what its seal says; of all advertisers. Hours that
    are not final are in ``not_final`` and in no figure.
    """

    tallies: tuple[HourTally, ...]
    hour_count: int
    not_final: tuple[datetime, ...]
    violations: tuple[str, ...]


def read_hour_outcomes(settings: Settings, hours: Sequence[datetime], advertiser_id: int | None = None) -> Outcomes:
    """The outcomes of these hours (starts, UTC), of one advertiser or of all. Reads only.

    Everybody's rows are held to the law, a day of them at a time; those that were asked for are kept.
    """
    published = published_seals(settings)
    seals = {hour: published[hour] for hour in hours if hour in published}
    wanted: list[HourTally] = []
    violations: list[str] = []
    for of_day in hours_by_day(list(seals)).values():
        tallies = read_outcomes(settings, {hour: seals[hour].attempt for hour in of_day})
        wanted += [tally for tally in tallies if advertiser_id in (None, tally.advertiser_id)]
        violations += outcome_violations(tallies, [seals[hour] for hour in of_day])
    not_final = tuple(hour for hour in hours if hour not in published)
    return Outcomes(tuple(wanted), len(seals), not_final, tuple(violations))


def read_quarantined(settings: Settings, start: datetime, end: datetime) -> Mapping[str, int]:
    """By reason the records that were logged in ``[start, end)`` and could not become events. Reads only."""
    log_date, logged_at = ds.field("log_date"), ds.field("logged_at")
    is_near = (log_date >= start.date()) & (log_date <= (end - MICROSECOND).date())
    is_ours = is_near & (logged_at >= pa.scalar(start, INSTANT)) & (logged_at < pa.scalar(end, INSTANT))
    reasons = dataset_of(open_table(settings, "quarantined_clicks")).to_table(columns=["reason"], filter=is_ours)
    counted = reasons.group_by("reason").aggregate([([], "count_all")]).sort_by("reason").to_pylist()
    return {row["reason"]: row["count_all"] for row in counted}
