"""Reads the calendar of known events that setting ``quality_calendar`` names.

Belongs here: the file. What an event may say: ``domain/quality_calendar.py``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from domain.drift_rules import DRIFT_RULES
from domain.quality_calendar import CalendarError, Event, events_of
from domain.settings import Settings


def read_calendar(settings: Settings) -> list[Event]:
    """Its events, none without the setting; ``CalendarError`` if it cannot be read or an entry is none."""
    if not settings.quality_calendar:
        return []
    path = settings.home / Path(settings.quality_calendar)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CalendarError(
            f"calendar {path}: {error}",
            "a TOML file of [[event]] entries",
            "correct it, or empty setting quality_calendar",
        ) from error
    return events_of(document, [rule.name for rule in DRIFT_RULES])
