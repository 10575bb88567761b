"""Whether adjustments are still what was written: their chain, and what each rests on.

Belongs here: the comparison of the lines with the ledgers of seals and closes. What is refused when one is written is
``domain/adjustments.py``, of which nothing is used here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from domain.adjustments import Adjustment
from domain.buckets import format_utc
from domain.chain import broken_links
from domain.periods import PeriodClose, period_of
from domain.seals import Seal, current_seals


def adjustment_differences(
    adjustments: Sequence[Adjustment], seals: Sequence[Seal], closes: Sequence[PeriodClose]
) -> list[str]:
    """What is wrong with the adjustments, in words; empty if nothing is."""
    differences = broken_links("adjustment", sorted(adjustments, key=lambda one: one.number))
    differences += _holes(adjustments)
    held = {seal.number: seal for seal in current_seals(seals).values()}
    for one in adjustments:
        who = f"case {one.case_id} line {one.line_number}"
        differences += [f"{who}: {what}" for what in (*_of_seal(one, held, len(seals)), *_of_periods(one, closes))]
    return differences


def _holes(adjustments: Sequence[Adjustment]) -> list[str]:
    lines = Counter((one.case_id, one.line_number) for one in adjustments)
    last: Counter[str] = Counter()
    for case, number in lines:
        last[case] = max(last[case], number)
    return [
        f"case {case} line {number}: it is there {lines[case, number]} times"
        for case in sorted(last)
        for number in range(1, last[case] + 1)
        if lines[case, number] != 1
    ]


def _of_seal(one: Adjustment, held: dict[int, Seal], seal_count: int) -> list[str]:
    if not 1 <= one.corrects_seal_number <= seal_count:
        return [f"it corrects seal {one.corrects_seal_number}, there are {seal_count}"]
    seal = held.get(one.corrects_seal_number)
    if seal is None or seal.hour != one.charge_hour:
        hour = format_utc(one.charge_hour)
        return [f"it corrects seal {one.corrects_seal_number}, which does not hold for hour {hour}"]
    return []


def _of_periods(one: Adjustment, closes: Sequence[PeriodClose]) -> list[str]:
    """The charged period had to be closed when the line was written, the one that bills it open, and begun."""
    closed_then = {close.period for close in closes if close.closed_at <= one.adjusted_at}
    differences = []
    if period_of(one.charge_hour) not in closed_then:
        differences.append(f"period {period_of(one.charge_hour)}, which it corrects, was open")
    if one.billing_period in closed_then:
        differences.append(f"period {one.billing_period}, which bills it, was closed")
    if one.billing_period.start > one.adjusted_at:
        differences.append(f"period {one.billing_period}, which bills it, had not begun")
    if one.requested_by == one.approved_by:
        differences.append(f"{one.requested_by} asked and approved")
    return differences
