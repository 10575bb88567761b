"""Gross, net and invalid by reason, per advertiser and hour: the rows of ``click_outcomes_hour``.

Belongs here: passing on the figures that the laws were judged by. Nothing is counted again; what must hold of the rows
is ``domain/outcomes.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time

from domain.buckets import HOUR
from domain.conservation import HourTally
from domain.counting import EXCLUSION_REASONS
from domain.settings import Settings
from spark_jobs.reconcile_attempt import Attempts
from spark_jobs.reconcile_written import WrittenAttempt
from warehouse.outcomes import append_outcomes


def write_outcomes(settings: Settings, day: date, attempts: Attempts, written: WrittenAttempt) -> None:
    """Appends a row per hour of the day and advertiser with any raw click, in one commit."""
    append_outcomes(settings, _tallies(day, attempts, written))


def _tallies(day: date, attempts: Attempts, written: WrittenAttempt) -> Iterator[list[tuple[str, HourTally]]]:
    midnight = datetime.combine(day, time(tzinfo=UTC))
    for rows in written.outcomes():
        yield [
            (
                attempts[hour],
                HourTally(
                    advertiser_id,
                    midnight + HOUR * hour,
                    raw,
                    billable,
                    dict(zip(EXCLUSION_REASONS, excluded, strict=True)),
                ),
            )
            for hour, advertiser_id, raw, billable, *excluded in rows
        ]
