"""Up to when figures are final.

Belongs here: the rule over sealed hours. Which hours are published is ``warehouse/publications.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from domain.buckets import HOUR


def final_until(sealed_hours: Collection[datetime], known_until: datetime | None = None) -> datetime | None:
    """The end of the run of sealed hours without a hole that goes on from ``known_until``, which was published before.

    Where nothing was, it is the run of the earliest sealed hour; None if none is sealed. It never moves back: an hour
    that is sealed before the run is final once no hole is left between the two.
    """
    hours = frozenset(sealed_hours)
    if not hours:
        return None
    end = min(hours) if known_until is None else known_until
    while end in hours:
        end += HOUR
    return end


def final_from(sealed_hours: Collection[datetime], until: datetime) -> datetime:
    """The start of the run of sealed hours without a hole that ends at ``until``; itself if there is none."""
    hours = frozenset(sealed_hours)
    start = until
    while start - HOUR in hours:
        start -= HOUR
    return start
