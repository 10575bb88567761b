"""Hours as commands take them: what is understood, and what a wrong one is told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cli.hours import hours_asked_for
from domain.errors import UsageError


def hour(of_day: int) -> datetime:
    return datetime(2026, 1, 31, of_day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("from_", "to", "hours"),
    [
        pytest.param("2026-01-31T13:00Z", None, [hour(13)], id="one hour"),
        pytest.param("2026-01-31T13:00Z", "2026-01-31T15:00Z", [hour(13), hour(14)], id="end left out"),
        pytest.param("2026-01-31T14:00+01:00", None, [hour(13)], id="another zone"),
    ],
)
def test_hours(from_: str, to: str | None, hours: list[datetime]) -> None:
    assert hours_asked_for(from_, to) == hours


@pytest.mark.parametrize(
    ("from_", "to", "found"),
    [
        pytest.param("yesterday", None, "FROM is 'yesterday'", id="no instant"),
        pytest.param("2026-01-31T13:00", None, "FROM is", id="no zone"),
        pytest.param("2026-01-31T13:30Z", None, "FROM is", id="no whole hour"),
        pytest.param("2026-01-31T13:00Z", "2026-01-31T13:00Z", "not after FROM", id="empty"),
        pytest.param("2026-01-31T13:00Z", "2026-01-31T12:00Z", "not after FROM", id="reversed"),
    ],
)
def test_refusals_name_what_was_found(from_: str, to: str | None, found: str) -> None:
    with pytest.raises(UsageError, match=found):
        hours_asked_for(from_, to)
