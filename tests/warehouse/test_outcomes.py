"""Table click_outcomes_hour: a column for each reason, and what is written is read, by attempt."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain.conservation import HourTally
from domain.counting import EXCLUSION_REASONS
from domain.settings import Settings
from warehouse.outcomes import append_outcomes, read_outcomes
from warehouse.tables.click_outcomes_hour import CLICK_OUTCOMES_HOUR

FIRST = datetime(2026, 5, 4, 23, tzinfo=UTC)
SECOND = FIRST + timedelta(hours=1)
ALL = {reason: number for number, reason in enumerate(EXCLUSION_REASONS, start=1)}


def test_each_reason_has_its_column() -> None:
    """A reason more is a column more: nothing excluded may be left out of the equation."""
    counts = [name for name in CLICK_OUTCOMES_HOUR.column_names if name.endswith("_clicks")]
    assert counts == ["raw_clicks", "billable_clicks", *(f"{reason}_clicks" for reason in EXCLUSION_REASONS)]


def test_what_is_written_is_read_by_attempt(settings: Settings) -> None:
    """An attempt that nobody asks for, as one that was not sealed, is in no answer."""
    mine, theirs = HourTally(10, FIRST, 20, 5, ALL), HourTally(20, FIRST, 1, 1, {})
    later = HourTally(10, SECOND, 2, 1, {"fraud": 1})
    append_outcomes(settings, [[("a", theirs), ("a", mine)], [("b", later)]])
    append_outcomes(settings, [[("died", HourTally(10, FIRST, 99, 99, {}))]])
    append_outcomes(settings, [])
    assert read_outcomes(settings, {FIRST: "a", SECOND: "b"}) == [mine, theirs, later]
    assert read_outcomes(settings, {SECOND: "b"}) == [later]
    assert read_outcomes(settings, {}) == []
