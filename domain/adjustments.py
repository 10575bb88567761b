"""Adjustments: differences found after a close, billed in an open period, each line under a case.

Belongs here: what a line says and when it is refused. Storing them is ``warehouse/adjustments.py``, who may ask and
approve ``services/approvals.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from domain.buckets import format_utc, hour_of
from domain.cases import check_case
from domain.chain import GENESIS_HASH, chain_hash
from domain.errors import TallystickError
from domain.periods import ClosedPeriods, Period, period_of
from domain.seals import Seal


class AdjustmentRefusedError(TallystickError):
    """An adjustment was not written: its lines, its case or its period do not allow it."""


@dataclass(frozen=True, kw_only=True)
class AdjustmentLine:
    """A difference of one key and hour; ``delta_clicks`` is what is billed more, or less if negative."""

    charge_hour: datetime
    advertiser_id: int
    campaign_id: int
    ad_id: int
    country: str
    device: str
    delta_clicks: int


@dataclass(frozen=True, kw_only=True)
class AdjustmentCase:
    """What several lines have in common: the case, why, where it is billed, and the two people."""

    case_id: str
    reason: str
    billing_period: Period
    requested_by: str
    approved_by: str
    adjusted_at: datetime

    def __post_init__(self) -> None:
        check_case(self.case_id, self.reason)
        if self.requested_by == self.approved_by:
            raise AdjustmentRefusedError(
                f"{self.requested_by} asks and approves", "two people", "let somebody else approve"
            )


@dataclass(frozen=True, kw_only=True)
class Adjustment(AdjustmentLine):
    """A line as it is stored. ``corrects_seal_number`` is the seal that holds for its hour.

    All lines form a hash chain in the order in which they were written, as seals do.
    """

    case_id: str
    line_number: int
    billing_period: Period
    reason: str
    corrects_seal_number: int
    requested_by: str
    approved_by: str
    adjusted_at: datetime
    adjustment_number: int = 0
    previous_hash: str = ""
    hash: str = ""

    @property
    def number(self) -> int:
        """Its place in the chain, from 1."""
        return self.adjustment_number

    def columns(self) -> dict[str, Any]:
        """The row of table ``adjustments``."""
        return vars(self) | {"billing_period": str(self.billing_period)}

    def hashed_columns(self) -> dict[str, Any]:
        """What its hash covers: every column but the two hashes."""
        return {name: value for name, value in self.columns().items() if name not in ("previous_hash", "hash")}


def chain_adjustments(known: Iterable[Adjustment], fresh: Sequence[Adjustment]) -> list[Adjustment]:
    """What fresh lines become behind those that were written before."""
    last = max(known, key=lambda one: one.number, default=None)
    number, previous_hash = (last.number, last.hash) if last is not None else (0, GENESIS_HASH)
    chained: list[Adjustment] = []
    for one in fresh:
        number += 1
        placed = replace(one, adjustment_number=number, previous_hash=previous_hash)
        previous_hash = chain_hash(previous_hash, placed.hashed_columns())
        chained.append(replace(placed, hash=previous_hash))
    return chained


def adjustments_of(
    case: AdjustmentCase,
    lines: Sequence[AdjustmentLine],
    *,
    closed: ClosedPeriods,
    held: Mapping[datetime, Seal],
    known_cases: frozenset[str],
) -> list[Adjustment]:
    """The lines of a case as rows. ``AdjustmentRefusedError`` names everything that stands against them.

    ``held``: the seal that holds for each hour. ``known_cases``: those that were written before.
    """
    reasons = _against_case(case, closed, known_cases) + ([] if lines else ["it has no line"])
    for number, line in enumerate(lines, start=1):
        reasons += [f"line {number}: {reason}" for reason in _against_line(line, closed, held)]
    if reasons:
        raise AdjustmentRefusedError(
            f"case {case.case_id}: {'; '.join(reasons)}",
            "a new case, hours of closed periods, and an open period to bill it in",
            "correct it and ask again; nothing of it was written",
        )
    return [
        Adjustment(**vars(line), **vars(case), line_number=number, corrects_seal_number=held[line.charge_hour].number)
        for number, line in enumerate(lines, start=1)
    ]


def _against_case(case: AdjustmentCase, closed: ClosedPeriods, known_cases: frozenset[str]) -> list[str]:
    reasons = []
    if case.case_id in known_cases:
        reasons.append("it was adjusted before")
    if closed.holds(case.billing_period.start):
        reasons.append(f"billing period {case.billing_period} is closed")
    if case.billing_period.start > case.adjusted_at:
        reasons.append(f"billing period {case.billing_period} has not begun")
    return reasons


def _against_line(line: AdjustmentLine, closed: ClosedPeriods, held: Mapping[datetime, Seal]) -> list[str]:
    hour = format_utc(line.charge_hour)
    reasons = []
    is_whole = line.charge_hour == hour_of(line.charge_hour)
    if not is_whole:
        reasons.append(f"{hour} is no whole hour")
    if period_of(line.charge_hour) not in closed.periods:
        reasons.append(f"hour {hour} is in no closed period: a revision corrects it")
    elif is_whole and line.charge_hour not in held:
        reasons.append(f"hour {hour} was never sealed: the books begin after it")
    if line.delta_clicks == 0:
        reasons.append("a difference of 0 clicks")
    return reasons
