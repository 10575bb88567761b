"""Law 9 on what readers are about to see, and each hour against its seal: the last look before a publication.

Belongs here: which figures must agree for a date, and the refusal. They are read back by another engine than the one
that wrote them, see ``quality/published.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time

import pyarrow.compute as pc

from domain.buckets import DAY, format_utc, hours_between
from domain.errors import IntegrityError
from domain.publications import Publication
from domain.seals import Seal
from domain.settings import Settings
from quality.published import PublishedFigures


def check_date(settings: Settings, publication: Publication, seals: Sequence[Seal]) -> None:
    """``publication`` as it would be appended; ``seals``: all that hold of one date.

    ``IntegrityError`` if any key's day is not the sum of its hours, an hour not that of its minutes, or an hour's
    clicks are not those of its seal, or of none.
    """
    figures = PublishedFigures(settings, publication)
    midnight = datetime.combine(seals[0].hour.date(), time(tzinfo=UTC))
    sealed = {seal.hour: seal.billable_clicks for seal in seals}
    violations = figures.violations("day", midnight)
    for hour in hours_between(midnight, midnight + DAY):
        violations += figures.violations("hour", hour)
        clicks = pc.sum(figures.minutes_of(hour).read_all()["clicks"]).as_py() or 0
        if clicks != sealed.get(hour, 0):
            violations.append(f"hour {format_utc(hour)} has {clicks} clicks, sealed are {sealed.get(hour, 0)}")
    if violations:
        raise IntegrityError(
            f"the final tables do not add up: {'; '.join(violations)}",
            "day = sum of hours = sum of minutes = what was sealed",
            "nothing was published, readers see the figures before; find the cause and run this again",
        )
