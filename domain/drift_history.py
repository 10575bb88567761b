"""How far live can be trusted: the errors of an advertiser's live counts over sealed hours, summed up.

Belongs here: exact integer arithmetic over rows that were read. Reading them is ``quality/drift_history.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median_high

from domain.drift import PER_MILLE


@dataclass(frozen=True)
class HourError:
    """Live against final of an advertiser's hour, as it was when the hour was sealed; a row of table ``drift``."""

    hour: datetime
    advertiser_id: int
    live_clicks: int
    final_clicks: int
    difference_clicks: int
    late_clicks: int
    dedup_horizon_clicks: int
    fraud_clicks: int
    missing_clicks: int
    extra_clicks: int
    is_alert: bool


@dataclass(frozen=True)
class ErrorSummary:
    """Over ``hour_count`` hours with clicks: errors are |live - final|.

    ``within_bar_per_mille``: of the hours, rounded down, so that 1,000 means all of them. ``median_error_clicks``: the
    higher one of the two in the middle.
    """

    advertiser_id: int
    hour_count: int
    within_bar_per_mille: int
    live_clicks: int
    final_clicks: int
    largest_error_clicks: int
    largest_error_hour: datetime
    median_error_clicks: int
    unexplained_clicks: int


def summarised(errors: Iterable[HourError]) -> list[ErrorSummary]:
    """One summary for each advertiser, ascending. Hours in which neither live nor final has a click are left out."""
    by_advertiser: dict[int, list[HourError]] = defaultdict(list)
    for error in errors:
        if error.live_clicks or error.final_clicks:
            by_advertiser[error.advertiser_id].append(error)
    return [_summary(advertiser_id, found) for advertiser_id, found in sorted(by_advertiser.items())]


def _summary(advertiser_id: int, errors: list[HourError]) -> ErrorSummary:
    largest = max(errors, key=lambda error: abs(error.difference_clicks))
    return ErrorSummary(
        advertiser_id=advertiser_id,
        hour_count=len(errors),
        within_bar_per_mille=PER_MILLE * sum(not error.is_alert for error in errors) // len(errors),
        live_clicks=sum(error.live_clicks for error in errors),
        final_clicks=sum(error.final_clicks for error in errors),
        largest_error_clicks=abs(largest.difference_clicks),
        largest_error_hour=largest.hour,
        median_error_clicks=median_high(abs(error.difference_clicks) for error in errors),
        unexplained_clicks=sum(error.missing_clicks + error.extra_clicks for error in errors),
    )
