"""Outcomes add up: each row by itself, each hour to its seal, each day to its hours."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.buckets import HOUR
from domain.conservation import HourTally
from domain.outcomes import outcome_violations, tallies_by_day
from domain.seals import Seal, chain_drafts
from tests.support.ledgers import FIRST_HOUR, WRITTEN_AT, fixed_salt, seal_draft

(SEAL,) = chain_drafts([], [seal_draft()], WRITTEN_AT, fixed_salt)
"""10 raw = 7 billable + 2 duplicates + 1 HEAD."""
FIRST, SECOND = HourTally(10, FIRST_HOUR, 6, 4, {"duplicate": 2}), HourTally(20, FIRST_HOUR, 4, 3, {"head": 1})


def test_rows_that_add_up_to_the_seal() -> None:
    """A reason that the seal counts zero times is none."""
    assert outcome_violations([FIRST, SECOND], [SEAL]) == []
    empty: list[Seal] = chain_drafts(
        [], [seal_draft(raw_clicks=0, billable_clicks=0, excluded_clicks={"fraud": 0})], WRITTEN_AT, fixed_salt
    )
    assert outcome_violations([], empty) == []


SEALED = "hour 2026-05-04T10:00:00Z: seal 1 says 10 raw = 7 billable + 2 duplicate + 1 head, its rows say "
WRONG: dict[str, tuple[list[HourTally], str]] = {
    "an advertiser is missing": ([FIRST], "6 raw = 4 billable + 2 duplicate"),
    "an advertiser stands twice": ([FIRST, SECOND, SECOND], "14 raw = 10 billable + 2 duplicate + 2 head"),
    "another reason": (
        [FIRST, replace(SECOND, excluded_clicks={"fraud": 1})],
        "10 raw = 7 billable + 2 duplicate + 1 fraud",
    ),
    "all rows are gone": ([], "0 raw = 0 billable"),
}


@pytest.mark.parametrize(("tallies", "told"), WRONG.values(), ids=WRONG)
def test_an_hour_that_is_not_what_was_sealed_is_told(tallies: list[HourTally], told: str) -> None:
    assert outcome_violations(tallies, [SEAL]) == [SEALED + told]


def test_a_row_that_does_not_add_up_is_told() -> None:
    """Law 3, also where the hour as a whole is what was sealed: a click too few here, one too many there."""
    rows = [replace(FIRST, billable_clicks=3), replace(SECOND, billable_clicks=4)]
    assert outcome_violations(rows, [SEAL]) == [
        "advertiser 10, hour 2026-05-04T10:00:00Z: 6 raw clicks, but 3 billable + 2 duplicate = 5",
        "advertiser 20, hour 2026-05-04T10:00:00Z: 4 raw clicks, but 4 billable + 1 head = 5",
    ]


def test_days_are_sums_of_hours() -> None:
    """By UTC day and advertiser; the last hour of a day is its own."""
    midnight = FIRST_HOUR.replace(hour=0)
    last, next_day = replace(FIRST, hour=midnight + 23 * HOUR), replace(FIRST, hour=midnight + timedelta(days=1))
    assert tallies_by_day([next_day, FIRST, SECOND, replace(last, excluded_clicks={"fraud": 2})]) == [
        HourTally(10, midnight, 12, 8, {"duplicate": 2, "fraud": 2}),
        HourTally(20, midnight, 4, 3, {"head": 1}),
        HourTally(10, midnight + timedelta(days=1), 6, 4, {"duplicate": 2}),
    ]
