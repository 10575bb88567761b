"""Up to when figures are final.

Belongs here: the rule over sealed hours. Which hours are published is ``warehouse/publications.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from domain.buckets import HOUR


def final_until(sealed_hours: Collection[datetime]) -> datetime | None:
    """The end of the run of hours without a hole that starts at the earliest sealed one; None if none is sealed."""
    hours = frozenset(sealed_hours)
    if not hours:
        return None
    end = min(hours)
    while end in hours:
        end += HOUR
    return end
