"""What quality says against sealing an hour, in words. Loads no Spark.

Belongs here: the question of the plan, about the newest attempt at an hour, and how a hold is told. Which verdicts hold
is ``domain/quality_verdicts.py``; judging an attempt is ``reconcile_quality.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from domain.buckets import format_utc
from domain.quality_verdicts import Hold, blocking
from domain.settings import Settings
from warehouse.layout import TableMissingError
from warehouse.measured_hours import newest_attempts
from warehouse.quality_verdicts import read_overrides, read_verdicts

Reasons = dict[datetime, tuple[str, ...]]
"""By hour; hours that nothing holds are left out."""


def held_hours(settings: Settings, hours: Iterable[datetime]) -> Reasons:
    """What was said against the newest attempt at each of these hours, which have no seal. Reads only.

    A check that broke may not break again: an hour that nothing but errors hold is not in it, and is counted and judged
    once more. Nor is one that nobody has judged.
    """
    try:
        newest = newest_attempts(settings, list(hours))
        verdicts = read_verdicts(settings, newest)
        overrides = read_overrides(settings)
    except TableMissingError:  # a home of before these tables: nothing was judged
        return {}
    holds = blocking([one for one in verdicts if one.attempt == newest[one.hour]], overrides)
    bad = {hold.verdict.hour for hold in holds if hold.verdict.outcome == "fail"}
    return reasons_of(hold for hold in holds if hold.verdict.hour in bad)


def reasons_of(holds: Iterable[Hold]) -> Reasons:
    """A line for each hold, and the command that says more."""
    found: Reasons = {}
    for hold in holds:
        hour = hold.verdict.hour
        line = f"quality holds it back: {hold.why}; see `tallystick quality show {format_utc(hour)}`"
        found[hour] = (*found.get(hour, ()), line)
    return found
