"""Adjustments that were changed, removed, or rest on nothing, are named by case and line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.adjustments import Adjustment, chain_adjustments
from domain.buckets import HOUR
from domain.periods import PeriodClose, close_of
from quality.adjusted import adjustment_differences
from tests.domain.test_adjustments import CASE, LINE, adjustments_of_november
from tests.support.periods import CLOSED_AT, DECEMBER, NOVEMBER, OCTOBER, month_seals

SEALS = month_seals(NOVEMBER)
CLOSES = [close_of(NOVEMBER, SEALS, "ada", CLOSED_AT)]
LINES = chain_adjustments([], adjustments_of_november(CASE, LINE, LINE, LINE))
CHANGED = "adjustment 1: its columns do not have its hash, they were changed"


def _rechained(**changes: object) -> list[Adjustment]:
    """One line, whose chain holds all the same: somebody who knows how it is made."""
    return chain_adjustments([], [replace(LINES[0], **changes)])  # type: ignore[arg-type] # fields by name


def test_what_was_left_alone_agrees() -> None:
    """Law 10."""
    assert adjustment_differences(LINES, SEALS, CLOSES) == []
    assert adjustment_differences([], [], []) == []


FOUND: dict[str, tuple[list[Adjustment], list[str]]] = {
    "a changed difference": ([replace(LINES[0], delta_clicks=-30), *LINES[1:]], [CHANGED]),
    "a line out of the middle": (
        [LINES[0], LINES[2]],
        [
            "adjustment 3: stands where number 2 should",
            "adjustment 3: does not follow the hash of the row before it",
            "case C-1 line 2: it is there 0 times",
        ],
    ),
    "a line twice": (
        chain_adjustments([], [LINES[0], LINES[0]]),
        ["case C-1 line 1: it is there 2 times"],
    ),
    "a seal that is not there": (
        _rechained(corrects_seal_number=721),
        ["case C-1 line 1: it corrects seal 721, there are 720"],
    ),
    "the seal of another hour": (
        _rechained(charge_hour=LINE.charge_hour + HOUR),
        ["case C-1 line 1: it corrects seal 2, which does not hold for hour 2026-11-01T02:00:00Z"],
    ),
    "a period that was closed": (
        _rechained(billing_period=NOVEMBER),
        ["case C-1 line 1: period 2026-11, which bills it, was closed"],
    ),
    "a period that had not begun": (
        _rechained(billing_period=DECEMBER.following),
        ["case C-1 line 1: period 2027-01, which bills it, had not begun"],
    ),
    "before the close": (
        _rechained(adjusted_at=DECEMBER.start),
        ["case C-1 line 1: period 2026-11, which it corrects, was open"],
    ),
    "one person": (_rechained(approved_by="ada"), ["case C-1 line 1: ada asked and approved"]),
}


@pytest.mark.parametrize(("lines", "found"), FOUND.values(), ids=FOUND)
def test_what_is_wrong_is_named(lines: list[Adjustment], found: list[str]) -> None:
    assert adjustment_differences(lines, SEALS, CLOSES) == found


def test_an_older_revision_does_not_hold() -> None:
    """The seal that it names is one of the hour, but a later one was closed."""
    revised = replace(SEALS[1], seal_number=721, revision=1)
    (found,) = adjustment_differences(LINES[:1], [*SEALS, revised], CLOSES)
    assert found == "case C-1 line 1: it corrects seal 2, which does not hold for hour 2026-11-01T01:00:00Z"


@pytest.mark.parametrize("closes", [[], [close_of(OCTOBER, month_seals(OCTOBER), "ada", CLOSED_AT)]])
def test_a_close_that_is_gone_is_missed(closes: list[PeriodClose]) -> None:
    found = adjustment_differences(LINES[:1], SEALS, closes)
    assert found == ["case C-1 line 1: period 2026-11, which it corrects, was open"]
