"""Errors of the live count summed up: exact, per advertiser, whatever the sign."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.drift_history import ErrorSummary, HourError, summarised

FIRST = datetime(2026, 5, 4, 10, tzinfo=UTC)


def _error(number: int, live: int, final: int, advertiser_id: int = 10, **changes: Any) -> HourError:
    causes = dict.fromkeys(("late", "dedup_horizon", "fraud", "missing", "extra"), 0) | changes
    said = {f"{name}_clicks": count for name, count in causes.items() if name != "is_alert"}
    hour = FIRST + timedelta(hours=number)
    is_alert = changes.get("is_alert", False)
    return HourError(hour, advertiser_id, live, final, live - final, **said, is_alert=is_alert)


def test_hours_are_summed_up_by_advertiser() -> None:
    """Errors 0, 7, 3 and 4: the middle ones are 3 and 4. Of 4 hours 3 are within the bar. Hour 4 has no clicks."""
    errors = [
        _error(0, 100, 100),
        _error(1, 93, 100, late=5, missing=2, is_alert=True),
        _error(2, 103, 100, fraud=3),
        _error(3, 104, 100, extra=4),
        _error(4, 0, 0),
        _error(0, 5, 0, advertiser_id=20),
    ]
    assert summarised(errors) == [
        ErrorSummary(10, 4, 750, 400, 400, 7, FIRST + timedelta(hours=1), 4, 6),
        ErrorSummary(20, 1, 1_000, 5, 0, 5, FIRST, 5, 0),
    ]


def test_all_within_is_only_all() -> None:
    """Q5: 1,999 of 2,000 hours are 999 per mille, not 1,000."""
    errors = [_error(number, 1, 1, is_alert=number == 7) for number in range(2_000)]
    assert [summary.within_bar_per_mille for summary in summarised(errors)] == [999]


def test_no_hours_no_summary() -> None:
    assert summarised([]) == []
