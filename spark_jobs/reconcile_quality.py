"""Measures and judges an attempt before it may be sealed: rows of ``quality_metrics`` and ``quality_verdicts``.

Belongs here: the order, and that whatever is not judged is not sealed. Figures are ``reconcile_metrics.py``, rules are
the quality room. Verdicts never change a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime

from domain.quality_metrics import Metric
from domain.quality_verdicts import Verdict, blocking
from domain.settings import Settings
from quality.judging import Judging
from spark_jobs.quality_gate import Reasons, reasons_of
from spark_jobs.reconcile_attempt import Attempts
from spark_jobs.reconcile_metrics import measured_hours
from spark_jobs.reconcile_written import WrittenAttempt
from warehouse.quality_metrics import append_metrics
from warehouse.quality_verdicts import append_verdicts, read_overrides

Judge = Callable[
    [Settings, Mapping[datetime, Sequence[Metric]], Mapping[datetime, str], Judging],
    list[Verdict],
]
"""Takes metrics and attempts by hour, gives verdicts, writes nothing: ``quality.judging.judge_attempts``."""
RUN = "reconcile"
"""Of verdicts that were found on the way to a seal."""


def write_metrics(
    settings: Settings, day: date, attempts: Attempts, written: WrittenAttempt, at: datetime
) -> dict[datetime, list[Metric]]:
    """Measures the hours of an attempt and appends their figures in one commit; by hour."""
    measured = measured_hours(written, day, sorted(attempts))
    append_metrics(settings, {attempts[hour.hour]: metrics for hour, metrics in measured.items()}, at)
    return measured


def write_verdicts(
    settings: Settings, measured: Mapping[datetime, Sequence[Metric]], attempts: Attempts, at: datetime, judge: Judge
) -> Reasons:
    """Judges measured hours and appends the verdicts in one commit; by hour what keeps it from being sealed.

    Raises what ``judge`` raises: then nothing is judged, and nothing may be sealed.
    """
    verdicts = judge(settings, measured, {hour: attempts[hour.hour] for hour in measured}, Judging(RUN, at))
    append_verdicts(settings, verdicts)
    return reasons_of(blocking(verdicts, read_overrides(settings)))
