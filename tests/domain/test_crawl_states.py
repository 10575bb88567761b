"""Ranks, priorities and reason codes."""

from __future__ import annotations

import pytest

from domain.crawl_states import MAX_PRIORITY, check_priority, check_reason_code, rank_at
from domain.errors import UsageError

MINUTE_MICROS = 60_000_000


def test_a_priority_is_worth_as_many_minutes() -> None:
    assert rank_at(10 * MINUTE_MICROS, 9) > rank_at(0, 0)
    assert rank_at(10 * MINUTE_MICROS, 11) < rank_at(0, 0)


@pytest.mark.parametrize("priority", [-1, MAX_PRIORITY + 1])
def test_a_priority_has_bounds(priority: int) -> None:
    check_priority(MAX_PRIORITY)
    with pytest.raises(UsageError, match=f"priority {priority}; expected 0 to 1000"):
        check_priority(priority)


@pytest.mark.parametrize("reason", ["", "Not found", "1st", "x" * 65])
def test_a_reason_is_a_code(reason: str) -> None:
    check_reason_code("not_found")
    with pytest.raises(UsageError, match="a code such as not_found"):
        check_reason_code(reason)
