"""Table ``quality_metrics``: appending what attempts measured.

Belongs here: metrics to rows. What a figure is: ``domain/quality_metrics.py``; who measures,
``spark_jobs/reconcile_metrics.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import write_deltalake

from domain.quality_metrics import Metric
from domain.settings import Settings
from warehouse.layout import code_version, dataset_of, open_table
from warehouse.ledger import keep_few_files
from warehouse.schema import arrow_rows
from warehouse.tables.quality_metrics import QUALITY_METRICS


def append_metrics(settings: Settings, measured: Mapping[str, Sequence[Metric]], at: datetime) -> None:
    """Appends the figures of attempts, given by attempt, in one commit; those of attempts that have some are left out.

    Atomic and repeatable by one process at a time.
    """
    known = _attempts_among(settings, measured)
    fresh = {attempt: metrics for attempt, metrics in measured.items() if metrics and attempt not in known}
    if fresh:
        snapshot = open_table(settings, QUALITY_METRICS.name)
        write_deltalake(snapshot, arrow_rows(QUALITY_METRICS, _rows(fresh, at)), mode="append")
        keep_few_files(snapshot)


def _attempts_among(settings: Settings, measured: Mapping[str, Sequence[Metric]]) -> set[str]:
    dates = pa.array(sorted({one.hour.date() for metrics in measured.values() for one in metrics}), pa.date32())
    is_asked_for = ds.field("hour_date").isin(dates) & ds.field("attempt").isin(pa.array(list(measured), pa.string()))
    rows = dataset_of(open_table(settings, QUALITY_METRICS.name)).to_table(columns=["attempt"], filter=is_asked_for)
    return {str(attempt) for attempt in pc.unique(rows["attempt"]).to_pylist()}


def _rows(measured: Mapping[str, Sequence[Metric]], at: datetime) -> Iterator[dict[str, Any]]:
    for attempt, metrics in measured.items():
        stamp = {"attempt": attempt, "measured_at": at, "code_version": code_version()}
        for one in metrics:
            record = asdict(one)
            yield {"table_name": record.pop("table"), **record, **stamp, "hour_date": one.hour.date()}
