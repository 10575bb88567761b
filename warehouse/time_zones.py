"""Time zones by their names in the IANA database, as this machine or package ``tzdata`` has it.

Belongs here: from a name to a zone. What a zone makes of time is ``domain/local_buckets.py``.
"""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from domain.errors import UsageError

UTC_NAME = "UTC"
MAX_NAME_CHARACTERS = 100


def read_zone(name: str, text: str) -> ZoneInfo | None:
    """The zone of this name; None for UTC, by which everything is kept. ``UsageError`` if there is none."""
    if text == UTC_NAME:
        return None
    if text not in _zone_names():
        raise UsageError(
            f"{name} {text[:MAX_NAME_CHARACTERS]!r}",
            "a zone of the IANA database such as Europe/Budapest, or UTC",
            "correct it; an abbreviation such as CEST or an offset is none",
        )
    return ZoneInfo(text)


@cache
def _zone_names() -> frozenset[str]:
    """No text of a caller is made a path: it is looked up among these."""
    return frozenset(available_timezones())
