"""What quality says against sealing an hour, in words. Loads no Spark.

Belongs here: the question of the plan, about the newest attempt at an hour, and how a hold is told. Which verdicts hold
is ``domain/quality_verdicts.py``; judging an attempt is ``reconcile_quality.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from domain.buckets import format_utc
from domain.quality_verdicts import Hold, blocking
from domain.settings import Settings
from warehouse.quality_verdicts import read_overrides, read_verdicts

Reasons = dict[datetime, tuple[str, ...]]
"""By hour; hours that nothing holds are left out."""


def held_hours(settings: Settings, hours: Iterable[datetime], sealed: Mapping[datetime, str]) -> Reasons:
    """What holds the newest attempt at each hour that was judged. Reads only.

    ``sealed``: by hour the attempt that its seal names, which nothing can hold back any more.
    """
    verdicts = read_verdicts(settings, hours)
    newest = {one.hour: one.attempt for one in verdicts}  # the oldest come first
    asked = [one for one in verdicts if one.attempt == newest[one.hour] != sealed.get(one.hour)]
    return reasons_of(blocking(asked, read_overrides(settings))) if asked else {}


def reasons_of(holds: Iterable[Hold]) -> Reasons:
    """A line for each hold, and the command that says more."""
    found: Reasons = {}
    for hold in holds:
        hour = hold.verdict.hour
        line = f"quality holds it back: {hold.why}; see `tallystick quality show {format_utc(hour)}`"
        found[hour] = (*found.get(hour, ()), line)
    return found
