"""Values as CSV files write them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa

from warehouse.csv_cells import csv_rows


def test_nulls_instants_and_numbers() -> None:
    at = datetime(2026, 11, 30, 9, 0, 0, 500_000, tzinfo=UTC)
    batch = pa.RecordBatch.from_pylist([{"at": at, "day": date(2026, 11, 30), "clicks": 7}, {}])
    assert list(csv_rows(batch)) == [("2026-11-30T09:00:00.500000Z", "2026-11-30", "7"), ("", "", "")]
