"""Table ``click_outcomes_hour``: appending what became of the raw clicks of attempts, and reading it back.

Belongs here: rows to tallies and back. What must hold of them is ``domain/outcomes.py``; who writes them,
``spark_jobs/reconcile_outcomes.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from domain.conservation import HourTally
from domain.counting import EXCLUSION_REASONS
from domain.settings import Settings
from warehouse.layout import dataset_of, of_attempts, open_table
from warehouse.schema import arrow_rows, arrow_schema
from warehouse.tables.click_outcomes_hour import CLICK_OUTCOMES_HOUR


def append_outcomes(settings: Settings, batches: Iterable[Iterable[tuple[str, HourTally]]]) -> None:
    """Appends the tallies of attempts in one commit, batch by batch, so that no more than one of them is in memory.

    Atomic and durable when it returns; not repeatable by itself: rows of an attempt that was not sealed are no truth.
    """
    tables = (arrow_rows(CLICK_OUTCOMES_HOUR, (_row(*one) for one in batch)) for batch in batches)
    reader = pa.RecordBatchReader.from_batches(
        arrow_schema(CLICK_OUTCOMES_HOUR), (batch for table in tables for batch in table.to_batches())
    )
    write_deltalake(open_table(settings, CLICK_OUTCOMES_HOUR.name), reader, mode="append")


def read_outcomes(settings: Settings, attempts: Mapping[datetime, str]) -> list[HourTally]:
    """The tallies of these attempts, by hour and advertiser. ``attempts``: by hour."""
    rows = dataset_of(open_table(settings, CLICK_OUTCOMES_HOUR.name)).to_table(filter=of_attempts(attempts))
    ordered = rows.sort_by([("hour", "ascending"), ("advertiser_id", "ascending")])
    return [_tally(row) for row in ordered.to_pylist()]


def _row(attempt: str, tally: HourTally) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "advertiser_id": tally.advertiser_id,
        "hour": tally.hour,
        "raw_clicks": tally.raw_clicks,
        "billable_clicks": tally.billable_clicks,
        **{f"{reason}_clicks": tally.excluded_clicks.get(reason, 0) for reason in EXCLUSION_REASONS},
        "click_date": tally.hour.date(),
    }


def _tally(row: Mapping[str, Any]) -> HourTally:
    """Reasons without a click are left out, as everywhere."""
    excluded: dict[str, int] = {
        reason: row[f"{reason}_clicks"] for reason in EXCLUSION_REASONS if row[f"{reason}_clicks"]
    }
    return HourTally(row["advertiser_id"], row["hour"], row["raw_clicks"], row["billable_clicks"], excluded)
