"""The two laws of exact sums, each seen to pass and to fail."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.conservation import (
    HourTally,
    RollupKey,
    RollupPair,
    conservation_violations,
    rollup_violations,
)

HOUR = datetime(2026, 11, 30, 9, tzinfo=UTC)
DAY = datetime(2026, 11, 30, tzinfo=UTC)
KEY = RollupKey(10, 100, 1, "US", "mobile")


def test_what_adds_up_is_no_violation() -> None:
    """Law 3: 12 = 9 + 1 + 2; an hour without clicks adds up too."""
    tallies = [HourTally(10, HOUR, 12, 9, {"head": 1, "duplicate": 2}), HourTally(20, HOUR, 0, 0, {})]
    assert conservation_violations(tallies) == []


def test_a_click_that_vanished_is_named_with_its_sum() -> None:
    """Law 3: 9 + 1 + 2 = 12, one of 13 is gone."""
    tallies = [HourTally(10, HOUR, 13, 9, {"head": 1, "duplicate": 2}), HourTally(20, HOUR, 1, 1, {})]
    assert conservation_violations(tallies) == [
        "advertiser 10, hour 2026-11-30T09:00:00Z: 13 raw clicks, but 9 billable + 2 duplicate + 1 head = 12"
    ]


def test_advertisers_do_not_make_up_for_each_other() -> None:
    """Law 3 holds per advertiser: one too many here and one too few there are two violations."""
    assert len(conservation_violations([HourTally(10, HOUR, 1, 2, {}), HourTally(20, HOUR, 2, 1, {})])) == 2


def test_equal_sums_are_no_violation() -> None:
    """Law 9."""
    assert rollup_violations([RollupPair(KEY, "hour", HOUR, 5, 5), RollupPair(KEY, "day", DAY, 9, 9)]) == []


def test_unequal_sums_are_named_by_key_and_bucket() -> None:
    """Law 9, F2: an hour counted twice, and a day that lacks a row."""
    assert rollup_violations([RollupPair(KEY, "hour", HOUR, 10, 5), RollupPair(KEY, "day", DAY, 0, 9)]) == [
        "advertiser 10, campaign 100, ad 1, country US, device mobile: "
        "hour 2026-11-30T09:00:00Z has 10 clicks, its minutes add up to 5",
        "advertiser 10, campaign 100, ad 1, country US, device mobile: "
        "day 2026-11-30T00:00:00Z has 0 clicks, its hours add up to 9",
    ]
