"""The calendar of known events: holidays and launches that explain what would alarm without them.

Belongs here: what an event may say, and what it explains. The file is read by ``quality/calendar_file.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.buckets import HOUR, hours_between, parse_utc
from domain.errors import TallystickError
from domain.texts import check_line

MOST_EVENT_HOURS = 31 * 24
"""A longer event would leave nothing to compare with: a new level is accepted instead."""
EVERYTHING = "all"


class CalendarError(TallystickError):
    """The calendar of known events has an entry that says less, or more, than an event may."""

    exit_code = 2


@dataclass(frozen=True)
class Event:
    """From ``start`` to ``end``, not included, what these rules say about these groups is explained.

    Empty ``rules`` are all rules, empty ``groups`` all groups (advertisers, countries) with the whole.
    """

    name: str
    start: datetime
    end: datetime
    rules: frozenset[str]
    groups: frozenset[str]
    reason: str

    def explains(self, hour: datetime, rule: str, group: str) -> bool:
        """Whether it silences this rule about this group in this hour."""
        is_then = self.start <= hour < self.end
        return is_then and (not self.rules or rule in self.rules) and (not self.groups or group in self.groups)


def events_of(document: Mapping[str, Any], known_rules: Iterable[str]) -> list[Event]:
    """The events of a calendar; ``CalendarError`` for the first entry that is none."""
    unknown = sorted(document.keys() - {"event"})
    entries = document.get("event", [])
    if unknown or not isinstance(entries, list):
        raise _refusal(f"the calendar has {', '.join(unknown) or 'an event that is no list'}", "[[event]] entries only")
    return [_event(number, entry, frozenset(known_rules)) for number, entry in enumerate(entries, start=1)]


def explained_hours(events: Iterable[Event]) -> set[datetime]:
    """Hours that something explains: they say nothing about what is usual."""
    return {hour for event in events for hour in hours_between(event.start, event.end)}


def _event(number: int, entry: Any, known_rules: frozenset[str]) -> Event:
    fields = {"name", "from", "to", "explains", "groups", "reason"}
    if not isinstance(entry, dict) or entry.keys() - {"groups"} != fields - {"groups"}:
        found = ", ".join(sorted(entry)) if isinstance(entry, dict) else repr(entry)
        raise _refusal(f"event {number} has {found or 'nothing'}", "name, from, to, explains, reason and maybe groups")
    for name in ("name", "reason"):
        check_line(f"{name} of event {number}", str(entry[name]))
    start, end = (_hour(number, name, entry[name]) for name in ("from", "to"))
    if not HOUR <= end - start <= MOST_EVENT_HOURS * HOUR:
        raise _refusal(
            f"event {number} lasts {end - start}",
            f"1 to {MOST_EVENT_HOURS} hours; accept a new level that lasts longer",
        )
    rules, groups = (
        _texts(number, "explains", entry["explains"]),
        _texts(number, "groups", entry.get("groups", EVERYTHING)),
    )
    if rules - known_rules:
        raise _refusal(
            f"event {number} explains {', '.join(sorted(rules - known_rules))}",
            f'"{EVERYTHING}" or rules of drift: {", ".join(sorted(known_rules))}',
        )
    return Event(str(entry["name"]), start, end, rules, groups, str(entry["reason"]))


def _hour(number: int, name: str, value: Any) -> datetime:
    try:
        at = parse_utc(value.isoformat() if isinstance(value, datetime) else value)
    except (TypeError, ValueError):
        at = None
    if at is None or at.minute or at.second or at.microsecond:
        raise _refusal(f"event {number} has {name} {value}", "a whole UTC hour such as 2026-12-24T00:00Z")
    return at


def _texts(number: int, name: str, value: Any) -> frozenset[str]:
    """Empty for all."""
    if value == EVERYTHING:
        return frozenset()
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        raise _refusal(f"event {number} has {name} {value!r}", f'"{EVERYTHING}" or a list of texts')
    return frozenset(value)


def _refusal(found: str, expected: str) -> CalendarError:
    return CalendarError(found, expected, "correct the file that setting quality_calendar names")
