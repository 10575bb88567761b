"""Adjustments: what a line becomes, and each refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain.adjustments import (
    Adjustment,
    AdjustmentCase,
    AdjustmentLine,
    AdjustmentRefusedError,
    adjustments_of,
    chain_adjustments,
)
from domain.buckets import HOUR, MINUTE
from domain.chain import GENESIS_HASH, broken_links
from domain.errors import UsageError
from domain.periods import ClosedPeriods
from domain.seals import current_seals
from tests.support.periods import CLOSED_AT, DECEMBER, NOVEMBER, month_seals

CLOSED = ClosedPeriods(frozenset({NOVEMBER}))
HELD = current_seals(month_seals(NOVEMBER))
SAID: dict[str, Any] = {
    "case_id": "C-1",
    "reason": "seen twice",
    "billing_period": DECEMBER,
    "requested_by": "ada",
    "approved_by": "grace",
    "adjusted_at": CLOSED_AT,
}
CASE = AdjustmentCase(**SAID)
LINE = AdjustmentLine(
    charge_hour=NOVEMBER.start + HOUR,
    advertiser_id=10,
    campaign_id=100,
    ad_id=1,
    country="DE",
    device="mobile",
    delta_clicks=-3,
)


def adjustments_of_november(case: AdjustmentCase, *lines: AdjustmentLine) -> list[Adjustment]:
    """The lines as rows, not yet in a chain."""
    return adjustments_of(case, lines, closed=CLOSED, held=HELD, known_cases=frozenset())


def _refusal(case: AdjustmentCase, *lines: AdjustmentLine, known: frozenset[str] = frozenset()) -> str:
    with pytest.raises(AdjustmentRefusedError) as refusal:
        adjustments_of(case, lines, closed=CLOSED, held=HELD, known_cases=known)
    return refusal.value.found


def test_a_line_names_what_it_corrects() -> None:
    lines = [LINE, replace(LINE, charge_hour=NOVEMBER.end - HOUR, delta_clicks=2)]
    found = adjustments_of(CASE, lines, closed=CLOSED, held=HELD, known_cases=frozenset({"C-2"}))
    assert [(one.line_number, one.corrects_seal_number, one.delta_clicks) for one in found] == [(1, 2, -3), (2, 720, 2)]
    assert {(one.case_id, one.requested_by, one.approved_by) for one in found} == {("C-1", "ada", "grace")}


def test_an_hour_before_the_books_began_is_refused() -> None:
    """Its month is closed, and yet no seal of it could be corrected."""
    held = {hour: seal for hour, seal in HELD.items() if hour > LINE.charge_hour}
    with pytest.raises(AdjustmentRefusedError, match="line 1: hour 2026-11-01T01:00:00Z was never sealed"):
        adjustments_of(CASE, [LINE], closed=CLOSED, held=held, known_cases=frozenset())


def test_lines_are_chained_over_all_cases() -> None:
    """In the order of writing, whatever their cases are called."""
    first = chain_adjustments([], adjustments_of_november(CASE, LINE, LINE))
    more = chain_adjustments(reversed(first), adjustments_of_november(replace(CASE, case_id="A-0"), LINE))
    assert [one.number for one in first + more] == [1, 2, 3]
    assert first[0].previous_hash == GENESIS_HASH
    assert broken_links("adjustment", first + more) == []
    changed = replace(first[1], delta_clicks=-4)
    assert broken_links("adjustment", [first[0], changed, *more]) == [
        "adjustment 2: its columns do not have its hash, they were changed"
    ]


def test_everything_that_stands_against_it_is_named() -> None:
    lines = [replace(LINE, charge_hour=DECEMBER.start), LINE, replace(LINE, delta_clicks=0)]
    assert _refusal(CASE, *lines, known=frozenset({"C-1"})) == (
        "case C-1: it was adjusted before; "
        "line 1: hour 2026-12-01T00:00:00Z is in no closed period: a revision corrects it; "
        "line 3: a difference of 0 clicks"
    )


@pytest.mark.parametrize(
    ("case", "line", "found"),
    [
        (replace(CASE, billing_period=NOVEMBER), LINE, "billing period 2026-11 is closed"),
        (replace(CASE, billing_period=DECEMBER.following), LINE, "billing period 2027-01 has not begun"),
        (CASE, replace(LINE, charge_hour=NOVEMBER.start + MINUTE), "line 1: 2026-11-01T00:01:00Z is no whole hour"),
    ],
)
def test_refusals(case: AdjustmentCase, line: AdjustmentLine, found: str) -> None:
    assert _refusal(case, line) == f"case C-1: {found}"


def test_a_case_without_lines() -> None:
    assert _refusal(CASE) == "case C-1: it has no line"


def test_nobody_approves_what_they_ask_for() -> None:
    with pytest.raises(AdjustmentRefusedError, match="ada asks and approves; expected two people"):
        AdjustmentCase(**SAID | {"approved_by": "ada"})


@pytest.mark.parametrize(
    "changes",
    [
        {"case_id": ""},
        {"case_id": "C 1"},
        {"case_id": "=C1"},
        *({"reason": r} for r in ("", " ", "=1+1", "@x", "a\nb")),
    ],
    ids=str,
)
def test_text_that_is_none(changes: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        AdjustmentCase(**SAID | changes)
