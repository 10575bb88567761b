"""The calendar: what an event explains, exactly, and what is refused."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.errors import UsageError
from domain.quality_calendar import CalendarError, events_of, explained_hours

RULES = ("volume", "level")
START = datetime(2026, 12, 24, tzinfo=UTC)
ENTRY: dict[str, Any] = {
    "name": "Christmas",
    "from": "2026-12-24T00:00Z",
    "to": "2026-12-25T00:00Z",
    "explains": ["volume"],
    "groups": ["17"],
    "reason": "shops are closed",
}


def test_an_event_explains_what_it_says_and_nothing_else() -> None:
    (event,) = events_of({"event": [ENTRY]}, RULES)
    last = START + timedelta(hours=23)
    assert event.explains(START, "volume", "17")
    assert event.explains(last, "volume", "17")
    assert not event.explains(START - timedelta(hours=1), "volume", "17")
    assert not event.explains(last + timedelta(hours=1), "volume", "17")
    assert not event.explains(START, "level", "17")
    assert not event.explains(START, "volume", "18")
    assert explained_hours([event]) == {START + timedelta(hours=hour) for hour in range(24)}


def test_an_event_may_explain_everything() -> None:
    document = tomllib.loads(
        '[[event]]\nname = "n"\nreason = "r"\nexplains = "all"\n'
        "from = 2026-12-24T00:00:00Z\nto = 2026-12-24T02:00:00Z\n"
    )
    (event,) = events_of(document, RULES)
    assert event.explains(START, "volume", "")
    assert event.explains(START, "level", "17")
    assert events_of({}, RULES) == []


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"explains": ["volume", "nonsense"]}, "event 1 explains nonsense"),
        ({"explains": []}, "event 1 has explains"),
        ({"groups": "17"}, "event 1 has groups '17'"),
        ({"from": "2026-12-24"}, "event 1 has from 2026-12-24"),
        ({"from": "2026-12-24T00:30Z"}, "event 1 has from"),
        ({"to": 7}, "event 1 has to 7"),
        ({"to": "2026-12-24T00:00Z"}, "event 1 lasts 0:00:00"),
        ({"to": "2027-12-24T00:00Z"}, "event 1 lasts 365 days"),
        ({"more": 1}, "event 1 has explains, from"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_what_is_refused(changed: dict[str, Any], found: str) -> None:
    with pytest.raises(CalendarError, match=found):
        events_of({"event": [ENTRY | changed]}, RULES)


def test_other_documents_are_refused() -> None:
    with pytest.raises(CalendarError, match="the calendar has holiday"):
        events_of({"holiday": []}, RULES)
    with pytest.raises(CalendarError, match="no list"):
        events_of({"event": {}}, RULES)
    with pytest.raises(CalendarError, match="event 1 has 5"):
        events_of({"event": [5]}, RULES)
    with pytest.raises(UsageError, match="reason of event 1"):
        events_of({"event": [ENTRY | {"reason": ""}]}, RULES)
