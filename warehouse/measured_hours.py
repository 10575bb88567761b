"""Metric rows of attempts, out of table ``quality_metrics``.

Belongs here: reading what was measured. What it means: ``domain/quality_metrics.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

import pyarrow as pa
import pyarrow.dataset as ds

from domain.quality_metrics import Metric
from domain.settings import Settings
from warehouse.layout import dataset_of, open_table
from warehouse.schema import INSTANT

NAME = "quality_metrics"
EVERYTHING = ds.scalar(True)
COLUMNS = ("table_name", "hour", "name", "group", "amount", "out_of", "unit")


def read_metrics(
    settings: Settings, attempts: Mapping[datetime, str], condition: ds.Expression = EVERYTHING
) -> list[Metric]:
    """What these attempts, given by hour, measured of their hours, as far as the condition holds; sorted.

    Hours that were not measured have none.
    """
    wanted = ds.field("attempt").isin(pa.array(sorted(set(attempts.values())), pa.string())) & condition
    found = _rows(settings, attempts, (*COLUMNS, "attempt"), wanted)
    rows = zip(*(found.column(name).to_pylist() for name in (*COLUMNS, "attempt")), strict=True)
    return sorted(Metric(*row[:-1]) for row in rows if attempts[row[1]] == row[-1])


def newest_attempts(settings: Settings, hours: Collection[datetime]) -> dict[datetime, str]:
    """By hour the attempt that measured it last; hours that nobody measured are left out."""
    found = _rows(settings, hours, ("hour", "attempt", "measured_at"), EVERYTHING)
    ordered = found.group_by(["hour", "attempt"]).aggregate([("measured_at", "max")])
    ordered = ordered.sort_by([("measured_at_max", "ascending"), ("attempt", "ascending")])
    return {row["hour"]: row["attempt"] for row in ordered.to_pylist()}


def _rows(
    settings: Settings, hours: Collection[datetime], columns: tuple[str, ...], condition: ds.Expression
) -> pa.Table:
    dates = pa.array(sorted({hour.date() for hour in hours}), pa.date32())
    is_wanted = ds.field("hour_date").isin(dates) & ds.field("hour").isin(pa.array(sorted(hours), INSTANT)) & condition
    return dataset_of(open_table(settings, NAME)).to_table(columns=list(columns), filter=is_wanted)
