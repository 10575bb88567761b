"""Closing a period whose every hour was counted again first: what is frozen for ever is what raw says.

Belongs here: the recount before the close, and that nothing moves between the two. What else a close requires is
``domain/periods.py``, the close itself ``warehouse/closing.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from domain.periods import CloseRefusedError, Period, PeriodClose, seals_of
from domain.settings import Settings
from quality.findings import NAMED_AT_MOST, named
from quality.recount import Verdict, verify
from warehouse.closing import ClosePlan, close_period, plan_close
from warehouse.seals import read_seals


def _no_progress(_: object) -> None:
    """Where nobody watches."""


def plan_recounted(
    settings: Settings,
    period: Period,
    actor: str,
    now: datetime,
    *,
    known: ClosePlan | None = None,
    on_hour: Callable[[int], None] = _no_progress,
    on_progress: Callable[[str], None] = _no_progress,
) -> ClosePlan:
    """What closing the period now would do, and that it can be done, once all of its hours are recounted.

    ``on_hour`` takes how many are. Memory is bounded. ``CloseRefusedError`` names every reason against it, each hour
    that differs among them. An hour is not recounted where something else stands against the close already. Reads
    only. ``known``: see ``plan_close``.
    """
    plan = plan_close(settings, period, actor, now, known)
    plan.required()
    reasons: list[str] = []
    done = 0
    hours = [seal.hour for seal in seals_of(period, read_seals(settings))]
    for verdict in verify(settings, hours, on_progress=on_progress):
        reasons += [] if verdict.is_agreeing else [_reason(verdict)]
        if verdict.hour is not None:
            done += 1
            on_hour(done)
    if reasons:
        raise CloseRefusedError(period, named(reasons[:NAMED_AT_MOST], len(reasons)))
    return plan


def close_recounted(
    settings: Settings,
    period: Period,
    actor: str,
    clock: Callable[[], datetime],
    *,
    known: ClosePlan | None = None,
    on_hour: Callable[[int], None] = _no_progress,
    on_progress: Callable[[str], None] = _no_progress,
) -> PeriodClose:
    """Recounts all hours of the period, then closes it for ever. Atomic; a repeat is refused.

    ``CloseRefusedError`` as ``plan_recounted``, and if a seal of the period came after it was recounted.
    """
    recounted = plan_recounted(settings, period, actor, clock(), known=known, on_hour=on_hour, on_progress=on_progress)
    return close_period(settings, period, actor, clock, recounted)


def _reason(verdict: Verdict) -> str:
    more = f", and {len(verdict.differences) - 1} more" if len(verdict.differences) > 1 else ""
    return f"{verdict.subject} does not recount: {verdict.differences[0]}{more}"
