"""Closing a billing period: the facts, in one look under the lock of those who seal, and the row that freezes it.

Belongs here: the order of the steps. What is required is ``domain/periods.py``, the ledger ``warehouse/periods.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from domain.periods import CloseRefusedError, Period, PeriodClose, close_of, closed_periods, reasons_against_close
from domain.settings import Settings
from domain.texts import check_actor
from warehouse.filled_hours import filled_hours
from warehouse.hour_findings import basis_of_findings, read_findings
from warehouse.locks import SEAL_LOCK, writer_lock
from warehouse.periods import append_close, read_closes
from warehouse.publications import read_publications
from warehouse.seals import read_seals

RECOUNTED_WAIT_SECONDS = 600.0
"""A close that was recounted waits for whoever seals just then: the recount may have taken hours."""


@dataclass(frozen=True)
class ClosePlan:
    """What a close would write, or every reason why there can be none. ``close_count``: of the ledger it rests on.

    ``proposed``: hours that a proposal is pending of; ``basis``: what these rest on.
    """

    period: Period
    reasons: tuple[str, ...]
    close: PeriodClose | None
    close_count: int
    proposed: tuple[datetime, ...]
    basis: tuple[int, ...] | None

    def required(self) -> PeriodClose:
        """The close; ``CloseRefusedError`` with every reason if there can be none."""
        if self.close is None:
            raise CloseRefusedError(self.period, self.reasons)
        return self.close


def plan_close(
    settings: Settings, period: Period, actor: str, now: datetime, known: ClosePlan | None = None
) -> ClosePlan:
    """What closing the period now would do. Reads only.

    ``known``: an earlier plan of this period. Its proposals are taken over where nothing that they rest on has moved:
    looking for them reads the month.
    """
    check_actor(actor)
    closes, seals = read_closes(settings), read_seals(settings)
    basis = basis_of_findings(settings, period.hours)  # before the look: what moves meanwhile makes it another
    if known is not None and known.period == period and basis is not None and known.basis == basis:
        proposed = known.proposed
    else:
        proposed = tuple(one.hour for one in read_findings(settings, period.hours))
    reasons = reasons_against_close(
        period,
        now,
        seals=seals,
        publications=read_publications(settings),
        closed=closed_periods(closes),
        filled=filled_hours(settings, period),
        proposed=proposed,
    )
    close = None if reasons else close_of(period, seals, actor, now)
    return ClosePlan(period, tuple(reasons), close, len(closes), proposed, basis)


def close_period(
    settings: Settings,
    period: Period,
    actor: str,
    clock: Callable[[], datetime],
    recounted: ClosePlan | None = None,
) -> PeriodClose:
    """Closes the period, for ever. Atomic; a repeat is refused.

    ``recounted``: the plan of when all hours were recounted, which takes a while.
    ``CloseRefusedError`` names every reason against it, ``WriterBusyError`` who seals at this moment (with
    ``recounted``, after ten minutes of waiting).
    """
    with writer_lock(settings, SEAL_LOCK, RECOUNTED_WAIT_SECONDS if recounted is not None else 0):
        plan = plan_close(settings, period, actor, clock(), recounted)
        close = replace(plan.required(), closed_at=clock())  # the look above takes a while in a month of many clicks
        if recounted is not None and recounted.required().root_digest != close.root_digest:
            raise CloseRefusedError(period, ["hours of it were sealed anew while it was recounted"])
        return append_close(settings, close, plan.close_count)
