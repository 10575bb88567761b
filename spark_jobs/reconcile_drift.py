"""Live against final per advertiser and hour: the rows of ``drift``, and what they come to.

Belongs here: bringing the counts together and passing rows on. The arithmetic and the bar are ``domain/drift.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from domain.buckets import HOUR
from domain.drift import explain, is_over_bar
from domain.settings import Settings
from spark_jobs.reconcile_attempt import Attempts
from spark_jobs.reconcile_written import WrittenAttempt
from warehouse.drift import append_drift

Repeats = Mapping[tuple[int, int], int]
"""By hour of the day and advertiser the clicks that live counted and final knows as repeats."""


@dataclass
class HourDrift:
    """The drift of one hour over all advertisers, in clicks; ``alert_count`` counts advertisers."""

    live: int = 0
    unexplained: int = 0
    alert_count: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Takes a row of ``drift`` in."""
        self.live += row["live_clicks"]
        self.unexplained += row["missing_clicks"] + row["extra_clicks"]
        self.alert_count += row["is_alert"]


@dataclass(frozen=True)
class DayDrift:
    """The comparison of some hours of a date."""

    settings: Settings
    day: date
    attempts: Attempts
    repeats: Repeats

    def write(self, written: WrittenAttempt) -> dict[int, HourDrift]:
        """Appends a row per hour and advertiser with raw, live or final clicks, in one commit; by hour of the day."""
        found = {hour: HourDrift() for hour in self.attempts}
        append_drift(self.settings, self._rows(written, found))
        return found

    def _rows(self, written: WrittenAttempt, found: Mapping[int, HourDrift]) -> Iterator[list[dict[str, Any]]]:
        for some in written.live_and_final():
            rows = [self._row(*counts) for counts in some]
            for (hour, *_), row in zip(some, rows, strict=True):
                found[hour].add(row)
            yield rows

    def _row(self, hour: int, advertiser_id: int, raw: int, *compared: int) -> dict[str, Any]:
        live, final, late, fraud = compared
        drift = explain(live, final, late, self.repeats.get((hour, advertiser_id), 0), fraud)
        bar = self.settings.drift_alert_per_mille, self.settings.drift_floor_clicks
        return {
            "attempt": self.attempts[hour],
            "advertiser_id": advertiser_id,
            "hour": datetime.combine(self.day, time(tzinfo=UTC)) + HOUR * hour,
            "raw_clicks": raw,
            **asdict(drift),
            "difference_clicks": drift.difference_clicks,
            "is_alert": is_over_bar(live, final, *bar),
            "click_date": self.day,
        }
